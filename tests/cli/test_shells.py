"""The command in a shell: completion, and as a plug-in of kubectl."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from slackwater_lab.programs.build import built, missing

PROGRAM = Path(sys.executable).with_name("slackwater")
# What each shell tells the program that has to complete `slackwater ex`.
ASKED = {
    "bash": {"_SLACKWATER_COMPLETE": "complete_bash", "COMP_WORDS": "slackwater ex", "COMP_CWORD": "1"},
    "zsh": {"_SLACKWATER_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "slackwater ex"},
    "fish": {
        "_SLACKWATER_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_ARGS": "slackwater ex",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    },
}


@pytest.mark.parametrize("shell", ASKED)
def test_a_shell_completes_commands(shell: str) -> None:
    """`slackwater ex` may become explain or export."""
    if not PROGRAM.exists():
        pytest.skip("the console script is not installed")
    done = subprocess.run(
        [str(PROGRAM)], env=os.environ | ASKED[shell], capture_output=True, text=True, timeout=60, check=False
    )
    assert "explain" in done.stdout
    assert "export" in done.stdout
    assert "assess" not in done.stdout


def test_the_plug_in_of_kubectl_is_the_same_program() -> None:
    """Kubectl runs whatever on the path is called kubectl-NAME."""
    scripts = {each.name: each.value for each in entry_points(group="console_scripts") if "slackwater" in each.name}
    assert scripts["kubectl-slackwater"] == scripts["slackwater"]


def test_kubectl_finds_the_plug_in() -> None:
    """A real kubectl hands its arguments on."""
    kubectl = shutil.which("kubectl")
    if kubectl is None and not missing(["kubectl"]):
        kubectl = built("kubectl")
    plugin = PROGRAM.with_name("kubectl-slackwater")
    if kubectl is None or not plugin.exists():
        pytest.skip("kubectl or the plug-in is not installed")
    path = f"{plugin.parent}{os.pathsep}{os.environ['PATH']}"
    command, env = [kubectl, "slackwater", "--version"], os.environ | {"PATH": path}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("slackwater ")
