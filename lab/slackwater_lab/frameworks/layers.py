"""The layers of the frameworks' images: Debian with Java and Python below, one framework on top of it.

Debian comes from debootstrap, Spark, Flink, Ray and Dask from PyPI. Each layer is made once per version and kept in the
cache.
"""

import hashlib
import os
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from slackwater.errors import Unavailable
from slackwater_lab.processes.command import run
from slackwater_lab.programs.build import Report, cache, installed, locked

DEBIAN = "bookworm"
PACKAGES = "ca-certificates,tini,procps,openjdk-17-jre-headless,python3"
SPARK, RAY, DASK, DASK_OPERATOR = "4.3.0", "2.60.0", "2026.8.0", "2026.3.0"
FLINK = "2.3.0"
PYTHON = "3.11"  # Debian's, which runs in the images
_FOR_IMAGES = ("--python-version", PYTHON, "--only-binary", ":all:")
SPARK_USER = 185
DATA = Path(__file__).resolve().parents[1] / "data"
JOBS = DATA / "jobs"
HOME = Path("opt/spark")  # of Spark, inside the image
JUNK = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale")
SITE = Path("opt/python")
FLINK_HOME, FLINK_USER = Path("opt/flink"), 9999  # as in Flink's own image
JDK = "default-jdk-headless"  # Debian's package with javac and jar
FLINK_ENTRY = '#!/bin/sh\nexec tini -s -- "$@"\n'  # Flink writes whole command lines into its pods


def folder() -> Path:
    """Where layers and images are kept."""
    return cache() / "frameworks"


def layer(name: str, version: str, fill: Callable[[Path], None], report: Report) -> Path:
    """A layer's file; `fill` puts its files into an empty folder where it was not made before."""
    target = folder() / f"{name}-{version}.tar"
    if target.exists():
        return target
    with locked(folder() / "building"):
        if target.exists():  # made while we waited
            return target
        report(f"image layer {name} {version} (minutes, once per machine)")
        root = folder() / f"{name}-{version}"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        fill(root)
        part = target.with_name(f".{target.name}.part")
        outside = ["--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*"]
        run([installed("tar", "tar"), "-C", str(root), *outside, "-cf", str(part), "."])
        part.rename(target)
        shutil.rmtree(root, ignore_errors=True)
    return target


def debian(root: Path) -> None:
    """Debian with what Spark, Ray and Dask need below them."""
    if os.geteuid() != 0:
        raise Unavailable("images are made by debootstrap, which needs root")
    command = [installed("debootstrap", "debootstrap"), "--variant=minbase", f"--include={PACKAGES}"]
    run([*command, DEBIAN, str(root)])
    for name in JUNK:
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).mkdir(parents=True)
    with (root / "etc/passwd").open("a") as users:
        users.write(f"spark:x:{SPARK_USER}:{SPARK_USER}:spark:/{HOME}/work-dir:/bin/bash\n")
    with (root / "etc/group").open("a") as groups:
        groups.write(f"spark:x:{SPARK_USER}:\n")


def spark(root: Path) -> None:
    """Spark as its PyPI archive holds it, laid out as its own image has it."""
    unpacked = spark_home()
    home = root / HOME
    for name in ("jars", "bin", "sbin", "data"):
        shutil.copytree(unpacked / "deps" / name, home / name)
    shutil.copytree(unpacked / "pyspark", home / "python" / "pyspark")
    shutil.copytree(unpacked / "lib", home / "python" / "lib")
    shutil.copytree(unpacked / "deps" / "examples", home / "examples" / "src" / "main" / "python")
    (home / "work-dir").mkdir(mode=0o777)
    (home / "work-dir").chmod(0o777)
    (home / "conf").mkdir()
    entry = root / "opt" / "entrypoint.sh"
    shutil.copy(DATA / "spark-entrypoint.sh", entry)
    entry.chmod(0o755)


def flink(root: Path) -> None:
    """Flink as PyPI holds it, laid out as its own image has it."""
    home = root / FLINK_HOME
    shutil.copytree(flink_home(), home)
    (home / "log").chmod(0o777)
    entry = root / "docker-entrypoint.sh"
    entry.write_text(FLINK_ENTRY)
    entry.chmod(0o755)


def jobs(root: Path) -> None:
    """The suite's own programs."""
    (root / "opt").mkdir()
    shutil.copytree(JOBS, root / "opt" / "jobs")


def jobs_version() -> str:
    """Their content, so that a changed program makes a new layer."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(JOBS.iterdir()))).hexdigest()[:8]


def spark_home() -> Path:
    """Spark's archive, unpacked: what the image is made of, and what `spark-submit` on this machine runs from."""
    target = folder() / f"pyspark-{SPARK}"
    if not target.exists():
        (folder() / "wheels").mkdir(parents=True, exist_ok=True)
        _pip("download", f"pyspark=={SPARK}", "--no-deps", "--no-binary", ":all:", "-d", str(folder() / "wheels"))
        with tarfile.open(folder() / "wheels" / f"pyspark-{SPARK}.tar.gz") as tar:
            tar.extractall(folder(), filter="data")
    return target


def flink_home() -> Path:
    """Flink, put together: its programs and settings are in one package of PyPI, its libraries in another."""
    target = folder() / f"flink-{FLINK}"
    if not target.exists():
        wheels, part = folder() / "wheels", folder() / f".flink-{FLINK}.part"
        shutil.rmtree(part, ignore_errors=True)
        _pip("download", f"apache-flink=={FLINK}", "--no-deps", *_FOR_IMAGES, "-d", str(wheels))
        _pip("download", f"apache-flink-libraries=={FLINK}", "--no-deps", "--no-binary", ":all:", "-d", str(wheels))
        with tarfile.open(wheels / f"apache_flink_libraries-{FLINK}.tar.gz") as tar:
            tar.extractall(part / "unpacked", filter="data")
        shutil.move(part / "unpacked" / f"apache_flink_libraries-{FLINK}" / "deps", part / "home")
        shutil.unpack_archive(next(wheels.glob(f"apache_flink-{FLINK}-*.whl")), part / "unpacked", "zip")
        for name in ("bin", "conf", "log"):
            shutil.copytree(part / "unpacked" / "pyflink" / name, part / "home" / name, dirs_exist_ok=True)
        for program in (part / "home" / "bin").iterdir():
            program.chmod(0o755)
        _compile(DATA / "flink" / "WordCount.java", part / "home")
        (part / "home").rename(target)
        shutil.rmtree(part)
    return target


def _compile(job: Path, home: Path) -> None:
    """Our job for Flink, built against its libraries and put where its own image has examples."""
    classes, target = home.parent / "classes", home / "examples" / f"{job.stem}.jar"
    run([installed("javac", JDK), "-cp", f"{home / 'lib'}/*", "-d", str(classes), str(job)])
    target.parent.mkdir()
    run([installed("jar", JDK), "--create", f"--file={target}", f"--main-class={job.stem}", "-C", str(classes), "."])


def python(*requirements: str) -> Callable[[Path], None]:
    """Packages from PyPI with their commands, for the Python of the image."""

    def fill(root: Path) -> None:
        site = root / SITE
        _pip("install", "--target", str(site), *_FOR_IMAGES, *requirements)
        commands = root / "usr/local/bin"
        commands.mkdir(parents=True)
        for script in (site / "bin").iterdir():
            short = commands / script.name
            short.write_text(f'#!/bin/sh\nexec python3 /{SITE}/bin/{script.name} "$@"\n')
            short.chmod(0o755)

    return fill


def _pip(*arguments: str) -> None:
    run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments])
