"""Writes docs/league.md anew from what `python -m slackwater_lab league` has kept: tables, figures, set-up, caveats.

    python docs/scripts/league.py FOLDER_OF_RESULTS [--note 'one round on a busy machine, not a result']

The lines it was written from are copied to docs/league.jsonl, so that everybody can count again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from markdowntables import table
from slackwater_lab.league.rounds import results
from slackwater_lab.league.workloads import CORES, NODE_MEMORY, WORKLOADS
from slackwater_lab.peers.catalogue import PEERS, UNTRIED
from slackwater_simulator.charts.matplot import draw
from slackwater_simulator.charts.plots import Plot, PlotCurve

DOCS = Path(__file__).parents[1]
NEVER = "–"
Line = dict[str, Any]
# What a row of a table shows: a figure by its name, in so many digits.
ROWS = {
    "makespan, s": ("makespan", 1),
    "completion, mean, s": ("completion_mean", 1),
    "completion, p50, s": ("completion_p50", 1),
    "completion, p95, s": ("completion_p95", 1),
    "wait for the first task, mean, s": ("wait_mean", 1),
    "wait for the first task, p50, s": ("wait_p50", 1),
    "wait for the first task, p95, s": ("wait_p95", 1),
    "pod created to bound, p50, s": ("pod_wait_p50", 2),
    "pod created to bound, p95, s": ("pod_wait_p95", 2),
    "freed slot to next binding, p50, s": ("empty_slot_p50", 2),
    "freed slot to next binding, p95, s": ("empty_slot_p95", 2),
    "node-seconds over capacity": ("node_seconds_over", 1),
    "pods created": ("pods", 0),
    "bindings a second, busiest 10 s": ("binds_per_second", 1),
    "API requests per pod": ("requests_per_pod", 1),
    "API server's answer, p95, s": ("answer_p95", 3),
}
CONTROL = ("etcd", "apiserver", "controller-manager", "kwok")  # every lab has them
# Student's t for a two-sided interval of 95 %, by the number of paired rounds (one more than the degrees of freedom).
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
OURS, THEIRS = "slackwater", "stock"
BARS = {"mean completion": "completion_mean", "completion, p95": "completion_p95", "makespan": "makespan"}


def told(values: Sequence[float | None], digits: int) -> str:
    """The median of the rounds, with the range where there are several; a round in which it never came is a dash."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return NEVER
    middle = f"{median(known):,.{digits}f}"
    return middle if len(known) == 1 else f"{middle} ({min(known):,.{digits}f} to {max(known):,.{digits}f})"


def of_workload(lines: Sequence[Line]) -> str:
    """The table of one workload: a column for each scheduler, a row for each figure."""
    names = schedulers(lines)
    columns = [_figures(lines, name) for name in names]

    def row(name: str, tell: Callable[[list[Line]], str]) -> list[str]:
        return [name, *(tell(column) for column in columns)]

    rows = [row("jobs finished", _finished)]
    known = {key: shown for key, shown in ROWS.items() if any(shown[0] in f for column in columns for f in column)}
    for name, (key, digits) in known.items():
        rows.append(row(name, partial(_told_of, key, digits)))
    rows.insert(8, row("CPU in use, %", lambda column: told([100 * f["cpu_used"] for f in column], 1)))
    rows += [
        row("CPU of the control plane, ms per pod", lambda c: told([_sum(f["cpu_ms_per_pod"], CONTROL) for f in c], 1)),
        row("CPU of everything else, ms per pod", lambda c: told([_rest(f["cpu_ms_per_pod"]) for f in c], 1)),
        row("memory of everything else, MiB", lambda c: told([_rest(f["memory_mib"]) for f in c], 0)),
        row("load average of the machine", lambda c: told([f["load"] for f in c], 1)),
    ]
    for number, job in enumerate(columns[0][0]["watched"]):
        for key in ("wait", "completion", "spread"):
            what = {"wait": "wait", "completion": "completion", "spread": "first start to last start"}[key]
            rows.append(row(f"{job['id']}: {what}, s", partial(_told_of_watched, number, key)))
    return table(["", *names], rows)


