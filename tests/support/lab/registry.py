"""A registry for images and charts on this machine, which speaks plain HTTP, and the release workflow's push to it."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from slackwater.errors import Unavailable
from slackwater_lab.processes.waiting import until
from slackwater_lab.programs.artefacts import helm as release_helm
from slackwater_lab.programs.build import binary
from slackwater_lab.programs.programs import program
from support.lab.chart import ROOT

OWNER = "Some-Owner"  # registries want it in small letters


def crane() -> str:
    """What serves the registry and speaks with it; where it is not built, the test is skipped."""
    path = binary(program("crane"))
    if not path.exists():
        pytest.skip("crane is not built; run: python -m slackwater_lab build crane")
    return str(path)


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """Its address, host and port. What is pushed lies in the folder."""
    command = [crane(), "registry", "serve", "--address", "127.0.0.1:0", "--disk", str(folder)]
    said = folder / "registry.log"
    with said.open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            yield f"127.0.0.1:{_port(said, server)}"
        finally:
            server.terminate()


def _port(said: Path, server: subprocess.Popen[bytes]) -> str:
    """It chooses one, and says which."""
    found: list[str] = []

    def told() -> bool:
        if server.poll() is not None:
            raise Unavailable(f"the registry ended: {said.read_text(encoding='utf-8')}")
        found[:] = re.findall(r"serving on port (\d+)", said.read_text(encoding="utf-8"))
        return bool(found)

    until("the registry listens", told, 30)
    return found[0]


def push_chart(folder: Path, address: str) -> str:
    """What the workflow's step says that pushes dist/chart of a folder; only the registry is another, ours."""
    with tempfile.TemporaryDirectory() as place:
        plain = Path(place, "helm")
        plain.write_text(f'#!/bin/sh\nexec {release_helm()} "$@" --plain-http\n', encoding="utf-8")
        plain.chmod(0o755)
        environment = {
            "PATH": f"{place}:{os.environ['PATH']}",
            "HOME": place,
            "GITHUB_REPOSITORY": f"{OWNER}/slackwater",
        }
        line = ["/bin/bash", "-euo", "pipefail", "-c", _step("Push the chart").replace("ghcr.io", address)]
        done = subprocess.run(
            line, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def _step(name: str) -> str:
    """The lines of a step of the workflow; whoever pushes is somebody, and so is the word that lets in."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yaml").read_text(encoding="utf-8"))
    (step,) = [each for each in workflow["jobs"]["publish"]["steps"] if each.get("name") == name]
    return re.sub(r"\$\{\{ [^}]+ \}\}", "somebody", step["run"])
