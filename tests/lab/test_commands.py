"""`slackwater lab` hands everything on to the lab's own command line."""

import pytest
from typer.testing import CliRunner

from slackwater.errors import Unavailable
from slackwater_cli.simulation.lab import _COMMANDS, group
from slackwater_lab.commands import app


def test_the_commands_are_those_of_the_lab() -> None:
    """A command that the lab gains or loses must be listed here too."""
    known = {item.name or item.callback.__name__ for item in app.registered_commands if item.callback}
    assert set(_COMMANDS) == known


def test_options_and_help_reach_the_lab() -> None:
    """The help shown is the lab's own, with its options."""
    shown = CliRunner().invoke(group, ["up", "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert "--real-nodes" in shown.output


def test_a_lab_that_does_not_exist_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """The error says how to start one."""
    monkeypatch.setenv("SLACKWATER_LAB_HOME", str(tmp_path))
    result = CliRunner().invoke(group, ["status", "--name", "nowhere"])
    assert isinstance(result.exception, Unavailable)
    assert "start one with `up`" in str(result.exception)
