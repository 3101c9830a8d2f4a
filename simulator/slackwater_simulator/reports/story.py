"""Two schedulers on the same work, told as people tell it: who is done when, in minutes, and what stands still.

The demo's terminal and its page are made of the same words and numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from slackwater_simulator.charts.amounts import count
from slackwater_simulator.charts.page import Block, Figures, Paragraph, Section
from slackwater_simulator.charts.table import Styled, Table
from slackwater_simulator.reports import figures, levels
from slackwater_simulator.reports.names import named
from slackwater_simulator.results.metrics import Metrics, measure
from slackwater_simulator.results.outcome import Outcome

THEIRS, OURS = "kube", "slackwater"
READING = (
    "An app is done when its last task is; that is counted from the moment it was submitted. All work is done when the "
    "last app is: one long app at the end decides that, so it says less than the mean. Slackwater starts a large app "
    "only when its tasks find room: it may wait longer for its first task, and is done sooner. Small apps ask for at "
    "most a tenth of the cluster."
)


class Change(NamedTuple):
    """How ours compares with theirs, and whether that is good."""

    words: str
    better: bool


@dataclass(frozen=True, slots=True)
class Story:
    """How a page begins: its heading, a sentence below it, and the parts that come before the figures."""

    heading: str
    lead: str
    sections: Sequence[Section]


def minutes(seconds: float) -> str:
    """Minutes; what never came is told so."""
    return f"{seconds / 60:.1f} min" if seconds < math.inf else "never"


def change(values: Sequence[float]) -> Change | None:
    """How the second time compares with the first, in the words people use; None where nothing can be said."""
    if len(values) != 2 or math.inf in values or values[0] == values[1]:
        return None
    theirs, ours = values
    if theirs >= 1.5 * ours:
        return Change(f"{theirs / ours:.1f} times as fast", True)
    share = abs(theirs - ours) / theirs
    return Change(f"{share:.0%} sooner", True) if ours < theirs else Change(f"{share:.0%} later", False)


def _time(pick: Callable[[Metrics], float]) -> Callable[[Metrics], float]:
    """A time of the apps; infinite where none ever finished."""
    return lambda one: pick(one) if one.finished else math.inf


def _share(value: float) -> str:
    return f"{value:.0%}" if value == value else "–"  # noqa: PLR0124 - NaN differs from itself


# What is shown, how it is read off, and how it is written: what people wait for first, what it costs last.
LINES: tuple[tuple[str, Callable[[Metrics], Any], Callable[[Any], str]], ...] = (
    ("small apps: done after, mean", _time(lambda one: one.small_completion.mean), minutes),
    ("all apps: done after, mean", _time(lambda one: one.completion.mean), minutes),
    ("one app in twenty: later than", _time(lambda one: one.completion.p95), minutes),
    ("all work is done after", lambda one: math.inf if one.deadlock else one.makespan, minutes),
    (
        "apps that finish",
        lambda one: (one.finished, one.finished + one.unfinished),
        lambda pair: "{} of {}".format(*pair),
    ),
    ("cores busy, mean", lambda one: one.used[0] if one.used and one.finished else math.nan, _share),
    ("tasks lost, memory full", lambda one: one.failures, str),
)


def rows(metrics: Mapping[str, Metrics]) -> Iterator[tuple[str, list[str], Change | None]]:
    """What is compared, its value under each scheduler, and how they compare."""
    for label, value, show in LINES:
        values = [value(one) for one in metrics.values()]
        yield label, [show(each) for each in values], change(values) if show is minutes else None


def verdict(metrics: Mapping[str, Metrics]) -> str:
    """The work in one sentence, whoever is ahead."""
    theirs, ours = (metrics[policy].completion.mean for policy in (THEIRS, OURS))
    return f"Same apps, same nodes: done after {minutes(ours)} instead of {minutes(theirs)}, on average."


def standstill(outcomes: Mapping[str, Outcome]) -> list[str]:
    """What happened where everybody started at once, in a sentence each."""
    lines = []
    if outcomes[THEIRS].deadlock:
        one, more = "driver, which holds every core and waits", "drivers, which hold every core and wait"
        drivers = count(outcomes[THEIRS].peak_drivers, one, more)
        lines.append(f"At nine the stock scheduler started {drivers} for tasks that find none: nothing moves any more.")
    if not outcomes[OURS].deadlock:
        most = outcomes[OURS].peak_drivers
        lines.append(f"Slackwater let at most {count(most, 'driver')} in at a time, so that each could run its tasks.")
    return lines


def told(titles: Mapping[str, str], plays: Mapping[str, Mapping[str, Outcome]], further: Sequence[str]) -> Story:
    """The opening of the demo's page: nine o'clock, then the hour; `further` are sentences about other hours."""
    nine, hour = plays["nine"], plays["hour"]
    sections = [
        Section("nine", titles["nine"], list(_nine(nine)), "Nine o'clock"),
        Section("hour", titles["hour"], list(_hour(hour, further)), "The hour"),
    ]
    lead = " ".join(standstill(nine))
    return Story(verdict(_measured(hour)), lead, sections)


def _measured(outcomes: Mapping[str, Outcome]) -> dict[str, Metrics]:
    return {policy: measure(outcome) for policy, outcome in outcomes.items()}


def _nine(outcomes: Mapping[str, Outcome]) -> Iterator[Block]:
    yield _table(outcomes)
    end = max(levels.horizon(outcome) for outcome in outcomes.values())
    yield Figures([figures.progress(list(outcomes.values()), end)])


def _hour(outcomes: Mapping[str, Outcome], further: Sequence[str]) -> Iterator[Block]:
    yield _table(outcomes)
    yield Paragraph(READING, "fine")
    for sentence in further:
        yield Paragraph(sentence)
    end = max(levels.horizon(outcome) for outcome in outcomes.values())
    yield Figures([figures.progress(list(outcomes.values()), end)])


def _table(outcomes: Mapping[str, Outcome]) -> Table:
    found = list(rows(_measured(outcomes)))
    compared = any(each is not None for _, _, each in found)
    made = [(label, *values, *([_styled(each)] if compared else [])) for label, values, each in found]
    heads = ("", *(named(policy) for policy in outcomes), *(["Slackwater is"] if compared else []))
    return Table("", heads, made, right=int(compared), prose=True)


def _styled(found: Change | None) -> Styled | str:
    return "" if found is None else Styled(found.words, "holds" if found.better else "")
