"""Help texts: one word for what an option takes, so that the sentences have the width."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from slackwater_cli.main import app

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def shown(*command: str) -> str:
    """The help text of a command, in 80 columns."""
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "80", "TERM": "dumb"})
    assert result.exit_code == 0
    return result.stdout


LAB = [("lab", name) for name in ("up", "build", "league")]


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS), ("traces", "fetch"), *LAB])
def test_a_flag_asks_for_no_value_and_nothing_speaks_python(command: tuple[str, ...]) -> None:
    """`--live`, not `--live <bool>`; `<int> [x>=0]`, not `<int range> [x>=0]`."""
    told = shown(*command)
    assert "--help" in told.partition("─ Options ")[2].partition("╰")[0]
    assert not any(word in told for word in ("<bool>", "range>", "<list["))
    assert "…" not in told.replace("key=value,…", ""), "a word is cut off"


@pytest.mark.parametrize("command", [*((name,) for name in COMMANDS), ("traces", "fetch")])
def test_no_option_takes_the_width_of_the_sentences(command: tuple[str, ...]) -> None:
    """All choices of `assess --by` beside it would fold every sentence of that page at 25 characters."""
    found = typer.main.get_command(app)
    context = found.make_context("slackwater", [], resilient_parsing=True)
    for name in command:
        found = found.get_command(context, name)  # type: ignore[attr-defined]
    words = {each.name: each.display_type_rich(context) or "" for each in found.get_params(context)}  # type: ignore[attr-defined]
    assert {name: word for name, word in words.items() if len(word) > 18} == {}


def test_an_argument_is_written_as_the_sentences_write_it() -> None:
    """Below `slackwater simulate [OPTIONS] {WORKLOAD}` stands "Play WORKLOAD under each policy"."""
    assert "{WORKLOAD}" in shown("simulate")


def test_the_forms_of_output_leave_the_width_to_the_sentences() -> None:
    """All choices in one column of types would fold every sentence at twenty characters."""
    assert "table or wide for people; json, yaml, csv or markdown for programs." in " ".join(
        shown("traces").replace("│", " ").split()
    )
