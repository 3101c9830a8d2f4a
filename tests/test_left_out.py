"""The line at the end of a run that says what was not run."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.lab.chart import call, objects, template, text
from support.leftout import leaves_out
from support.nocoverage import TOGETHER, read_branches, unneeded
from support.reporting import not_run, want


@pytest.mark.parametrize(
    ("reason", "thing"),
    [
        ("no helm binary; fetch it (make tools) or put helm on the path", "helm"),
        ("Chromium is not installed", "Chromium"),
        ("could not import 'playwright.sync_api': No module named 'playwright'", "Chromium"),
        ("prometheus and promtool are not installed", "Prometheus"),
        ("the real traces (../shared/traces beside the project) are not here", "traces"),
        ("not built: etcd; run: python -m slackwater_lab build", "the lab"),
        ("k8s.io/kube-scheduler is not in Go's module cache; run: go mod download", "Go"),
        ("dask is installed here", "dask is installed here"),
    ],
)
def test_a_reason_is_told_in_a_word(reason: str, thing: str) -> None:
    """Whoever reads the line knows what to install."""
    assert want(reason) == thing


def test_the_line_counts_what_is_missing() -> None:
    """The most frequent first."""
    reasons = ["Chromium is not installed", "no helm binary", "no helm binary"]
    assert not_run(iter(reasons)) == "not run: 2 for want of helm, 1 for want of Chromium"


def test_nothing_left_out_is_told_too() -> None:
    """CI looks for this line."""
    assert not_run(iter(())) == "not run: none"


@pytest.mark.parametrize(
    ("markers", "text", "left"),
    [
        ("not deep and not lab", "pytestmark = pytest.mark.lab\n", True),
        ("not lab", "import pytest\n\npytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]\n", True),
        ("not lab", "pytestmark = pytest.mark.laboured\n", False),
        ("not lab", "@pytest.mark.lab\ndef test_one() -> None:\n", False),
        ("not lab", "pytestmark = pytest.mark.skipif(not lab)\n", False),
        ("lab", "pytestmark = pytest.mark.lab\n", False),
        ("", "pytestmark = pytest.mark.lab\n", False),
        ("deep or not bench and not lab", "pytestmark = pytest.mark.lab\n", False),
        ("not (deep or bench) and not lab", "pytestmark = pytest.mark.lab\n", False),
    ],
)
def test_a_file_is_not_read_if_all_of_its_tests_are_left_out(markers: str, text: str, left: bool) -> None:
    """What is not certain is read: markers that are joined otherwise, and those of single tests."""
    assert leaves_out(markers, text) == left


NEVER = "1.999.0"  # no chart was rendered for it while helm was there


@pytest.fixture(scope="module")
def no_helm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A machine where nobody called `make tools`."""
    empty = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(empty))
        patch.setenv("PATH", str(empty))
        yield empty


@pytest.mark.parametrize("rendering", [call, template, text, objects], ids=lambda each: each.__name__)
def test_whatever_renders_the_chart_is_skipped_where_there_is_no_helm(
    no_helm: Path, rendering: Callable[[str], object]
) -> None:
    """A fixture of a module comes before those of its tests, so none of these could look for helm first."""
    with pytest.raises(pytest.skip.Exception) as skipped:
        rendering(NEVER)
    assert want(str(skipped.value)) == "helm"


def test_helm_is_started_in_one_place() -> None:
    """Which skips: nobody else looks for the program."""
    place = Path(__file__).parent
    asks = [path for path in place.rglob("*.py") if re.search(r"(?<!def )\bhelm\(\)", path.read_text(encoding="utf-8"))]
    assert asks == [place / "support" / "lab" / "chart.py"]


def test_a_test_that_adds_no_branch_needs_no_tracer() -> None:
    """The cheapest set of tests that takes every branch is traced; the list names the others."""
    one, two, three = (0, 1, 2), (0, 2, 3), (0, 3, 4)
    branches = {TOGETHER: {one}, "dear": {one, two, three}, "second": {two}, "third": {three}, "known": {one}}
    assert unneeded(branches, Counter({"dear": 9, "second": 1, "third": 1, "known": 1})) == ["dear", "known"]


def test_a_test_whose_branches_are_taken_by_those_chosen_after_it_needs_no_tracer() -> None:
    """The first choice takes most for its time; two others are needed anyway, and take all that it does."""
    one, two, three, four = (0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)
    branches = {"first": {one, two}, "second": {one, three}, "third": {two, four}}
    assert unneeded(branches, Counter({"first": 1, "second": 2, "third": 2})) == ["first"]


def test_a_test_that_takes_no_branch_is_known_by_its_cost(tmp_path: Path) -> None:
    """One that only starts other programs is dear to trace as well."""
    with sqlite3.connect(tmp_path / "branches") as database:
        database.execute("create table context (id, context)")
        database.execute("create table arc (context_id, file_id, fromno, tono)")
        database.execute("insert into context values (1, 'quick')")
        database.execute("insert into arc values (1, 0, 1, 2)")
    found = read_branches(tmp_path / "branches", Counter({"helm": 3, "quick": 0}))
    assert found == {"helm": set(), TOGETHER: {(0, 1, 2)}}
    assert unneeded(found, Counter({"helm": 3})) == ["helm"]
