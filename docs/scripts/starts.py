"""Plays the runs behind the first tables of docs/policies/starts.md and writes them anew.

    python docs/scripts/starts.py FOLDER_OF_THE_TRACES

Some minutes of CPU. Each table stands between two comments with its name; the sentences around it are written by hand,
and so is the table of real control planes (make bench-starts).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from markdowntables import renew, table
from slackwater.pools.forecastlog import Coverage, coverage
from slackwater_simulator.results.startforecasts import judged, later
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.loading import default_cluster, load

PAGE = Path(__file__).parents[2] / "docs" / "policies" / "starts.md"
HEAD = ["runs", "starts with an interval", "inside (80 % aimed at)", "median error", "median wait", "not known yet"]
LOOKED = ["runs", "looks with an interval", *HEAD[2:]]


class Plays(NamedTuple):
    """One row of the table: the same workload with several seeds."""

    name: str
    workload: str
    cluster: str  # empty: the one it was made for
    world: str
    seeds: Sequence[int]


class Found(NamedTuple):
    """How good the forecasts of one run were, as the page tells it."""

    known: int
    inside: int
    error: str
    wait: str
    unknown: int


PLAYS = (
    Plays("`gen:hour?apps=150`, Kubernetes world", "gen:hour?apps=150", "", "kubernetes", range(10, 18)),
    Plays(
        "FB-2009, first 620 jobs, YARN world",
        "FB-2009_samples_24_times_1hr_0.tsv.gz?usage=borg&limit=620",
        "16x8c16Gi",
        "yarn",
        range(2, 6),
    ),
)
LATER = (
    Plays("`gen:hour?case=nine`: 180 apps at once", "gen:hour?case=nine", "", "kubernetes", range(1, 4)),
    Plays("`gen:hour`, 4 nodes of 16 cores", "gen:hour", "4x16c64Gi", "kubernetes", (11, 12, 13, 15, 16, 17)),
    Plays(
        "FB-2009, first 250 jobs, 4 nodes of 8 cores",
        "FB-2009_samples_24_times_1hr_0.tsv.gz?usage=borg&limit=250",
        "4x8c16Gi",
        "kubernetes",
        (7, 8, 9, 12, 13),
    ),
)
EVERY = 10.0  # seconds between two later looks at one app


def play(plays: Plays, seed: int, traces: Path) -> Found:
    """One run, judged by what was told first; for a row of LATER, by what was told later."""
    generated = plays.workload.startswith("gen:")
    workload = load(plays.workload if generated else traces / plays.workload, seed=seed)
    machines = parse(plays.cluster or default_cluster(plays.workload))
    looks = plays in LATER
    played = run(workload, machines, "slackwater", seed=seed, world=plays.world, forecasts=True, reasons=looks)
    return _found(coverage(later(played, EVERY)) if looks else judged(played))


def _found(good: Coverage) -> Found:
    inside = round(good.inside * good.known) if good.known else 0
    return Found(good.known, inside, f"{good.error:.1f}", f"{good.wait:.1f}", good.unknown)


def runs(plays: Plays, found: Iterable[tuple[int, Found]]) -> str:
    """A row for each run."""
    head = [plays.name.partition(",")[0], "starts with an interval", "inside", "median error", "median wait"]
    rows = [
        [f"seed {seed}", str(one.known), str(one.inside), f"{one.error} s", f"{one.wait} s", str(one.unknown)]
        for seed, one in found
    ]
    return table([*head, "not known yet"], rows)


def summary(found: Sequence[tuple[Plays, Sequence[Found]]], head: Sequence[str] = HEAD) -> str:
    """A row for each workload."""
    return table(["workload", *head], [_row(plays, each) for plays, each in found])


def _row(plays: Plays, found: Sequence[Found]) -> list[str]:
    told = [one for one in found if one.known]  # of a run without any interval there is no error and no wait to tell
    known, inside = sum(one.known for one in told), sum(one.inside for one in told)
    shares = [one.inside / one.known for one in told]
    return [
        f"{plays.name}, {_seeds(plays.seeds)}",
        str(len(found)),
        str(known),
        f"{inside / known:.0%} ({min(shares):.0%} to {max(shares):.0%} by run)".replace("%", " %"),
        span(one.error for one in told),
        span(one.wait for one in told),
        str(sum(one.unknown for one in found)),
    ]


def _seeds(seeds: Sequence[int]) -> str:
    """The first and the last, and which between them were not played: something was chosen on those."""
    absent = [str(seed) for seed in range(seeds[0], seeds[-1]) if seed not in seeds]
    return f"seeds {seeds[0]} to {seeds[-1]}" + (f" without {' and '.join(absent)}" if absent else "")


def span(numbers: Iterable[str]) -> str:
    """From the least to the most, in whole seconds."""
    ordered = sorted(map(float, numbers))
    return f"{ordered[0]:.0f} to {ordered[-1]:.0f} s"


def tables(of: Callable[[Plays, int], Found]) -> dict[str, str]:
    """Every table that is played here."""
    found = [(plays, [of(plays, seed) for seed in plays.seeds]) for plays in PLAYS]
    made = {
        "starts": summary(found),
        "later": summary([(row, [of(row, seed) for seed in row.seeds]) for row in LATER], LOOKED),
    }
    for plays, each in found:
        made[f"runs-{plays.world}"] = runs(plays, zip(plays.seeds, each, strict=True))
    return made


def main() -> None:
    """Play, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    traces = parser.parse_args().traces

    def of(plays: Plays, seed: int) -> Found:
        sys.stderr.write(f"{plays.name}, seed {seed}\n")
        return play(plays, seed, traces)

    renew(PAGE, tables(of))


if __name__ == "__main__":
    main()
