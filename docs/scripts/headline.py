"""Plays the sweeps behind docs/simulator/headline.md and writes its tables anew.

    python docs/scripts/headline.py FOLDER_OF_THE_TRACES [--kept FOLDER]

`--kept` keeps each sweep's result as JSON; a result that is there already is not played again. About half an hour on
one core. Each table stands between two comments with its name; the sentences around it are written by hand.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from markdowntables import renew, table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "simulator" / "headline.md"
EXAMPLES = ROOT / "docs" / "examples"
Row = dict[str, Any]

MEASURES = {
    "mean completion, s": "mean_completion_s",
    "95th percentile of completion, s": "p95_completion_s",
    "mean wait of small jobs, s": "small_mean_wait_s",
    "mean completion of large jobs, s": "large_mean_completion_s",
    "makespan, s": "makespan_s",
    "CPU in use, %": "used_cpu",
    "containers that failed, per run": "failures",
    "jobs unfinished, per run": "unfinished",
}
NAMES = {
    "capacity": "Capacity",
    "capacity?calculator=dominant": "Capacity, Dominant",
    "fair": "Fair",
    "estimation": "000 alone",
    "kube": "kube-scheduler",
    "oracle": "oracle",
    "slackwater": "Slackwater",
}
ABLATION = {
    "slackwater": "**Slackwater whole**",
    "estimation": "000 alone (`estimation`)",
    "haste": "001 alone (`haste`)",
    "admission": "002 alone (`admission`, Fair behind it)",
    "slackwater?overcommit=false&admission=false&order=false": "004 alone (the gate with pools only)",
    "slackwater?overcommit=false": "without 000 (`overcommit=false`)",
    "slackwater?order=false": "without 001 (`order=false`)",
    "slackwater?admission=false": "without 002 (`admission=false`)",
    "slackwater?pools=false": "without 004 (`pools=false`)",
    "slackwater?known=false": "without [0005](../decisions/0005-known-apps.md) (`known=false`)",
}


def values(rows: Iterable[Row], policy: str, measure: str) -> list[float]:
    """One policy's numbers, seed by seed; use in percent; NaN for what never came to its end."""
    wanted = (row for row in rows if row["policy"] == policy)
    found = sorted((row["seed"], math.nan if row[measure] is None else float(row[measure])) for row in wanted)
    return [value * 100 if measure == "used_cpu" else value for _, value in found]


def spread(numbers: Sequence[float], measure: str) -> str:
    """Mean ± standard deviation."""
    form = ",.1f" if measure == "used_cpu" else ",.0f"
    return f"{fmean(numbers):{form}} ± {stdev(numbers):{form}}"


def policies(rows: Iterable[Row]) -> list[str]:
    """In the order of the sweep."""
    return list(dict.fromkeys(row["policy"] for row in rows))


def means(*groups: tuple[str, list[Row]]) -> str:
    """A column for each policy, named with the suffix of its group; a row for each measure."""
    columns = [(found, policy, suffix) for suffix, found in groups for policy in policies(found)]
    head = ["", *(NAMES[policy] + suffix for _, policy, suffix in columns)]
    body = [
        [name, *(spread(values(found, policy, measure), measure) for found, policy, _ in columns)]
        for name, measure in MEASURES.items()
    ]
    return table(head, body)


def by_seed(rows: list[Row], measures: Sequence[tuple[str, str, Sequence[str]]], against: str) -> str:
    """A column for each seed and one for the mean; after the first measure, Slackwater against another."""
    seeds = sorted({row["seed"] for row in rows})
    body = []
    for turn, (name, measure, wanted) in enumerate(measures):
        for place, policy in enumerate(wanted):
            found = values(rows, policy, measure)
            title = f"{name}, {NAMES[policy]}" if place == 0 else NAMES[policy]
            body.append([title, *map(number, (*found, fmean(found)))])
        if turn == 0:
            body.append(_against(rows, measure, against))
    return table(["seed", *map(str, seeds), "mean"], body)


