"""The live driver on simulated nodes: `slackwater simulate WORKLOAD --live` as a person would call it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.lab.testcluster import Field
from support.lab.testnamespace import LABEL, Ground, bound, until

pytestmark = pytest.mark.lab
WORKLOAD = "gen:hour?apps=4"  # some 100 pods in an hour


def _command(arena: Field, ground: Ground, scale: float) -> list[str]:
    place = ["--namespace", f"{ground.name}-play", "--selector", f"{LABEL}={ground.name}"]
    program = str(Path(sys.executable).with_name("slackwater"))
    pace = ["--scale", str(scale), "--limit", "300"]
    return [program, "simulate", WORKLOAD, "--live", "-p", "slackwater", *pace, *place]


def _environment(arena: Field) -> dict[str, str]:
    path = arena.lab.site.kubeconfig if arena.lab else os.environ["SLACKWATER_E2E_KUBECONFIG"]
    return {**os.environ, "KUBECONFIG": str(path), "COLUMNS": "160"}


def test_a_play_prints_prediction_beside_observation(arena: Field) -> None:
    """Every job finishes, each has a row, and the namespace is taken away again."""
    with arena.ground("live", nodes=4) as ground:
        command = _command(arena, ground, 150)
        done = subprocess.run(
            command, env=_environment(arena), capture_output=True, text=True, check=False, timeout=330
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "4 of 4 jobs finished" in done.stdout
        assert all(f"app-00{number}" in done.stdout for number in range(4))
        assert "makespan         predicted" in done.stdout
        assert "observed" in done.stdout
        _until_gone(arena, ground)


def test_an_interrupted_play_cleans_up_after_itself(arena: Field) -> None:
    """Ctrl-C in mid-play: the command ends by itself, and neither pod nor namespace is left."""
    with arena.ground("stopped", nodes=2) as ground:
        pipe = subprocess.PIPE
        with subprocess.Popen(_command(arena, ground, 20), env=_environment(arena), stdout=pipe, stderr=pipe) as play:
            played = Ground(arena.api, f"{ground.name}-play", [])
            until("pods of the play run", lambda: bound(played.pods()), 60, 0.2)
            play.send_signal(signal.SIGINT)
            until("the command ends", lambda: play.poll() is not None, 30)
            play.communicate()
            assert play.returncode != 0
        _until_gone(arena, ground)


def _until_gone(arena: Field, ground: Ground) -> None:
    path = f"/api/v1/namespaces/{ground.name}-play"
    until("the namespace of the play is gone", lambda: arena.api.find(path) is None, 40, 0.3)