def _told_of(key: str, digits: int, column: list[Line]) -> str:
    return told([each.get(key) for each in column], digits)


def _told_of_watched(number: int, key: str, column: list[Line]) -> str:
    return told([each["watched"][number][key] for each in column], 1)


def schedulers(lines: Sequence[Line]) -> list[str]:
    """Those that have played, in the order of the catalogue."""
    there = {line["turn"]["scheduler"] for line in lines}
    return [name for name in PEERS if name in there]


def glance(lines: Sequence[Line]) -> str:
    """For each workload: who was first, and ours against the stock scheduler, round by round."""
    rows = [
        [title, label, _first(group, key), _against(group, key)]
        for (name, size), group in groups(lines).items()
        for title in [_title(name, size)]
        for label, key in BARS.items()
    ]
    head = ["workload", "measure", "shortest (median of the rounds)", "Slackwater beside stock, of the same round"]
    return "## At a glance\n\n" + table(head, rows) + "\n\n" + READING


def _first(lines: Sequence[Line], key: str) -> str:
    """The shortest among those under which every job of every round finished."""
    whole = [name for name in schedulers(lines) if _whole(lines, name)]
    found = [(median(value for value in _column(lines, name, key) if value is not None), name) for name in whole]
    if not found:
        return NEVER
    seconds, best = min(found)
    return f"{best}, {seconds:,.1f} s"


def _whole(lines: Sequence[Line], name: str) -> bool:
    return all(f["finished"] == f["jobs"] for f in _figures(lines, name))


def _against(lines: Sequence[Line], key: str) -> str:
    """The mean of (ours - theirs) / theirs over the rounds that both played, with its interval of 95 %."""
    if not (_whole(lines, OURS) and _whole(lines, THEIRS)):
        return f"{_finished(_figures(lines, OURS))} jobs finished; stock: {_finished(_figures(lines, THEIRS))}"
    ours, theirs = (
        {line["turn"]["round"]: line["figures"][key] for line in lines if line["turn"]["scheduler"] == name}
        for name in (OURS, THEIRS)
    )
    return paired([100 * (ours[n] / theirs[n] - 1) for n in sorted(ours.keys() & theirs.keys())])


def paired(differences: Sequence[float]) -> str:
    """A mean of differences in percent: mean ± t s / √n, where there are at least two."""
    if not differences:
        return NEVER
    middle, count = fmean(differences), len(differences)
    if count == 1:
        return f"{middle:+.1f} %"
    half = STUDENT[min(count, max(STUDENT))] * stdev(differences) / count**0.5
    return f"{middle:+.1f} % ({middle - half:+.1f} to {middle + half:+.1f})"


def _figures(lines: Sequence[Line], name: str) -> list[Line]:
    return [line["figures"] for line in lines if line["turn"]["scheduler"] == name]


def _column(lines: Sequence[Line], name: str, key: str) -> list[float | None]:
    return [figures[key] for figures in _figures(lines, name)]


def figure(name: str, lines: Sequence[Line]) -> str:
    """Bars for each scheduler; what never came has none."""
    names = schedulers(lines)

    def value(scheduler: str, key: str) -> float:
        values = [value for value in _column(lines, scheduler, key) if value is not None]
        return float(median(values)) if len(values) == len(_figures(lines, scheduler)) else 0.0

    curves = tuple(
        PlotCurve(label, tuple(names), tuple(value(each, key) for each in names)) for label, key in BARS.items()
    )
    return draw(Plot(f"league-{name}", name, "", "seconds", curves))


def details(lines: Sequence[Line]) -> str:
    """CPU and requests of each component, per pod."""
    names = schedulers(lines)
    out = []
    for title, key in (("CPU, ms per pod", "cpu_ms_per_pod"), ("API requests per pod", "requests")):
        found = {n: [figures[key] for figures in _figures(lines, n)] for n in names}
        parts = sorted({part for column in found.values() for each in column for part in each})
        rows = [
            [p, *(told([each.get(p, 0.0) for each in found[n]], 1) if p in found[n][0] else "" for n in names)]
            for p in parts
        ]
        out.append(table([title, *names], rows))
    return "\n\n".join(out)


