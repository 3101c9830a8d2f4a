"""Every command that shows something, in every form: tables for people, JSON and YAML for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from typer.testing import Result

import slackwater_cli
from slackwater.cycle.appverdicts import WaitReason
from slackwater_cli.cluster.apps import columns
from slackwater_cli.cluster.queues import columns as queue_columns
from slackwater_cli.printing import Format, data, put, table, tell
from slackwater_cluster.customresources.trackedapp import Phase
from slackwater_monitor.screen import render
from slackwater_monitor.sources.views import App, Node, Queue, Snapshot

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


@pytest.mark.parametrize("command", ["apps", "queues", "top", "release"])
def test_a_wide_table_is_as_wide_as_it_takes(run: Run, command: str) -> None:
    """In a pipe, which claims 80 columns: the same lines as on a wide terminal, nothing cut and no column left out."""
    arguments = [*COMMANDS[command][0], "-o", "wide"]
    narrow, wide = (run(*arguments, columns=columns).stdout.splitlines() for columns in (80, 300))
    # The first line may tell the time.
    assert [line.rstrip() for line in narrow[1:]] == [line.rstrip() for line in wide[1:]]


def test_a_wide_table_with_an_empty_column_cuts_no_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes that are all open have nothing in their last column."""
    monkeypatch.setenv("COLUMNS", "80")
    name, size = "ip-10-0-0-1.eu-west-1.compute.internal", {"cpu": 4.0, "memory": 2.0**34}
    put(render(Snapshot(0.0, [Node(name, size, size, size, size, size, size)]), wide=True), wide=True)
    assert name in capsys.readouterr().out


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


def test_a_cell_of_markdown_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A patch of YAML has many, and a message may have a bar."""
    assert data([{"yaml": "spec:\n  a: 1", "message": "a|b"}], Format.MARKDOWN)
    assert capsys.readouterr().out.splitlines()[2:] == ["| spec:<br>  a: 1 | a\\|b |"]


def test_sentences_in_one_cell_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """A list is one cell of CSV and Markdown."""
    assert data([{"notes": ["one is skipped", "two are"]}], Format.CSV)
    assert capsys.readouterr().out.splitlines() == ["notes", "one is skipped; two are"]


@pytest.mark.parametrize(("output", "cell"), [(Format.CSV, "; 0.5; "), (Format.MARKDOWN, "| ; 0.5;  |")])
def test_an_unknown_in_a_list_is_empty(output: Format, cell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As in a cell of its own: "None" is no number to whoever reads it."""
    assert data([{"used": [None, 0.5, float("nan")]}], output)
    assert capsys.readouterr().out.splitlines()[-1] == cell


@pytest.mark.parametrize(
    ("output", "printed"),
    [("json", '[{"wait": null}]'), ("yaml", "- wait: null"), ("csv", 'wait ""'), ("markdown", "| wait | | --- | |  |")],
)
def test_a_number_without_a_value_is_null(output: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No parser of JSON reads NaN or Infinity."""
    for number in (float("nan"), float("inf")):
        assert data([{"wait": number}], Format(output))
        assert "".join(capsys.readouterr().out.split()) == "".join(printed.split())


@pytest.mark.parametrize(("output", "printed"), [("csv", ""), ("markdown", ""), ("json", "[]\n"), ("yaml", "[]\n")])
def test_an_empty_list_has_no_head(output: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its columns are not known; a table of one empty cell would be a row to whoever reads it."""
    assert data([], Format(output))
    assert capsys.readouterr().out == printed


def test_queues_of_a_large_cluster_fit_a_terminal_of_80_columns() -> None:
    """Neither a name nor a head is broken inside a word, and no number is cut."""
    amounts = {"cpu": 960.0, "memory": 3840.0 * 2**30}
    row = Queue(
        "default", "closed", capacity=amounts, reservation=amounts, budget=amounts, drivers_running=48, held=950
    )
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table([row], queue_columns()))
    *heads, line = console.export_text().splitlines()
    words = set(" ".join(heads).split())
    assert words == {"QUEUE", "STATE", "CAPACITY", "FOR", "TASKS", "LEFT", "DRIVERS", "HELD"}
    assert line.split() == ["default", "closed", *["960c", "3,840Gi"] * 3, "48", "+", "0", "waiting", "950"]


@pytest.mark.parametrize("everywhere", [True, False], ids=["all namespaces", "one namespace"])
def test_apps_fit_a_terminal_of_80_columns_by_the_name_that_people_gave(everywhere: bool) -> None:
    """The longest reason, phase and numbers: one line each, none cut by the terminal, the name readable, no id."""
    longest = max((reason.value for reason in WaitReason), key=len)
    phases = [phase.value for phase in Phase]
    rows = [
        App(
            namespace="analytics-production",
            name="spark/spark-697870a6f0e14c1b9f3f8c0a1b2c3d4e",
            title=f"pi-{number}",
            phase=phase,
            queue="default",
            position=4321,
            reason=longest,
            wait=86_000.0,
            pods={"held": 10_000, "bound": 10_000},
            efficiency=1.0,
        )
        for number, phase in enumerate(phases)
    ]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(rows, columns(everywhere=everywhere)))
    lines = console.export_text().splitlines()
    assert len(lines) == 1 + len(rows)
    assert max(len(line.rstrip()) for line in lines) <= 80
    for number, (line, phase) in enumerate(zip(lines[1:], phases, strict=True)):
        assert f"pi-{number} " in line
        assert phase in line
        assert "4321" in line
        assert "697870a6" not in line


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_a_sentence_is_broken_between_words_and_only_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    """A terminal would break it within a word; in a pipe, which claims 80 columns, nothing may break it."""
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("FORCE_COLOR", "1" if terminal else "")
    sentence = "Slackwater let at most 80 drivers in at a time, so that each could run its tasks."
    tell(sentence)
    shown = capsys.readouterr().out.splitlines()
    assert " ".join(line.strip() for line in shown) == sentence
    assert (len(shown) > 1) == terminal
    assert not terminal or max(map(len, shown)) <= 30


def test_only_what_people_copy_is_left_to_the_terminal_to_break() -> None:
    """Every sentence of the command line goes through `tell`; commands and YAML stay as they are."""
    sources = Path(slackwater_cli.__file__).parent.rglob("*.py")
    assert {path.name for path in sources if "soft_wrap=True" in path.read_text(encoding="utf-8")} == {"advice.py"}
