"""The images of the frameworks: which layers each has, and how its containers start."""

from collections.abc import Iterable
from pathlib import Path

from slackwater.errors import UnknownName
from slackwater_lab.frameworks import layers
from slackwater_lab.frameworks.packing import Start, pack
from slackwater_lab.programs.build import Report

PATH = "/usr/local/bin:/usr/bin:/bin"
SPARK = f"localhost/spark:{layers.SPARK}"
RAY = f"localhost/ray:{layers.RAY}"
DASK = f"localhost/dask:{layers.DASK}"
FLINK = f"localhost/flink:{layers.FLINK}"
JAVA = "/usr/lib/jvm/java-17-openjdk-amd64"
NAMES = ("spark", "flink", "ray", "dask")


def make(name: str, report: Report) -> Path:
    """The archive of one image, made unless the cache has it."""
    match name:
        case "spark":
            own = layers.layer("spark", layers.SPARK, layers.spark, report)
            jobs = layers.layer("jobs", layers.jobs_version(), layers.jobs, report)
            return _image(name, SPARK, [_debian(report), own, jobs], _spark(), report)
        case "flink":
            own = layers.layer("flink-files", layers.FLINK, layers.flink, report)
            return _image(name, FLINK, [_debian(report), own], _flink(), report)
        case "ray":
            own = layers.layer("ray", layers.RAY, layers.python(f"ray[default]=={layers.RAY}"), report)
            return _image(name, RAY, [_debian(report), own], _python(), report)
        case "dask":
            wanted = (f"dask=={layers.DASK}", f"distributed=={layers.DASK}")
            own = layers.layer("dask", layers.DASK, layers.python(*wanted), report)
            return _image(name, DASK, [_debian(report), own], _python(), report)
        case _:
            raise UnknownName("image", name, NAMES)


def make_all(names: Iterable[str], report: Report) -> list[Path]:
    """The archives of several images."""
    return [make(name, report) for name in names]


def _image(name: str, reference: str, parts: list[Path], start: Start, report: Report) -> Path:
    """An image is as old as its newest layer: one that was made before a layer is made anew."""
    target = layers.folder() / f"image-{name}-{reference.rpartition(':')[2]}.tar"
    if not target.exists() or target.stat().st_mtime < max(part.stat().st_mtime for part in parts):
        report(f"image {reference}")
        pack(target, reference, parts, start)
    return target


def _debian(report: Report) -> Path:
    return layers.layer("debian", layers.DEBIAN, layers.debian, report)


def _spark() -> Start:
    home = f"/{layers.HOME}"
    found = next((layers.spark_home() / "lib").glob("py4j-*-src.zip")).name
    environment = {
        "PATH": PATH,
        "SPARK_HOME": home,
        "JAVA_HOME": JAVA,
        "PYTHONPATH": f"{home}/python:{home}/python/lib/{found}",
    }
    return Start(("/opt/entrypoint.sh",), environment, f"{home}/work-dir", str(layers.SPARK_USER))


def _flink() -> Start:
    home = f"/{layers.FLINK_HOME}"
    environment = {"PATH": f"{home}/bin:{PATH}", "FLINK_HOME": home, "JAVA_HOME": JAVA}
    return Start(("/docker-entrypoint.sh",), environment, home, str(layers.FLINK_USER))


def _python() -> Start:
    """Home is a folder that any user may write to."""
    return Start((), {"PATH": PATH, "PYTHONPATH": f"/{layers.SITE}", "HOME": "/tmp"}, "/tmp")  # noqa: S108