def section(name: str, size: float, lines: Sequence[Line]) -> str:
    """Everything about one workload."""
    jobs, rounds = lines[0]["jobs"], len({line["turn"]["round"] for line in lines})
    cluster = f"{jobs['nodes']} nodes of {CORES:g} CPUs and {NODE_MEMORY / 2**30:g} GiB"
    count = f"{jobs['count']} jobs, {jobs['pods']} pods, {cluster}; {rounds} round{'s' if rounds > 1 else ''}."
    return "\n\n".join(
        [
            f"## {_title(name, size)}",
            f"{jobs['about']} {count}",
            f"![Completion and makespan of {name} under each scheduler](pictures/league-{name}.svg)",
            of_workload(lines),
        ]
    )


def _title(name: str, size: float) -> str:
    return f"{name}, {size:g} of its size" if name in WORKLOADS and size != 1.0 else name


def components(lines: Sequence[Line]) -> str:
    """What each program costs, workload by workload."""
    parts = [f"### {_title(name, size)}\n\n{details(group)}" for (name, size), group in groups(lines).items()]
    return "\n\n".join(["## What each component costs", *parts])


def groups(lines: Iterable[Line]) -> dict[tuple[str, float], list[Line]]:
    """The lines of each workload and size."""
    found: dict[tuple[str, float], list[Line]] = {}
    for line in lines:
        name = Path(line["turn"]["workload"]).name.partition(".")[0]
        found.setdefault((name, line["turn"]["size"]), []).append(line)
    return found


def page(lines: Sequence[Line], note: str) -> str:
    """The whole page."""
    sections = [section(name, size, group) for (name, size), group in groups(lines).items()]
    return (
        "\n\n".join([_head(lines, note), glance(lines), *sections, FOUND, _setup(lines), HOW, components(lines)]) + "\n"
    )


def _head(lines: Sequence[Line], note: str) -> str:
    machine = lines[0]["machine"]
    days = " and ".join(sorted({line["when"][:10] for line in lines}))
    loads = [line["figures"]["load"] for line in lines]
    where = f"{machine['cores']} cores ({machine['cpu']}), {machine['memory_gib']} GiB, {machine['system']}"
    warning = f"> **{note}**\n\n" if note else ""
    return f"""# The league

The same jobs under several schedulers, one after the other, each in a fresh control plane on the same machine, with
simulated nodes. Played by `make league`; written by `docs/scripts/league.py` from [league.jsonl](league.jsonl).

{warning}Machine: {where}; {days}; load average {min(loads):g} to {max(loads):g}.

A dash means: not in every round. Of several rounds the median is shown, and the range from the lowest to the highest.
Means and percentiles are of the jobs that finished, so look at their number first."""


def _setup(lines: Sequence[Line]) -> str:
    versions = {line["turn"]["scheduler"]: line["version"] for line in lines}
    rows = [[name, versions[name], PEERS[name].told, " ".join(PEERS[name].about.split())] for name in schedulers(lines)]
    waiting = [name for name in UNTRIED if name not in versions]
    later = f"\n\nWritten from their documentation, and not yet played: {', '.join(waiting)}." if waiting else ""
    head = ["scheduler", "what plays", "what it is told about jobs", "set-up"]
    return "## Set-up of each\n\n" + table(head, rows) + later + ABSENT


READING = """The last column is the mean over rounds of the difference in percent, with its interval of 95 % by
Student's t; a negative number says that Slackwater was faster. An interval that holds 0 shows no difference."""

ABSENT = """ Not written yet: Koordinator (its module v1.7.0 is served by Go's proxy), KAI (v0.12.0 is), kueue with Jobs
(a job's driver here asks for bare pods). Each program builds in 1 to 13 minutes, on the same machine."""

