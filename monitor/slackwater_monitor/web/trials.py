"""The what-if form: a trace of a folder, or the workload on show, played under chosen policies while one waits."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

from werkzeug.datastructures import MultiDict

from slackwater.errors import BadNumber, InvalidInput, SlackwaterError, Unavailable, UnknownName
from slackwater_monitor.export import Happened
from slackwater_monitor.whatif import ALIASES, DEFAULT, Comparison, compare, opened
from slackwater_simulator.policies.registry import POLICIES, policies
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.workload.cluster import Cluster
from slackwater_simulator.workload.readers.formats import OURS
from slackwater_simulator.workload.workload import Workload

# A page should be there within seconds: larger traces belong to `slackwater what-if` on the command line.
MOST_TASKS = 5000
MOST_POLICIES = 4
REMEMBERED = 16
LINE = 2  # who plays and who waits; each of them keeps a thread of the monitor busy
SHOWN = "the workload on show"
CHOICES = ("kube", "slackwater", "capacity", "fair", "fifo", "drf")

Trial = tuple[str, tuple[str, ...], float, str]  # trace, policies, load, and the policy that was in force
Key = tuple[int, Trial]  # the play on show is known by its id


class Trials:
    """Plays one trial at a time, lets one more wait, and remembers the last ones."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._known: OrderedDict[Key, Comparison] = OrderedDict()
        self._lock = threading.Lock()
        self._line = threading.BoundedSemaphore(LINE)

    def traces(self, shown: Outcome | None = None) -> list[str]:
        """What can be played beside the play on show."""
        found = (
            sorted(path.name for path in self._folder.glob("*") if path.name.endswith(tuple(OURS)))
            if self._folder
            else []
        )
        return ([SHOWN] if shown is not None else []) + found

    def page(self, asked: MultiDict[str, str], shown: Outcome | None = None) -> dict[str, Any]:
        """Values for the template: the form as it was filled in, and the answer if something was asked."""
        described = policies()
        chosen = [name for name in asked.getlist("policy") if name] or list(DEFAULT)
        values: dict[str, Any] = {
            "traces": self.traces(shown),
            "choices": [(name, described[name]) for name in CHOICES if name in described],
            "chosen": chosen,
            "trace": asked.get("trace", ""),
            "load": asked.get("load", "1"),
            "was": asked.get("was", "kube"),
            "result": None,
            "refusal": "",
        }
        if asked.get("trace"):
            try:
                trial = asked["trace"], tuple(chosen), _load(values["load"]), values["was"]
                values["result"] = self.play(trial, shown)
            except SlackwaterError as problem:
                values["refusal"] = str(problem)
        return values

    def play(self, trial: Trial, shown: Outcome | None = None) -> Comparison:
        """One trial, from memory where it was played before."""
        trace, chosen, _, was = trial
        if len(chosen) > MOST_POLICIES:
            raise InvalidInput("policy", f"{len(chosen)} are chosen", f"choose at most {MOST_POLICIES}")
        for name in (*chosen, was):  # only ours: a visitor loads no module, and no option makes a trial take longer
            if name not in (*POLICIES, *ALIASES):
                raise UnknownName("policy", name, (*POLICIES, *ALIASES))
        if trace not in self.traces(shown):
            raise UnknownName("trace", trace, self.traces(shown))
        if (known := self._known.get(_key(trial, shown))) is not None:
            return known
        if not self._line.acquire(blocking=False):
            raise Unavailable("a trial is played and another one waits; ask again in a moment")
        try:
            with self._lock:
                return self._played(trial, shown)
        finally:
            self._line.release()

    def _played(self, trial: Trial, shown: Outcome | None) -> Comparison:
        key = _key(trial, shown)
        if key not in self._known:
            self._known[key] = self._compare(trial, shown)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return self._known[key]

    def _compare(self, trial: Trial, shown: Outcome | None) -> Comparison:
        trace, chosen, load, was = trial
        workload, machines, happened = self._opened(trace, shown)
        tasks = sum(job.tasks for job in workload.jobs)
        if tasks > MOST_TASKS:
            raise InvalidInput(
                "trace", f"{trace} has {tasks:,} tasks, a page plays {MOST_TASKS:,}", "use slackwater what-if instead"
            )
        if load != 1:
            jobs = tuple(replace(job, submit=job.submit / load) for job in workload.jobs)
            workload, happened = replace(workload, jobs=jobs), []
        return compare(workload, machines, chosen, happened=happened, was=was)

    def _opened(self, trace: str, shown: Outcome | None) -> tuple[Workload, Cluster, list[Happened]]:
        if trace == SHOWN and shown is not None:
            return shown.workload, shown.cluster, []
        if self._folder is None:
            raise UnknownName("trace", trace, ())
        try:
            return opened(self._folder / trace, None)
        except ModuleNotFoundError as missing:
            problem = f"{trace} cannot be read without {missing.name}, which is not installed here"
            raise InvalidInput("trace", problem, "export it again, as .jsonl.gz") from missing


def _key(trial: Trial, shown: Outcome | None) -> Key:
    """What is on show matters only to trials of it."""
    return id(shown) if trial[0] == SHOWN else 0, trial


def _load(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.1 <= value <= 10:
        raise BadNumber("load", text, "give a number from 0.1 to 10")
    return value
