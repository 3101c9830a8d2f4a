"""`python -m support.soak` (with tests/ on the path): six days of churn in process; started again it goes on.

After each hour the state of the cluster is written down. A soak that goes on begins with new programs, as after a
restart of both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import pickle
import sys
import time
from pathlib import Path

from support.logs import quietly
from support.search.campaign import ROOT, digest
from support.soak.cluster import SoakCluster
from support.soak.sizes import grown, largest
from support.soak.soak import Report, Soak

DAY = 24  # reports, one an hour


def main() -> int:
    """The command; 1 where something drifts, or grows after the first day."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=144.0)
    parser.add_argument("--rate", type=float, default=1000.0, help="apps an hour, on average")
    parser.add_argument("--restarts", type=int, default=10, help="a day, of operator and extender in turn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=ROOT / ".soak")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    kept = asked.folder / f"{digest()}-{asked.rate:g}-{asked.restarts}-{asked.seed}.pickle"
    cluster = SoakCluster(asked.rate, asked.seed)
    if kept.exists():
        cluster = pickle.loads(kept.read_bytes())  # our own file
        _say(f"goes on at hour {cluster.hour:.1f}")
    loop, reports = asyncio.new_event_loop(), list[Report]()
    with quietly():
        soak = Soak(cluster, loop, asked.restarts)
        for report in soak.play(asked.hours - cluster.hour):
            reports.append(report)
            _note(report, kept.with_suffix(".jsonl"))
            kept.write_bytes(pickle.dumps(cluster))
    return _judge(reports)


def _note(report: Report, path: Path) -> None:
    _say(f"{time.process_time():.0f} s of CPU, {report}")
    with path.open("a", encoding="utf-8") as book:
        book.write(json.dumps({**vars(report), "cpu": time.process_time()}) + "\n")


def _judge(reports: list[Report]) -> int:
    """Each day has the same load: what is larger by a quarter at its largest than on the second day has grown."""
    found = [f"hour {report.hours:.0f}: {each}" for report in reports for each in report.drift]
    second, *later = [reports[start : start + DAY] for start in range(DAY, len(reports) - DAY + 1, DAY)] or [[]]
    for number, day in enumerate(later, 3):
        found += [
            f"day {number}: {each}"
            for each in grown(largest(each.sizes for each in second), largest(each.sizes for each in day))
        ]
        found += [
            f"day {number}: {each}"
            for each in grown(largest(each.objects for each in second), largest(each.objects for each in day))
        ]
    for each in found[:20]:
        _say(each)
    _say(f"{len(reports)} hours, {len(found)} findings")
    return int(bool(found))


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
