"""The tables of many apps of mixed frameworks at once, for docs/reference/frameworks.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BEGIN = "<!-- written by tests/frameworks/test_mixed.py -->\n"
END = "<!-- end of what tests/frameworks/test_mixed.py wrote -->\n"
NAMES = {"slackwater": "Slackwater, the chart's defaults in mode `enforce`", "stock": "The stock scheduler alone"}
HEAD = """
## Many at once

Written by `.venv/bin/python -m pytest -q -p no:randomly -m frameworks tests/frameworks/test_mixed.py`
(`SLACKWATER_MIXED_APPS` plays another number of apps). All apps are submitted at once, to simulated nodes that hold
fewer cores than the drivers alone request. Pods are those that the real controllers wrote in the runs above, each app
with a name, ids and owners of its own. The work is played: a driver's tasks are created 2 s after it began to run, each
runs for 10 s, and the driver ends after its last task. KubeRay and Dask's operator create workers together with the
head; here they come after it, as Spark's executors do. Pods use 30 % (drivers) or 60 % (tasks) of what they declare.
An app waits until its first task runs. A pod is let go when its gate is taken away, with the stock scheduler alone when
it is bound. Seconds count from the submission, on a machine with two real cores that had much other work: the rates are
its own. A play is cut off at its limit, and given up when nothing moved for minutes; a dash stands where an app had not
ended by then, or where more than one app in twenty had no task that ran.
"""
NAMED = "| Recording | Apps | Finished | Pods let go | Per second | Wait, p95, s | Last ended, s |\n"
COLUMNS = f"{NAMED}|---|---|---|---|---|---|---|\n"


def page(before: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """The page with these tables in the place of the last ones."""
    own, _, rest = before.partition(BEGIN)
    rest = rest.partition(END)[2]
    tables = "".join(_table(known[key]) for key in sorted(known, key=_order))
    return f"{own.rstrip(chr(10))}\n\n{BEGIN}{HEAD}{tables}\n{END}{rest}"


def _order(key: str) -> tuple[int, str, str]:
    """More apps first, Slackwater before stock."""
    apps, world, scrape = key.split()
    return -int(apps), world, scrape


def _table(played: Mapping[str, Any]) -> str:
    lines = "".join(_line(line) for line in played["lines"])
    where = f"{played['nodes']} nodes of {played['cores']} cores"
    scrape = (
        f"a scrape every {played['scrape']}, " if played["world"] == "slackwater" else ""
    )  # stock has no Prometheus
    how = f"{scrape}a limit of {played['limit']:,.0f} s, {played['day']}"
    return f"\n**{NAMES[played['world']]}**, {where}, {how}:\n\n{COLUMNS}{lines}"


def _line(line: Mapping[str, Any]) -> str:
    cells = [line["recording"], f"{line['apps']:,}", f"{line['finished']:,}", f"{line['pods']:,}"]
    cells += [_number(line[key]) for key in ("rate", "wait", "makespan")]
    return f"| {' | '.join(cells)} |\n"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"