FOUND = """## What was looked into

- **drivers**: under stock no job finished (with kueue's plain pods none did either, in an earlier play). The
  drivers hold every core, and nobody tells these two that tasks will come. The four others are told, and finished
  all. Slackwater is ahead of them because it counts what pods use: drivers use a tenth of their request.
- **slack**: what requests leave is full for the stock scheduler at 26 % of use, and nobody who believes requests
  can end before 129 s. Trimaran chooses nodes by use, not how much goes in, so it cannot gain here.
- **full**: nothing is to be gained. On average a job ended sooner under Slackwater, and the last one 2.5 s later.
  Why the mean is better was not looked into; the order of the gate, first come first served, may be it. A freed
  slot waits a quarter of a second for a pod that is behind our gate: 17 pods a second come and go, each with five
  writes instead of three, on two cores that everything shares.
- **stream**: the same in the extreme: what one pod costs decides. Slackwater binds half as many pods a second as
  the stock scheduler and twice as many as kueue. In clusters of 100 nodes or more new tasks would come without our
  gate while nobody waits ([decision 0027](decisions/0027-open-gate.md)); here there are six.
- **kueue, plain pods**: its source (0.19) has workloads that did not fit looked at again at most once a second,
  which agrees with the medians of 1.4 to 2 s for which a freed slot stays empty.
- **kueue, pod groups, and volcano**: the next job is admitted as a whole, so freed slots wait until all of it fits.
  That is what keeps drivers from filling the cluster. We take it for the cause of the empty slots; it was not
  looked into further.
- **volcano** needs the definitions of its JobFlow, too: without them its controllers stay silent, its queue never
  opens, and no pod is scheduled.
- **gang**: all members start within 0.2 to 1.1 s of each other, under Slackwater within 1.1 s. Its gang starts
  sooner than the others', as the small jobs before it end sooner.
- **urgent**: the stock scheduler ends pods of low priority for the urgent job and they are made again (see "pods
  created"). Slackwater ends nobody for priority: the urgent job gets the next cores that come free."""

HOW = """## How it is measured

- Every moment is taken from the API server's audit log: a pod is created when its request arrives, bound when its
  binding is answered, runs and ends when the status that says so is answered. Jobs count from when they were due.
- A task's CPU use is what its annotation says. Simulated nodes do not slow down when they are too full: "node-seconds
  over capacity" tells how long that would have happened.
- CPU time and memory are read from the system for each process of the lab. All of them share the machine.
- "Freed slot to next binding" is the time from a pod's end to the next binding on its node, while pods wait, and only
  where the requests on that node leave room for one of them: on a node whose pods ask for more than it has, the end of
  one frees no slot yet.
- Where the API server's answers take seconds, the machine was too busy, and everything that depends on it waited too:
  such a play says little.
- A play in which no pod is created, started or ended for 90 s is stopped.
- Schedulers take turns within a workload, and every second round goes the other way round. All schedulers of a round
  get the same jobs; the next round has the next seed.

## How to challenge it

`make league` plays everything three times; `WORKLOADS`, `SCHEDULERS`, `ROUNDS` and `SIZE` make it less.
`python -m slackwater_lab league --logs` keeps every log of every lab. The set-up of a scheduler is one module in
`lab/slackwater_lab/peers/`, a workload is one function in `lab/slackwater_lab/league/workloads.py`. If a scheduler
could do better with another set-up, change its module and send both results."""


def _finished(column: Sequence[Line]) -> str:
    return ", ".join(f"{figures['finished']} of {figures['jobs']}" for figures in column)


def _sum(values: dict[str, float], names: Sequence[str]) -> float:
    return sum(values.get(name, 0.0) for name in names)


def _rest(values: dict[str, float]) -> float:
    return sum(values.values()) - _sum(values, CONTROL)


def main() -> None:
    """Read, write the page, its figures and its lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--note", default="", help="a sentence that stands above everything")
    asked = parser.parse_args()
    lines = results(asked.results)
    (DOCS / "league.md").write_text(page(lines, asked.note))
    for (name, _), group in groups(lines).items():
        (DOCS / "pictures" / f"league-{name}.svg").write_text(figure(name, group))
    (DOCS / "league.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
