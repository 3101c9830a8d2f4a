"""How long pods waited for a node, and when drivers held the cluster while none of their tasks could run.

A stall is a stretch of at least a minute in which some driver runs, no task of any app with a driver runs, and tasks
of such apps wait: the deadlock that paper 002 is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from slackwater_cluster import names
from slackwater_monitor.assessment.owners import Member
from slackwater_monitor.assessment.pods import Key, Pod, PodHistory

SHORTEST = 60.0  # seconds; shorter ones are the ordinary start of an app
LONG = 60.0  # a wait people notice


@dataclass(frozen=True, slots=True)
class Waits:
    """Waits of one role, in seconds from creation to a node."""

    pods: int
    median: float
    p95: float
    longest: float
    long: int  # waited more than a minute
    never: int  # found no node within the period


@dataclass(frozen=True, slots=True)
class Stall:
    """A stretch in which drivers waited for tasks that could not start. Unix seconds."""

    start: float
    end: float
    drivers: int
    waiting: int


def waits(census: PodHistory, members: Mapping[Key, Member], role: str, start: float) -> Waits:
    """Waits of the pods of one role that were created within the period."""
    pods = [pod for key, pod in census.pods.items() if members[key].role == role and pod.created >= start]
    found = np.array([pod.scheduled - pod.created for pod in pods if pod.scheduled >= pod.created])
    never = sum(1 for pod in pods if not pod.scheduled and pod.pending_until > pod.created)
    if not len(found):
        return Waits(0, 0.0, 0.0, 0.0, 0, never)
    median, p95 = np.quantile(found, (0.5, 0.95)).tolist()
    return Waits(len(found), median, p95, float(found.max()), int((found > LONG).sum()), never)


def stalls(census: PodHistory, members: Mapping[Key, Member], last: Mapping[Key, float]) -> list[Stall]:
    """Every stall of the period; `last` is when a pod was last seen running."""
    led = {(key[0], member.app) for key, member in members.items() if member.role == names.DRIVER}
    # (moment, drivers running, tasks running, tasks waiting)
    changes: list[tuple[float, int, int, int]] = []
    for key, pod in census.pods.items():
        member = members[key]
        if (key[0], member.app) in led and pod.created:
            changes.extend(_changes(pod, member.role == names.DRIVER, last.get(key, 0.0)))
    return list(_stretches(sorted(changes)))


def _changes(pod: Pod, driver: bool, last: float) -> Iterable[tuple[float, int, int, int]]:
    begun = pod.scheduled
    until = begun or pod.pending_until
    if not driver and until > pod.created:
        yield pod.created, 0, 0, 1
        yield until, 0, 0, -1
    ended = pod.completed or last
    if begun and ended > begun:
        yield begun, int(driver), int(not driver), 0
        yield ended, -int(driver), -int(not driver), 0


def _stretches(changes: list[tuple[float, int, int, int]]) -> Iterable[Stall]:
    drivers = tasks = waiting = 0
    since: float | None = None
    most = (0, 0)
    for number, (moment, driver, task, wait) in enumerate(changes):
        drivers, tasks, waiting = drivers + driver, tasks + task, waiting + wait
        if number + 1 < len(changes) and changes[number + 1][0] == moment:
            continue
        stuck = drivers > 0 and tasks == 0 and waiting > 0
        if stuck:
            since = moment if since is None else since
            most = (max(most[0], drivers), max(most[1], waiting))
        elif since is not None:
            if moment - since >= SHORTEST:
                yield Stall(since, moment, *most)
            since, most = None, (0, 0)
