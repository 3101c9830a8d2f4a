"""Days of churn under the real operator and extender: restarts, an hour without samples, clocks that are set wrong.

Every hour the running extender is compared with one that starts just then, and the operator's cache with the cluster.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

from slackwater_cluster.api.client import ApiClient
from slackwater_extender.components import Components
from slackwater_extender.sampler.learnedstore import LearnedStore
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.settings import Settings
from slackwater_operator.steadyclock import SteadyClock
from support.soak.cluster import SoakCluster
from support.soak.sizes import memory, sizes
from support.walk.programs import ListingExtender, Pair

STEP = 10.0  # seconds between two rounds
LEARNED = 300.0  # seconds between two writings of what was learned
BLIND = (3.0, 4.0)  # hours of each day without Prometheus
# Hours of each day at which the machines' clock jumps, and by how many seconds; it is set right ten minutes later.
JUMPS = ((8.0, 3600.0), (17.0, -3600.0))
WRONG = 1 / 6


class KeepingExtender(ListingExtender):
    """The extender with the ConfigMap of what it learned; samples come while Prometheus is there."""

    cluster: SoakCluster  # pyright: ignore[reportIncompatibleVariableOverride]  # made over no other

    def _started(self) -> Components:
        parts = super()._started()
        store = self.cluster
        api = cast("ApiClient", _Learned(store))
        self.kept = LearnedStore(parts.cache, lambda: api, "learned", LEARNED)
        self.kept.turn(api)
        return parts

    def step(self) -> None:
        """Its threads' work up to now."""
        self.cluster.plan = replace(self.cluster.plan, measured=self.cluster.measured)
        super().step()

    def keep(self) -> None:
        """Write what was learned."""
        self.kept.turn(self.kept.connect())


@dataclass(frozen=True)
class _Learned:
    """The API server, as far as the ConfigMap goes."""

    store: SoakCluster

    def get(self, path: str) -> dict[str, Any]:
        return self.store.read_learned(path)

    def patch(self, path: str, body: dict[str, Any]) -> None:
        self.store.write_learned(path, body)


@dataclass
class Report:
    """What one day, or a part of it, came to."""

    hours: float
    memory: float  # MiB
    objects: Counter[str]
    sizes: Counter[str]
    done: int
    failed: int
    restarts: int
    drift: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        most = ", ".join(f"{name} {size}" for name, size in self.sizes.most_common(6))
        things = ", ".join(f"{count} {name}" for name, count in sorted(self.objects.items()))
        return (
            f"hour {self.hours:6.1f}: {self.done} apps over ({self.failed} given up), {self.restarts} restarts, "
            f"{self.memory:.0f} MiB; objects: {things}; largest: {most}; "
            f"drift: {'; '.join(self.drift[:3]) or 'none'}"
        )


class Soak:
    """One cluster, and the programs that run on it now."""

    def __init__(
        self,
        cluster: SoakCluster,
        loop: asyncio.AbstractEventLoop,
        restarts: int = 10,
        settings: Settings | None = None,
    ) -> None:
        self.cluster, self.loop, self.settings = cluster, loop, settings or Settings()
        self.every = 24.0 / restarts if restarts else float("inf")
        self.restarts = 0
        self._due = cluster.hour + self.every
        self._kept = cluster.now
        self.extender = KeepingExtender(cluster)
        self.pair = self._lead()

    def play(self, hours: float, every: float = 1.0) -> Iterator[Report]:
        """So many hours, with a report after each or as often as is said."""
        end, due = self.cluster.hour + hours, self.cluster.hour + every
        while self.cluster.hour < end - 1e-9:
            self.step()
            if self.cluster.hour >= due - 1e-9:
                due += every
                yield self.report()

    def step(self) -> None:
        """A round of everybody."""
        store = self.cluster
        of_day = store.hour % 24
        store.measured = not BLIND[0] <= of_day < BLIND[1]
        store.offset = sum(step for at, step in JUMPS if at <= of_day < at + WRONG)
        if store.hour >= self._due:
            self._due += self.every
            self._restart()
        if store.now - self._kept >= LEARNED:
            self._kept = store.now
            self.extender.keep()
        store.live()
        self.pair.step(STEP)

    def report(self) -> Report:
        """Sizes, objects and drift at this moment."""
        store, parts = self.cluster, self.extender.parts
        kinds = Counter(kind for kind, _ in store.customs)
        objects = Counter(pods=len(store.pods), events=len(store.events), TrackedApps=kinds["TrackedApp"])
        objects["bytes learned"] = sum(map(len, store.learned.values()))
        found = sizes(self.pair.program, parts, beside=(store, self.extender, self.pair))
        drift = list(self._drift())
        return Report(store.hour, memory(), objects, found, store.done, store.failed, self.restarts, drift)

    # -- programs -----------------------------------------------------------------------------------------------------

    def _lead(self) -> Pair:
        store = self.cluster
        store.watchers.clear()
        store.pairs.clear()
        clock = SteadyClock(store.wall, store.clock)
        pair = Pair(store, self.loop, self.extender, self.settings, clock)
        # A step of ours is ten of theirs: as many writes a second as ever must fit into it.
        for writer, rate in (
            (pair.cycle.tracker, self.settings.track_rate),
            (pair.cycle.labeller, self.settings.reason_rate),
        ):
            writer.bucket = TokenBucket(rate, rate * STEP, clock)
        pair.cycle.tracker.sweeps = pair.cycle.tracker.bucket.half()
        self.loop.run_until_complete(pair.cycle.upkeep.clean())
        pair.join()
        return pair

    def _restart(self) -> None:
        """The operator and the extender in turn."""
        self.restarts += 1
        if self.restarts % 2:
            self.pair = self._lead()
        else:
            self.extender.keep()
            self.extender.restart()

    # -- what must agree ----------------------------------------------------------------------------------------------

    def _drift(self) -> Iterator[str]:
        """Where the running programs see another cluster than there is."""
        store, cache = self.cluster, self.pair.cache
        mine = {claim.uid: (claim.node, claim.declared) for claim in self.extender.parts.cache.ledger.claims()}
        fresh = ListingExtender(store)
        theirs = {claim.uid: (claim.node, claim.declared) for claim in fresh.parts.cache.ledger.claims()}
        for uid in sorted({*mine, *theirs}):
            if mine.get(uid) != theirs.get(uid):
                yield f"ledger: {uid} is {mine.get(uid)}, a fresh start says {theirs.get(uid)}"
        ours = {pod.uid for pod in store.pods.values() if pod.namespace != "system"}
        known = {pod.uid for pod in cache.index.pods()}
        for uid in sorted(ours ^ known):
            yield f"operator: {uid} is {'there, and not known' if uid in ours else 'known, and not there'}"