def _against(rows: list[Row], measure: str, other: str) -> list[str]:
    ours, theirs = values(rows, "slackwater", measure), values(rows, other, measure)
    shares = [_share(a / b - 1, 1) for a, b in zip(ours, theirs, strict=True)]
    return [f"Slackwater against {NAMES[other]}", *shares, _share(fmean(ours) / fmean(theirs) - 1, 2)]


def number(value: float) -> str:
    """Whole seconds or percent."""
    return "never" if math.isnan(value) else f"{value:,.0f}"


def _share(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value * 100:+.{digits}f} %".replace("-", "−")


def ablation(rows: list[Row]) -> str:
    """A row for each policy."""
    wanted = [
        *("mean_completion_s", "p95_completion_s", "small_mean_wait_s", "large_mean_completion_s", "makespan_s"),
        *("failures", "unfinished"),
    ]
    head = ["", "mean, s", "p95, s", "small wait, s", "large, s", "makespan, s", "failed", "unfinished"]
    named = {**NAMES, **ABLATION}
    body = [
        [named.get(policy, f"`{policy.partition('?')[2]}`"), *(spread(values(rows, policy, m), m) for m in wanted)]
        for policy in policies(rows)
    ]
    return table(head, body)


def frontier(rows: list[Row]) -> str:
    """A row for each policy, the earliest end first. Who is beaten in both measures is not on the frontier."""
    found = {
        p: (fmean(values(rows, p, "makespan_s")), fmean(values(rows, p, "small_mean_wait_s"))) for p in policies(rows)
    }
    body = []
    for policy, (end, wait) in sorted(found.items(), key=lambda item: item[1]):
        beaten = any(e < end and w < wait for e, w in found.values())
        more = [fmean(values(rows, policy, m)) for m in ("mean_completion_s", "used_cpu")]
        name = NAMES.get(policy, f"Slackwater, `{policy.partition('?')[2]}`")
        body.append([name, *map(number, (end, wait, more[0])), f"{more[1]:.1f}", "no" if beaten else "**yes**"])
    return table(
        ["", "makespan, s", "wait of small jobs, s", "mean completion, s", "CPU in use, %", "on the frontier"], body
    )


def tables(of: Callable[[str], list[Row]]) -> dict[str, str]:
    """Every table of the page."""
    stock = ["kube", "oracle", "slackwater"]
    apart = ["capacity", "estimation", "slackwater"]
    hours = [("makespan, s", "makespan_s", stock), ("mean completion, s", "mean_completion_s", stock)]
    hours.append(("CPU in use, %", "used_cpu", stock))
    ten = [("makespan, s", "makespan_s", apart), ("wait of small jobs, s", "small_mean_wait_s", apart)]
    ten += [("mean completion, s", "mean_completion_s", apart), ("CPU in use, %", "used_cpu", apart)]
    return {
        "hour": by_seed(of("hour"), hours, "kube"),
        "hour-180": by_seed(of("hour-180"), hours, "kube"),
        "headline": means(("", of("headline"))),
        "headline-ten": by_seed(of("headline-ten"), ten, "capacity"),
        "frontier": frontier(of("frontier")),
        "holdout": means(("", of("holdout"))),
        "pods": means((", early", of("headline-kubernetes")), (", late", of("headline-kubernetes-late"))),
        "ablation": ablation(of("ablation")),
    }


def played(traces: Path, kept: Path) -> Callable[[str], list[Row]]:
    """Gives a sweep's result, played where it is not kept."""
    kept.mkdir(parents=True, exist_ok=True)

    def result(name: str) -> list[Row]:
        path = kept / f"{name}.json"
        if not path.is_file() or not path.stat().st_size:
            program = Path(sys.executable).with_name("slackwater")
            sys.stderr.write(f"playing {name}\n")
            command = [str(program), "sweep", str(EXAMPLES / f"{name}.yaml"), "-o", "json"]
            made = subprocess.run(command, cwd=traces, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own
            path.write_bytes(made.stdout)
        rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
        return rows

    return result


def main() -> None:
    """Play what is not kept, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--kept", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as empty:
        of = played(asked.traces, asked.kept or Path(empty))
        renew(PAGE, tables(of))


if __name__ == "__main__":
    main()
