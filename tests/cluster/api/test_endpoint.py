"""Where the API server is: what is wrong with a kubeconfig is told by where it was named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.endpoint import endpoint

TEXT = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9/'}}]
users: [{name: u, user: {}}]
contexts: [{name: here, context: {cluster: c, user: u}}, {name: there, context: {cluster: c, user: u}}]
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """Two contexts of one cluster."""
    path = tmp_path / "config"
    path.write_text(TEXT)
    return path


def test_a_context_that_is_there_is_taken(kubeconfig: Path) -> None:
    """The named one, or the current one."""
    assert endpoint(kubeconfig, "there").url == endpoint(kubeconfig).url == "http://127.0.0.1:9"


@pytest.mark.parametrize("current", ["", "current-context: ''", "current-context: gone"])
def test_a_context_that_is_named_needs_no_current_one(kubeconfig: Path, current: str) -> None:
    """A kubeconfig may leave the choice to whoever reads it, or still name one that was removed."""
    kubeconfig.write_text(TEXT.replace("current-context: here", current))
    assert endpoint(kubeconfig, "there").url == "http://127.0.0.1:9"
    with pytest.raises(Unavailable, match=r"no usable Kubernetes configuration .*nosuch"):
        endpoint(kubeconfig, "nosuch")


def test_a_context_that_is_not_there_is_told_beside_those_that_are(kubeconfig: Path) -> None:
    """The file is right, so another file is no remedy."""
    with pytest.raises(Unavailable, match="no context 'nosuch'; give --context one of: here, there"):
        endpoint(kubeconfig, "nosuch")


def test_a_file_that_is_not_there_is_told_by_who_named_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that nobody gave cannot be left out."""
    absent = tmp_path / "absent"
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(Unavailable, match="give --kubeconfig another path, or leave it out"):
        endpoint(absent)
    monkeypatch.setenv("KUBECONFIG", str(absent))
    with pytest.raises(Unavailable, match="the variable KUBECONFIG names it"):
        endpoint(absent)


@pytest.mark.parametrize(("program", "code"), [("operator", 2), ("extender", 1)])
def test_a_program_without_a_cluster_ends_with_one_sentence(tmp_path: Path, program: str, code: int) -> None:
    """Before it listens, leads or starts a worker: no traceback, and nothing that looks like a start."""
    absent = tmp_path / "absent"
    command = [sys.executable, "-m", f"slackwater_{program}.main", "--kubeconfig", str(absent)]
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code
    said = (done.stdout + done.stderr).strip().removeprefix("slackwater-extender: ")
    assert said == f"there is no kubeconfig {absent}; give --kubeconfig another path, or leave it out"
