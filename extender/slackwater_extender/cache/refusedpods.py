"""Refused pods, and when a node has room for one of them again.

A change in Prometheus is no event for kube-scheduler: a refused pod would wait up to five minutes. The operator asks
here which pods have room now and nominates exactly those (a nudge to the scheduler would wake all of them).
"""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Callable, Container
from dataclasses import dataclass

import numpy as np

from slackwater.placement.filter import fit_one
from slackwater.resources import places
from slackwater_cluster.objects.records import PodRecord
from slackwater_extender.cache import conversion
from slackwater_extender.cache.cache import ClusterCache

# Seconds for which a pod that was told is believed to be on its way; then it is told again.
PATIENCE = 30.0
KEPT = 4096  # wake-ups kept for a slow reader; pods of which it missed one are told again


@dataclass(frozen=True, slots=True)
class Refused:
    """A pod that found no node."""

    pod: PodRecord
    since: float  # Unix seconds, for people
    at: float  # the same by the monotonic clock
    reason: str


@dataclass(frozen=True, slots=True)
class WakeUp:
    """There is room for a refused pod now."""

    number: int
    uid: str
    namespace: str
    pod: str
    nodes: int  # how many would serve it


class Unschedulable:
    """Refused pods and numbered wake-ups."""

    def __init__(self, limit: int, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._limit, self._clock, self._wall = limit, clock, wall
        self._pods: dict[str, Refused] = {}
        self._told: dict[str, float] = {}  # woken, not refused again since: uid → when
        self._news: deque[WakeUp] = deque(maxlen=KEPT)
        self._number = 0
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._pods)

    def add(self, pod: PodRecord, reason: str) -> None:
        """A pod was refused everywhere."""
        with self._changed:
            if pod.uid not in self._pods and len(self._pods) >= self._limit:
                self._forget(next(iter(self._pods)))
            self._pods[pod.uid] = Refused(pod, self._wall(), self._clock(), reason)
            self._told.pop(pod.uid, None)

    def drop(self, uid: str) -> None:
        """It has a node, or is gone."""
        with self._changed:
            self._forget(uid)

    def keep(self, known: Container[str]) -> None:
        """All pods are known: forget those refused a while ago that are not among them, they went unseen."""
        with self._changed:
            late = self._clock() - PATIENCE
            for uid in [uid for uid, each in self._pods.items() if uid not in known and each.at < late]:
                self._forget(uid)

    def get(self, uid: str) -> Refused | None:
        """A refused pod."""
        return self._pods.get(uid)

    def review(self, cache: ClusterCache) -> int:
        """Look whether refused pods have room now; equal pods are judged together. Returns how many were woken."""
        groups: dict[tuple[object, ...], list[PodRecord]] = {}
        underway: Counter[tuple[object, ...]] = Counter()
        with self._changed:
            late = self._clock() - PATIENCE
            for uid, each in self._pods.items():
                shape = (each.pod.declared, each.pod.native, each.pod.constraints)
                if self._told.get(uid, -math.inf) > late:
                    underway[shape] += 1
                else:
                    groups.setdefault(shape, []).append(each.pod)
        return sum(self._review(cache, pods, underway[shape]) for shape, pods in groups.items())

    def _review(self, cache: ClusterCache, pods: list[PodRecord], underway: int) -> int:
        with cache.lock.background():
            table = cache.ledger.table(cache.clock())
            allowed = conversion.serving(pods[0], table, cache.allowed(pods[0].constraints, table))
            ask = conversion.ask(pods[0], table.kinds, driver=False, allowed=allowed)
            fit = fit_one(table, ask)
            # A node that fits holds one, however the division is rounded.
            room = float(np.maximum(places(table.room[fit.fits], ask.declared), 1.0).sum())
        nodes = int(fit.fits.sum())
        # Oldest first, and no more than would fit beside those told before: others would only be refused again.
        chosen = pods[: int(min(max(0.0, room - underway), len(pods)))]
        for pod in chosen:
            self._tell(pod, nodes)
        return len(chosen)

    def _tell(self, pod: PodRecord, nodes: int) -> None:
        with self._changed:
            if pod.uid in self._pods:
                self._number += 1
                self._told[pod.uid] = self._clock()
                self._news.append(WakeUp(self._number, pod.uid, pod.namespace, pod.name, nodes))
                self._changed.notify_all()

    def news(self, after: int, wait: float) -> tuple[int, list[WakeUp]]:
        """Wake-ups numbered above `after`, waiting some seconds for the first; and the number to ask from next.

        After a restart the count begins anew: who comes with a number that was not given out yet is told everything.
        """
        with self._changed:
            after = after if after <= self._number else 0
            self._changed.wait_for(lambda: self._number > after, timeout=wait)
            # Who has got a node since, or was refused again, is not told: its release would be taken for one in vain.
            return self._number, [each for each in self._news if each.number > after and each.uid in self._told]

    def _forget(self, uid: str) -> None:
        self._pods.pop(uid, None)
        self._told.pop(uid, None)
