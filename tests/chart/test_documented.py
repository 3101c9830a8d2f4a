"""What pages say of the chart: their commands render, and the values they name exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from support.lab.chart import CHART, ROOT, text

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
VERSION = "1.35.1"  # with the webhook, of which pages speak, too
COMMAND = re.compile(r"helm (install|upgrade|template) (?=.*(\bhelm/slackwater\b|/charts/slackwater\b))")
TAKES = ("--set", "--set-string", "--set-json", "-f", "--values")
# What a reader puts in; a chart takes no such word for an address, or has no such file.
FILLED = {"$PROMETHEUS_IN_CLUSTER": "http://prometheus.monitoring.svc"}
A_FILE = "VALUES"
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
# Of others: a role of Google's, keys of a Secret.
OTHERS = {"monitoring.viewer", "tls.crt", "tls.key"}


def commands(page: Path) -> list[tuple[str, ...]]:
    """Options with values of each command of a page that renders the chart."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [options(line[found.start() :]) for line in lines if (found := COMMAND.search(line))]


def options(line: str) -> tuple[str, ...]:
    """Its values, as helm takes them."""
    for name, value in FILLED.items():
        line = line.replace(name, value)
    words = shlex.split(line, comments=True)
    pairs = [(word, words[at + 1]) for at, word in enumerate(words) if word in TAKES]
    joined = [word for word in words if word.startswith(tuple(f"{name}=" for name in TAKES))]
    return (*[word for pair in pairs if pair[1] != A_FILE for word in pair], *joined)


def known(name: str) -> bool:
    """Whether a value of this name may be set."""
    part = SCHEMA
    for step in name.split("."):
        if not (inside := part.get("properties")):
            return True  # whatever a user writes there, such as labels
        if step not in inside:
            return False
        part = inside[step]
    return True


WRITTEN = sorted({(page.name, each) for page in PAGES for each in commands(page)})


def test_pages_of_every_maker_have_a_command() -> None:
    """Else what follows would look at nothing."""
    makers = {"aks.md", "eks.md", "gke.md", "kind.md", "openshift.md", "small.md"}
    assert {"README.md", *makers} <= {page for page, _ in WRITTEN}


@pytest.mark.parametrize(("page", "values"), WRITTEN, ids=lambda each: each if isinstance(each, str) else "")
def test_every_command_of_a_page_renders(page: str, values: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """With the values that it names."""
    monkeypatch.chdir(ROOT)  # pages name files as a clone has them
    assert text(VERSION, *values), page


def test_every_value_that_a_page_names_exists() -> None:
    """One that was renamed or never was is not found by whoever reads of it."""
    values = SCHEMA["properties"].keys()
    for page in PAGES:
        named = re.findall(r"`([A-Za-z]+(?:\.[A-Za-z]+)+)(?:[:=][^`]*)?`", page.read_text(encoding="utf-8"))
        ours = {name for name in named if name.partition(".")[0] in values} - OTHERS
        assert not [name for name in ours if not known(name)], page.name
