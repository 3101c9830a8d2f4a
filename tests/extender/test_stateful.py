"""Any interleaving of placements, binds, finishes, watch restarts and lost scrapes leaves the cache as if rebuilt.

After every step: the ledger equals one made from scratch of what the API would list, declared requests never exceed the
ceiling of a node's natives, and placements never exceeded the room that was measured when they were made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from slackwater.ledger.types import ClaimState
from support.builders import objects
from support.builders.ledgers import rebuilt, table_without
from support.examples import examples
from support.fakes.extender import World, pod_record, world

NODES = ("n0", "n1", "n2")
CPU = 16.0
CEILING = 2.0


class Cluster(RuleBasedStateMachine):
    """The API's truth on one side, the extender's cache on the other."""

    def __init__(self) -> None:
        super().__init__()
        self.made: World = world(*[objects.node(name) for name in NODES])
        self.truth: dict[str, dict[str, Any]] = {}  # name → the pod as the API holds it
        self.number = 0
        self.lost = False  # the watch is down: what happens is not told
        self.closed: set[str] = set()

    @initialize()
    def first_sample(self) -> None:
        """Everything is idle."""
        self.made.sample(dict.fromkeys(NODES, (0.0, 0.0)))

    # -- what happens in the cluster ------------------------------------------------------------------------------

    def change(self, name: str, **more: Any) -> None:
        """A pod changes in the API; the watch tells unless it is down."""
        self.truth[name] = self.pod(name, **more)
        if not self.lost:
            self.made.show(self.truth[name])

    def pod(self, name: str, **more: Any) -> dict[str, Any]:
        """A task that declares 2 cores and was shrunk to 1."""
        return objects.pod(name, cpu="1", annotations=objects.declared("2", "1Gi"), **more)

    def waiting(self) -> list[str]:
        """Pods without a node."""
        return [name for name, pod in self.truth.items() if "nodeName" not in pod["spec"]]

    def bound(self) -> list[str]:
        """Pods on nodes that have not ended."""
        return [name for name, pod in self.truth.items() if name not in self.waiting() and phase(pod) != "Succeeded"]

    @rule()
    def create(self) -> None:
        """A pod appears."""
        self.number += 1
        self.change(f"p{self.number}")

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def schedule(self, data: st.DataObject) -> None:
        """The scheduler asks, and binds where it was allowed to (not always our favourite)."""
        name = data.draw(st.sampled_from(self.waiting()))
        table = table_without(self.made.parts.cache.ledger, f"uid-batch-{name}", self.made.clock.now)
        answer = self.made.filter(self.truth[name], *NODES)
        for node in answer["NodeNames"]:
            assert table.room[table.index[node], 0] >= 2 - 1e-6, "accepted beyond the measured room"
            assert node not in self.closed
        if answer["NodeNames"] and data.draw(st.booleans()):
            node = data.draw(st.sampled_from(answer["NodeNames"]))
            self.change(name, node=node)

    @precondition(lambda self: self.waiting())
    @rule(data=st.data(), count=st.integers(1, 6))
    def place(self, data: st.DataObject, count: int) -> None:
        """The operator places some and nominates them; some are bound there."""
        names = self.waiting()[:count]
        answer = self.made.post("/v1/place", {"pods": [{"uid": f"uid-batch-{name}"} for name in names]})
        for each in answer["placed"]:
            if data.draw(st.booleans()):
                self.change(each["uid"].removeprefix("uid-batch-"), node=each["node"])

    @precondition(lambda self: self.bound())
    @rule(data=st.data())
    def run(self, data: st.DataObject) -> None:
        """A container starts."""
        name = data.draw(st.sampled_from(self.bound()))
        if not self.truth[name]["status"].get("containerStatuses"):
            self.change(name, node=node_of(self.truth[name]), phase="Running", status=objects.running())

    @precondition(lambda self: self.bound())
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        """A pod ends."""
        name = data.draw(st.sampled_from(self.bound()))
        self.change(name, node=node_of(self.truth[name]), phase="Succeeded")

    @precondition(lambda self: self.truth)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """A pod goes."""
        pod = self.truth.pop(data.draw(st.sampled_from(sorted(self.truth))))
        if not self.lost:
            self.made.gone(pod)

    @rule(node=st.sampled_from(NODES), ready=st.booleans())
    def node_changes(self, node: str, ready: bool) -> None:
        """A node is lost or comes back."""
        (self.closed.discard if ready else self.closed.add)(node)
        self.made.nodes(objects.node(node, ready=ready))

    # -- what happens to what we see ------------------------------------------------------------------------------

    @rule()
    def watch_breaks(self) -> None:
        """Changes are not told for a while."""
        self.lost = True

    @precondition(lambda self: self.lost)
    @rule()
    def watch_resumes(self) -> None:
        """A new list is compared with what is held."""
        self.lost = False
        held = self.made.parts.cache.index.pods
        there = {f"uid-batch-{name}" for name in self.truth}
        self.made.parts.cache.drop_pods([record for uid, record in list(held.items()) if uid not in there])
        self.made.show(*self.truth.values())

    @rule(seconds=st.sampled_from([1.0, 5.0, 30.0]), use=st.floats(0, 14), seen=st.booleans())
    def scrape(self, seconds: float, use: float, seen: bool) -> None:
        """A round of samples, in time or late, with the pods' own use or without."""
        self.made.clock.now += seconds
        pods = {f"uid-batch-{name}": (0.1, 1e6) for name in self.bound()} if seen else {}
        self.made.sample(dict.fromkeys(NODES, (use, 2.0**30)), pods)

    @rule(seconds=st.sampled_from([1.0, 20.0, 90.0]))
    def time_passes(self, seconds: float) -> None:
        """Scrapes are lost; placements may lapse."""
        self.made.clock.now += seconds
        self.made.parts.tick()

    # -- what must always hold ------------------------------------------------------------------------------------

    @invariant()
    def books_equal_a_rebuild(self) -> None:
        """What is held is what a fresh start would hold, and the placements on their way."""
        if self.lost:
            return
        cache = self.made.parts.cache
        placed = [claim for claim in cache.ledger.claims() if claim.state is ClaimState.RESERVED]
        bound = [cache.claim(pod_record(pod)) for name, pod in self.truth.items() if name in self.bound()]
        fresh = rebuilt(cache.ledger.nodes, bound, cache.ledger.terms)
        for claim in placed:
            fresh.reserve(claim, 1e9)
        assert {claim.uid: claim for claim in cache.ledger.claims()} == {claim.uid: claim for claim in fresh.claims()}
        now = cache.clock()
        mine, theirs = cache.ledger.table(now), fresh.table(now)
        assert mine.names == theirs.names
        np.testing.assert_allclose(mine.native, theirs.native, atol=1e-6)
        for name in mine.names:
            for kind, line in cache.ledger.explain(name, now).items():
                other = fresh.explain(name, now)[kind]
                np.testing.assert_allclose([line.declared, line.reserved], [other.declared, other.reserved], atol=1e-6)

    @invariant()
    def ceiling_holds(self) -> None:
        """Declared requests on a node stay within what its natives, times the ceiling, may be."""
        ledger, now = self.made.parts.cache.ledger, self.made.clock.now
        for name in NODES:
            line = ledger.explain(name, now)["cpu"]
            assert line.declared <= line.native * CEILING + 1e-6

    @invariant()
    def nothing_unbound_is_charged_for_ever(self) -> None:
        """Every claim is a pod the API knows, or a placement that will lapse."""
        if not self.lost:
            known = {f"uid-batch-{name}" for name in self.truth}
            ledger = self.made.parts.cache.ledger
            assert all(c.uid in known for c in ledger.claims() if c.state is not ClaimState.RESERVED)


def phase(pod: dict[str, Any]) -> str:
    return str(pod["status"]["phase"])


def node_of(pod: dict[str, Any]) -> str:
    return str(pod["spec"]["nodeName"])


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=examples(40), stateful_step_count=30, deadline=None)
