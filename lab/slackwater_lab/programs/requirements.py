"""`python -m slackwater_lab.programs.requirements`: what the image installs, exactly, with the hashes of every file.

The packages that extras of ours need, and theirs, in the versions of constraints.txt, for every Python we support on
Linux. Hashes come from the package index of this machine's pip. Needs the packages installed (`make install`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path

import httpx2
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "image"
# What the programs of the chart need.
FILES: Mapping[str, tuple[str, ...]] = {"programs.txt": ("extender", "operator", "monitor")}
# What builds our own package, and what that needs: installed in the build only, so not found by its metadata here.
BUILDING = ("hatchling", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers")
PYTHONS = ("3.11", "3.12", "3.13")
ELSEWHERE = ("-win", "-macosx", "-android", "-ios", "-pyodide", "-musllinux", "-cp39-", "-cp310-", "-cp314", "-pp3")
HEAD = "# Made by `make requirements` from pyproject.toml and constraints.txt: {extras}. Do not edit.\n"


def versions() -> dict[str, str]:
    """Package → version, as constraints.txt has them."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {canonicalize_name(name): version.split(";")[0].strip() for name, version in pairs}


def closure(extras: Iterable[str]) -> set[str]:
    """Every package that our extras need on Linux, directly or not, but for our own."""
    seen: dict[str, frozenset[str]] = {}
    waiting = [("slackwater", frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        if name in seen and wanted <= seen[name]:
            continue
        seen[name] = seen.get(name, frozenset()) | wanted
        waiting += needed(name, seen[name])
    return set(seen) - {"slackwater"}


def needed(name: str, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The direct needs of a package with some of its extras."""
    for text in stated(extras) if name == "slackwater" else distribution(name).requires or ():
        need = Requirement(text)
        if need.marker is None or any(
            need.marker.evaluate({"extra": extra, "python_version": python, "python_full_version": f"{python}.0"})
            for python in PYTHONS
            for extra in (*extras, "")
        ):
            yield canonicalize_name(need.name), frozenset(need.extras)


def stated(extras: Iterable[str]) -> list[str]:
    """What pyproject.toml asks for; what is installed here of our own may be older."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *(need for each in extras for need in project["optional-dependencies"][each])]


def hashes(index: str, name: str, version: str) -> list[str]:
    """sha256 of every file of a version, as the index tells them; no yanked ones."""
    answer = httpx2.get(
        f"{index.rstrip('/')}/{name}/",
        headers={"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1"},
        follow_redirects=True,
        timeout=60,
    )
    answer.raise_for_status()
    if "json" in answer.headers.get("content-type", ""):
        files = {each["filename"]: each["hashes"].get("sha256", "") for each in answer.json()["files"]}
    else:
        files = {Path(path).name: digest for path, digest in re.findall(r'href="([^"#]+)#sha256=(\w+)"', answer.text)}
    return sorted({digest for file, digest in files.items() if digest and of_version(file, name, version)})


def of_version(file: str, name: str, version: str) -> bool:
    """Whether a wheel or source archive is of this version, and could be installed into a Linux image."""
    if any(place in file for place in ELSEWHERE):
        return False
    stem = file.removesuffix(".tar.gz").removesuffix(".zip")
    parts = file.split("-") if file.endswith(".whl") else list(stem.rpartition("-")[::2])
    return len(parts) > 1 and canonicalize_name(parts[0]) == name and parts[1] == version


def index_url() -> str:
    """The package index that pip was told to use."""
    found = (
        os.environ.get("PIP_INDEX_URL")
        or subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
    )
    if not found:
        raise SystemExit("pip knows no index: name one by `pip config set global.index-url ADDRESS`")
    return found


def wanted() -> dict[str, set[str]]:
    """Packages by file."""
    return {"build.txt": set(BUILDING), **{file: closure(extras) for file, extras in FILES.items()}}


def main() -> None:
    """Write the files anew."""
    index, known = index_url(), versions()
    FOLDER.mkdir(exist_ok=True)
    told: dict[str, list[str]] = {}
    for file, packages in wanted().items():
        lines = [HEAD.format(extras=", ".join(FILES.get(file, ("what builds the package",))))]
        for name in sorted(packages):
            told[name] = told.get(name) or hashes(index, name, known[name])
            if not told[name]:
                raise SystemExit(f"the index knows no file of {name} {known[name]}")
            joined = " \\\n".join(f"    --hash=sha256:{digest}" for digest in told[name])
            lines.append(f"{name}=={known[name]} \\\n{joined}\n")
        (FOLDER / file).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
