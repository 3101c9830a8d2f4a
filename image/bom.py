"""`make bom`: the bill of materials of the image's Python packages (CycloneDX 1.6), from the list it installs.

The same list gives the same bill, byte by byte. It is made by Python alone: what would be installed to make it could
write into it whatever it likes, and the release puts its name below.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

FOLDER = Path(__file__).parent
VERSION = FOLDER.parent / "core" / "slackwater" / "__init__.py"
PIN = re.compile(r"^([a-z0-9-]+)==(\S+) \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)


class Package(NamedTuple):
    """A pinned version, and the digests of the files that may be installed for it."""

    name: str
    version: str
    digests: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Its name for everybody."""
        return f"pkg:pypi/{self.name}@{self.version}"


def packages(text: str) -> Iterator[Package]:
    """What a list of requirements with hashes names."""
    for name, version, hashes in PIN.findall(text):
        yield Package(name, version, tuple(re.findall(r"sha256:(\w+)", hashes)))


def bill(version: str, listed: list[Package]) -> dict[str, Any]:
    """The bill of one version of ours."""
    ours = Package("slackwater", version, ())
    named = " ".join([ours.purl, *(f"{each.purl} {' '.join(each.digests)}" for each in listed)])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid5(NAMESPACE_URL, named).urn,
        "version": 1,
        "metadata": {
            "component": {**_component(ours, "application"), "licenses": [{"license": {"id": "Apache-2.0"}}]},
        },
        "components": [{**_component(each, "library"), "externalReferences": [_files(each)]} for each in listed],
        "dependencies": [{"ref": ours.purl, "dependsOn": [each.purl for each in listed]}],
    }


def _component(package: Package, kind: str) -> dict[str, Any]:
    named = {"name": package.name, "version": package.version, "purl": package.purl}
    return {"type": kind, "bom-ref": package.purl, **named}


def _files(package: Package) -> dict[str, Any]:
    """One of these files was installed: which, depends on the machine that the image is for."""
    hashes = [{"alg": "SHA-256", "content": digest} for digest in package.digests]
    return {"type": "distribution", "url": package.purl, "hashes": hashes}


def main() -> int:
    """Write the bill to standard output."""
    (version,) = re.findall(r'^__version__ = "(.*)"$', VERSION.read_text(encoding="utf-8"), re.MULTILINE)
    listed = list(packages((FOLDER / "programs.txt").read_text(encoding="utf-8")))
    sys.stdout.write(json.dumps(bill(version, listed), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
