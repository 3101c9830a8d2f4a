"""`make audit`: whether an advisory is known for a version that the image installs, as pip's package index tells.

The index tells the advisories of each version, and with a package those of its latest one. A version of which it tells
neither cannot be judged: that is said, and counts as a failure where --strict is given.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

from pip._internal.models.index import PyPI  # the address is nobody's business but pip's

FOLDER = Path(__file__).parent
SECONDS = 60.0
PIN = re.compile(r"^([a-z0-9-]+)==(\S+) \\$", re.MULTILINE)

Ask = Callable[[str], Any]  # the body at a path below the index; None where there is none


class Judged(NamedTuple):
    """A pinned version."""

    name: str
    version: str
    advisories: tuple[str, ...] | None  # None: the index does not tell


def pins(*files: Path) -> dict[str, str]:
    """Package → version."""
    return {name: version for file in files for name, version in PIN.findall(file.read_text(encoding="utf-8"))}


def judged(name: str, version: str, ask: Ask) -> Judged:
    """What is known of one version."""
    body = ask(f"{name}/{version}/json")
    if body is None:
        body = ask(f"{name}/json")
        if body is None or body["info"]["version"] != version:
            return Judged(name, version, None)
    found = [each for each in body.get("vulnerabilities") or () if not each.get("withdrawn")]
    return Judged(name, version, tuple(sorted(each["id"] for each in found)))


def told(found: list[Judged]) -> Iterator[str]:
    """What people read."""
    for each in found:
        if each.advisories:
            yield f"{each.name} {each.version}: {', '.join(each.advisories)}"
        elif each.advisories is None:
            yield f"{each.name} {each.version}: the index does not tell; a newer version is there"
    known = [each for each in found if each.advisories is not None]
    bad = sum(bool(each.advisories) for each in known)
    yield f"{len(found)} packages: {bad} with advisories, {len(known)} judged, {len(found) - len(known)} not"


def asked(path: str) -> Any:
    """One answer of the index."""
    try:
        with urlopen(f"{PyPI.pypi_url}/{path}", timeout=SECONDS) as answer:  # noqa: S310 - always https
            return json.load(answer)
    except HTTPError as problem:
        if problem.code == 404:
            return None
        raise


def main(ask: Ask = asked) -> int:
    """0 where nothing is known against any version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true", help="fail where a version cannot be judged")
    strict = parser.parse_args().strict
    with ThreadPoolExecutor(4) as pool:
        everything = pins(*sorted(FOLDER.glob("*.txt"))).items()
        found = list(pool.map(lambda pin: judged(pin[0], pin[1], ask), everything))
    for line in told(found):
        sys.stdout.write(f"{line}\n")
    return int(any(each.advisories or (strict and each.advisories is None) for each in found))


if __name__ == "__main__":
    sys.exit(main())
