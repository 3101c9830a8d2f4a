"""Every command that shows something, in every form: tables for people, JSON and YAML for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest
import yaml
from typer.testing import Result

Run = Callable[..., Result]
# Each command, and a word that every form of its answer holds.
COMMANDS = {
    "apps": (["apps"], "etl"),
    "queues": (["queues"], "default"),
    "explain": (["explain", "etl-0"], "team-a/etl-0"),
    "top": (["top"], "n0"),
    "release": (["release", "--all", "--dry-run"], "etl-0"),
    "check": (["check"], "extender"),
}


@pytest.mark.parametrize(("arguments", "word"), COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)], ids=["json", "yaml"])
def test_programs_read_what_is_printed(
    run: Run, arguments: list[str], word: str, output: str, read: Callable[[str], object]
) -> None:
    """Nothing but the data on standard output."""
    assert word in json.dumps(read(run(*arguments, "-o", output).stdout))


@pytest.mark.parametrize(("arguments", "word"), COMMANDS.values(), ids=COMMANDS)
def test_csv_has_a_head_and_equal_rows(run: Run, arguments: list[str], word: str) -> None:
    """What a spreadsheet reads; nested fields are named by their path."""
    head, *rows = csv.reader(io.StringIO(run(*arguments, "-o", "csv").stdout))
    assert word in str(rows)
    assert {len(row) for row in rows} == {len(head)}


@pytest.mark.parametrize(("arguments", "word"), COMMANDS.values(), ids=COMMANDS)
def test_markdown_is_a_table(run: Run, arguments: list[str], word: str) -> None:
    """What an issue or a page shows."""
    lines = run(*arguments, "-o", "markdown").stdout.splitlines()
    assert set(lines[1]) == set("| -")
    assert word in "".join(lines[2:])


@pytest.mark.parametrize(("arguments", "word"), COMMANDS.values(), ids=COMMANDS)
def test_wide_shows_at_least_what_the_table_shows(run: Run, arguments: list[str], word: str) -> None:
    """The same lines, with more columns where there are more."""
    table, wide = run(*arguments).stdout, run(*arguments, "-o", "wide").stdout
    assert word in table
    assert word in wide
    assert len(wide) >= len(table)


@pytest.mark.parametrize(
    ("arguments", "head"),
    [
        (["apps"], "FRAMEWORK"),
        (["queues"], "FORECAST ERROR"),
        (["top"], "asked  allowed"),
        (["release", "--all", "--dry-run"], "STILL HELD BY"),
    ],
    ids=["apps", "queues", "top", "release"],
)
def test_wide_has_columns_that_the_table_has_not(run: Run, arguments: list[str], head: str) -> None:
    """For those who want to know more."""
    assert head not in run(*arguments).stdout
    assert head in run(*arguments, "-o", "wide").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_another_form_is_refused_with_those_that_exist(run: Run, command: str) -> None:
    """Exit code 2, as for any wrong argument."""
    result = run(*COMMANDS[command][0], "-o", "xml")
    assert result.exit_code == 2
    assert "'json'" in result.output
