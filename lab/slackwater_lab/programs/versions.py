"""Another version of Kubernetes than the one in go.mod: $SLACKWATER_LAB_VERSION (1.35.8), for one lab or one build.

Its Go module is derived: Kubernetes' own go.mod points at `./staging/…` for some thirty modules, which are published as
v0.MINOR.PATCH. Go's checksum database vouches for what is downloaded, as there is no go.sum of ours for it.
"""

import json
import os
import re
from pathlib import Path

from slackwater.errors import InvalidInput
from slackwater_lab.processes.command import run

VARIABLE = "SLACKWATER_LAB_VERSION"
MODULE = "k8s.io/kubernetes"


def other() -> str:
    """The version that was asked for, such as v1.35.8; "": the one of go.mod."""
    text = os.environ.get(VARIABLE, "").removeprefix("v")
    if text and not re.fullmatch(r"1\.\d+\.\d+", text):
        raise InvalidInput(VARIABLE, f"{text!r} is no version of Kubernetes", "write it like 1.35.8")
    return f"v{text}" if text else ""


def module(folder: Path, version: str, go: str) -> Path:
    """The folder of the Go module that builds a version; made where it is not there yet."""
    if not (folder / "go.mod").exists():
        folder.mkdir(parents=True, exist_ok=True)
        told = run([go, "mod", "download", "-json", f"{MODULE}@{version}"], folder)
        own = Path(json.loads(told)["GoMod"]).read_text()
        (folder / "go.mod").write_text(derived(own, version))
    return folder


def derived(own: str, version: str) -> str:
    """Our go.mod from Kubernetes' own: the same language version and defaults, staging modules as published."""
    staging = re.findall(r"^\s*(k8s\.io/\S+) => \./staging/", own, re.MULTILINE)
    head = re.findall(r"^(?:go|godebug) \S.*$", own, re.MULTILINE)
    published = version.replace("v1.", "v0.", 1)
    replaced = [f"\t{name} => {name} {published}" for name in staging]
    lines = ["module slackwater.io/lab/kubernetes", *head, f"require {MODULE} {version}"]
    return "\n\n".join([*lines, "\n".join(["replace (", *replaced, ")"])]) + "\n"
