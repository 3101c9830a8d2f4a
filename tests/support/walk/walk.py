"""A walk: one change after another under load, and after each the same state as a fresh start with the same objects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from slackwater_cluster import names
from slackwater_cluster.governance import Governance
from support.search.plan import AppPlan
from support.walk.programs import PLAN, Pair, Store, arrive
from support.walk.states import differences, state
from support.walk.values import Value

CONFIGURED = ("SlackPolicy", "AdmissionQueue", "ReservationPool")  # what an administrator writes
# What the operator alone should write: kinds and their parts.
WRITTEN = (*((kind, "status") for kind in CONFIGURED), ("TrackedApp", "status"), ("TrackedApp", "spec"))
MOST_ROUNDS = 30  # until nothing moves
PATIENCE = 6.0  # seconds
PODS = 6  # of each app
GONE = "team-a/gone"  # the TrackedApp of an app that has no pods any more
BASE: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("SlackPolicy", "default"): {"mode": "enforce"},
    # No pods for nodes to come: a fresh start does not know of a pod on its way that it was meant for those.
    ("AdmissionQueue", "default"): {"growthPods": 0},
    ("ReservationPool", "default"): {"queue": "default"},
}


class Difference(AssertionError):  # noqa: N818 - a finding, not a mistake
    """The running programs are not where a fresh start would be, or took what they should refuse."""


class Walk:
    """One cluster under one pair of programs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.store, self.loop, self.made = Store(), loop, 0
        for (kind, name), spec in BASE.items():
            self.store.apply(kind, name, spec=dict(spec))
        self.running = Pair(self.store, loop)
        self.running.join()
        self.load()
        self.settle()

    # -- what happens by itself ---------------------------------------------------------------------------------------

    def load(self) -> None:
        """Work ends and work comes: one running pod of each app is over, and each has as many pods as before."""
        for app in PLAN.apps:
            mine = [pod for pod in self.store.pods.values() if pod.namespace == app.namespace]
            for pod in [pod for pod in mine if pod.node][:1]:
                self.store.delete(pod)
                mine.remove(pod)
            for _ in range(PODS - len(mine)):
                self._arrive(app)

    def _arrive(self, app: AppPlan) -> None:
        self.made += 1
        role = names.DRIVER if self.made % PODS == 1 else names.TASK
        arrive(self.running, f"{role}-{self.made}", app, role)

    def settle(self) -> None:
        """Rounds until nothing moves, also after the time that opting out and vain tries are waited for."""
        self._rounds()
        self.store.now += PATIENCE
        self._rounds()
        self.store.now += PATIENCE

    def _rounds(self) -> None:
        quiet = 0
        for _ in range(MOST_ROUNDS):
            before = self.store.moves
            self.running.step()
            quiet = quiet + 1 if self.store.moves == before else 0
            if quiet == 2:
                return

    def go(self, what: str) -> None:
        """After a change: go on under load until all is quiet, and compare with a fresh start."""
        self.load()
        self.settle()
        self.check(what)

    def check(self, what: str) -> None:
        """Compare with a fresh start."""
        found = list(differences(state(self.running), state(Pair(self.store, self.loop))))
        if found:
            raise Difference(f"after {what}: " + "; ".join(found[:5]))

    # -- values of fields ---------------------------------------------------------------------------------------------

    def allow(self, kind: str, *values: Value) -> None:
        """Write an object with values that its definition allows; both programs follow."""
        body = dict(BASE[kind, "default"])
        for each in values:
            body = each.into(body)
        self.store.apply(kind, "default", spec=body)
        for known in self._known():
            if problem := known.broken.get((kind, "default")):
                raise Difference(f"{', '.join(map(str, values))} is allowed, and set aside: {problem}")

    def refuse(self, kind: str, value: Value) -> None:
        """Write an object that its definition refuses: both keep the last good one, until a good one is written."""
        good = self.store.customs[kind, "default"]
        before = [known.tables[kind].specs["default"] for known in self._known()]
        self.store.apply(kind, "default", spec=value.into(good.spec))
        broken = [(kind, "default") in known.broken for known in self._known()]
        kept = [known.tables[kind].specs["default"] for known in self._known()]
        # JSON's true is 1 to whoever reads a number; the API server lets it through nowhere.
        if not all(broken) and "True" not in str(value.value):
            raise Difference(f"{value} is not allowed, and taken: by {broken}")
        if all(broken) and kept != before:
            raise Difference(f"{value} is not allowed, and changed what was in force")
        self.store.apply(kind, "default", spec=good.spec)

    def start_with(self, kind: str, value: Value) -> None:
        """A fresh start that finds a refused object decides without it, and stumbles over nothing."""
        good = self.store.customs[kind, "default"]
        bad = msgspec.structs.replace(good, spec=value.into(good.spec))
        self.store.customs[kind, "default"] = bad
        state(Pair(self.store, self.loop))
        self.store.customs[kind, "default"] = good

    def write(self, kind: str, part: str, value: Value) -> None:
        """Write what the operator alone should write: nothing stumbles, neither those who watch nor the next leader."""
        if kind == "TrackedApp" and ("TrackedApp", GONE) not in self.store.customs:
            self.store.apply(kind, GONE, spec={"app": "gone"}, status={"phase": "Finished"})
        for _, name in [key for key in self.store.customs if key[0] == kind]:
            known = self.store.customs[kind, name]
            self.store.apply(kind, name, **{part: value.into(getattr(known, part))})
        self.running.extender.step()
        mine, fresh = state(self.running), Pair(self.store, self.loop)
        theirs = state(fresh)
        parts = ("governance of the extender", "rooms", "nodes", "terms", "claims", "guarded")
        if found := [each for part in parts for each in differences(mine[part], theirs[part], part)]:
            raise Difference(f"after {value}: " + "; ".join(found[:5]))
        self.running.step()
        self.lead(fresh)

    def lead(self, other: Pair) -> None:
        """Another pair takes over."""
        self.store.pairs.clear()
        self.store.watchers.clear()
        other.join()
        self.running = other
        other.step()

    def _known(self) -> Iterable[Governance]:
        return (self.running.cache.governing, self.running.extender.parts.cache.governance)
