"""Any interleaving of events leaves the ledger as a slow, plain one has it, and as one rebuilt from lists has it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from slackwater.estimation.margins import Margin
from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.roles import Role
from support.builders.ledgers import rebuilt, table_without
from support.builders.measuring import measure
from support.builders.scalarestimator import Estimator
from support.examples import examples

# No app names: what apps teach has its own tests, and would make the plain ledger a second implementation of it.
TERMS = LedgerConfig(kinds=("cpu", "gpu"), tau0={"cpu": 3.0}, margins={"cpu": Margin(0.875, 0.15)}, floor=False)
ALLOWED = (14.0, 4.0)
NODES = ("a", "b", "c")
PODS = tuple(f"p{n}" for n in range(6))

nodes = st.sampled_from(NODES)
pods = st.sampled_from(PODS)
cores = st.integers(0, 8).map(lambda n: n / 2)
uses = st.floats(0, 16)


def host(name: str) -> NodeSpec:
    """All nodes are alike: AR 14 of 16."""
    return NodeSpec(name, (16.0, 4.0), (16.0, 4.0))


class Plain:
    """A ledger by the book: one scalar estimator per node, everything else summed when asked."""

    def __init__(self) -> None:
        self.nodes: dict[str, Estimator] = {}
        self.stamps: dict[str, tuple[float, float]] = {}
        self.pods: dict[str, PodClaim] = {}
        self.use: dict[str, float] = {}
        self.gone: dict[str, float] = {}  # node → use of pods that ended since its last sample

    def on(self, node: str) -> list[PodClaim]:
        """The pods of a node."""
        return [claim for claim in self.pods.values() if claim.node == node]

    def drivers(self, node: str) -> float:
        """What its drivers are charged."""
        return math.fsum(max(self.use.get(c.uid, 0.0), c.charged[0]) for c in self.on(node) if c.driver)

    def room(self, node: str, now: float) -> tuple[float, float]:
        """min(AR, NC) − E − drivers for cpu; what is not declared for gpus."""
        estimator = self.nodes[node]
        estimate = self.fallback(node) if self.stale(node, now) else estimator.estimate
        return ALLOWED[0] - estimate - self.drivers(node), ALLOWED[1] - sum(c.charged[1] for c in self.on(node))

    def fallback(self, node: str) -> float:
        """At least what is reserved; pods that ended have taken their use with them."""
        estimator = self.nodes[node]
        remaining = max(estimator.reserved + estimator.uncovered, estimator.used - self.gone.get(node, 0.0))
        return max(min(estimator.estimate, remaining), estimator.reserved)

    def stale(self, node: str, now: float) -> bool:
        """Gaps stay below the heartbeat here, so the period is the heartbeat."""
        return node not in self.stamps or now - self.stamps[node][1] > TERMS.patience * TERMS.heartbeat

    def end(self, uid: str) -> None:
        """A pod finished or was deleted."""
        claim = self.pods.get(uid)
        if claim and claim.node in self.nodes and not claim.driver:
            self.gone[claim.node] = self.gone.get(claim.node, 0.0) + self.use.get(uid, 0.0)
        self.leave(uid)

    def leave(self, uid: str) -> None:
        """A pod is gone."""
        claim = self.pods.pop(uid, None)
        self.use.pop(uid, None)
        if claim and claim.node in self.nodes and not claim.driver:
            self.nodes[claim.node].finish(uid)

    def enter(self, claim: PodClaim) -> None:
        """A pod came, or changed."""
        held = self.pods.get(claim.uid)
        again = held is not None and (held.node != claim.node or held.started not in (None, claim.started))
        if again or (held is not None and held.driver != claim.driver):
            use = 0.0 if again else self.use.get(claim.uid, 0.0)
            self.leave(claim.uid)
            self.use[claim.uid] = use
        self.pods[claim.uid] = claim
        if claim.node in self.nodes and not claim.driver:
            self.nodes[claim.node].alloc(claim.uid, claim.charged[0])

    def sample(self, node: str, stamp: float, now: float, used: float, seen: dict[str, float]) -> None:
        """One node's reading, with the use of its pods."""
        last = self.stamps.get(node)
        if last is not None and stamp <= last[0]:
            return
        self.use.update({uid: use for uid, use in seen.items() if uid in self.pods})
        driving = math.fsum(use for uid, use in seen.items() if uid in self.pods and self.pods[uid].driver)
        tasks = math.fsum(seen.get(claim.uid, 0.0) for claim in self.on(node) if not claim.driver)
        rest = max(0.0, used - driving, tasks)
        if last is None:
            self.restart(node, stamp, rest, seen)
        self.nodes[node].on_sample(rest, 0.0 if last is None else stamp - last[0], seen)
        self.nodes[node].uncovered = max(0.0, rest - self.covered(node, stamp, seen))
        self.gone.pop(node, None)
        self.stamps[node] = (stamp, now)

    def covered(self, node: str, stamp: float, seen: dict[str, float]) -> float:
        """What requests cover of a node's use: of measured pods their use, of others that run all they ask for."""
        tasks = [claim for claim in self.on(node) if not claim.driver]
        measured = [min(seen[c.uid], c.charged[0]) for c in tasks if c.uid in seen]
        running = [c.charged[0] for c in tasks if c.uid not in seen and c.started is not None and c.started <= stamp]
        return math.fsum([*measured, *running])

    def restart(self, node: str, stamp: float, used: float, seen: dict[str, float]) -> None:
        """First sample: EST-17 for pods whose use and start are known, the others in full."""
        mine = [claim for claim in self.on(node) if not claim.driver]
        known = [claim for claim in mine if claim.uid in seen and claim.started is not None]
        unknown = [claim for claim in mine if claim not in known]
        system = used - sum(seen[c.uid] for c in known) - sum(c.charged[0] for c in unknown)
        estimator = Estimator(TERMS.alpha, 3.0, start=max(0.0, system))
        for claim in mine:
            estimator.alloc(claim.uid, claim.charged[0])
        for claim in known:
            left = (1 - TERMS.alpha) ** (max(0.0, stamp - (claim.started or 0.0)) / 3.0)
            estimator.learned += seen[claim.uid] - left * min(seen[claim.uid], claim.charged[0])
            estimator._held[claim.uid].residual = left * claim.charged[0]
        self.nodes[node] = estimator


class LedgerStates(RuleBasedStateMachine):
    """Everything that can happen to a ledger, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger, self.plain = Ledger(TERMS), Plain()
        self.now = 0.0
        self.expiry: dict[str, float] = {}

    @rule(name=nodes)
    def node_appears(self, name: str) -> None:
        """A node, perhaps one that pods have named already."""
        self.ledger.upsert_node(host(name))
        if name not in self.plain.nodes:
            self.plain.nodes[name] = Estimator(TERMS.alpha, 3.0)
            for claim in self.plain.on(name):
                self.plain.enter(claim)

    @rule(name=nodes)
    def node_goes(self, name: str) -> None:
        """A node is deleted before its pods are."""
        self.ledger.remove_node(name)
        if self.plain.nodes.pop(name, None):
            self.plain.stamps.pop(name, None)
            self.plain.gone.pop(name, None)
            for claim in self.plain.on(name):
                self.plain.use.pop(claim.uid, None)

    @rule(uid=pods, node=nodes, native=cores, gpus=st.integers(0, 1), driver=st.booleans(), wait=st.floats(0, 30))
    def place(self, uid: str, node: str, native: float, gpus: int, driver: bool, wait: float) -> None:
        """We answer with a node, known or not."""
        role = Role.DRIVER if driver else Role.TASK
        claim = PodClaim(uid, node, (2 * native, gpus), (native, gpus), role, ceiling=(2.0, 1.0))
        held = self.plain.pods.get(uid)
        free = held is None or held.state is ClaimState.RESERVED
        assert self.ledger.reserve(claim, self.now + wait) == free
        if free:
            self.plain.enter(
                PodClaim(uid, node, claim.declared, claim.native, role, "", ClaimState.RESERVED, None, (2.0, 1.0))
            )
            self.expiry[uid] = self.now + wait

    @rule(uid=pods, node=nodes, state=st.sampled_from(ClaimState), native=cores, start=st.none() | st.floats(-10, 10))
    def watched(self, uid: str, node: str, state: ClaimState, native: float, start: float | None) -> None:
        """The API shows the pod, somewhere, in some state and size."""
        managed = native != 1.0
        claim = PodClaim(uid, node, (2 * native, 0.0), (native, 0.0), Role.TASK, "", state, start, (1.5, 1.0), managed)
        if state is ClaimState.RESERVED:
            return
        for _ in range(2):  # a watch that resumes shows the same again
            self.ledger.put(claim)
        self.plain.enter(claim)
        self.expiry.pop(uid, None)

    @rule(uid=pods)
    def pod_goes(self, uid: str) -> None:
        """Finished or deleted; perhaps never there."""
        self.ledger.remove(uid)
        self.plain.end(uid)
        self.expiry.pop(uid, None)

    @rule(passed=st.floats(0, 20))
    def time_passes(self, passed: float) -> None:
        """Placements expire, samples grow old."""
        self.now += passed
        late = {uid for uid, expires in self.expiry.items() if expires <= self.now}
        assert {claim.uid for claim in self.ledger.expire(self.now)} == late
        for uid in late:
            self.plain.end(uid)
            del self.expiry[uid]

    @precondition(lambda self: self.plain.nodes)
    @rule(
        used=st.dictionaries(nodes, uses, min_size=1),
        stamp=st.integers(1, 4),
        seen=st.dictionaries(pods, st.floats(0, 4)),
    )
    def scrape(self, used: dict[str, float], stamp: int, seen: dict[str, float]) -> None:
        """Some nodes' samples are lost, some are late: the stamp may repeat or go back."""
        newest = max((at for at, _ in self.plain.stamps.values()), default=0.0)
        at = newest + stamp - 2.0
        here = {
            uid: use
            for uid, use in seen.items()
            if (claim := self.plain.pods.get(uid))
            and (claim.started is not None and claim.started <= at)
            and claim.node in used
            and claim.node in self.plain.nodes
            and self.plain.stamps.get(claim.node, (-math.inf, 0.0))[0] < at
        }
        readings = {name: Sample(at, (use, 0.0)) for name, use in used.items()}
        measure(self.ledger, self.now, readings, {uid: (use, 0.0) for uid, use in here.items()})
        for name, use in used.items():
            if name in self.plain.nodes:
                mine = {uid: use for uid, use in here.items() if self.plain.pods[uid].node == name}
                self.plain.sample(name, at, self.now, use, mine)

    @invariant()
    def equals_the_plain_ledger(self) -> None:
        """Pods, room, native requests and staleness of every node."""
        table = self.ledger.table(self.now)
        assert set(table.names) == set(self.plain.nodes)
        for name, row in table.index.items():
            assert table.room[row] == pytest.approx(self.plain.room(name, self.now), abs=1e-6)
            native = [
                16.0 - sum(c.native[0] for c in self.plain.on(name)),
                4.0 - sum(c.native[1] for c in self.plain.on(name)),
            ]
            assert table.native[row] == pytest.approx(native, abs=1e-6)
            assert table.old()[row] == self.plain.stale(name, self.now)
            assert set(self.ledger.claims_on(name)) == set(self.plain.on(name))

    @invariant()
    def equals_one_rebuilt_from_lists(self) -> None:
        """Claims are equal; so is the room of nodes where nothing was measured, which is all a list can tell."""
        fresh = rebuilt(self.ledger.nodes, reversed(list(self.ledger.claims())), TERMS)
        mine, theirs = self.ledger.table(self.now), fresh.table(self.now)
        assert {claim.uid: claim for claim in fresh.claims()} == self.plain.pods
        assert theirs.native == pytest.approx(mine.native, abs=1e-6)
        blank = np.array([name not in self.plain.stamps for name in mine.names], np.bool_)
        assert theirs.room[blank] == pytest.approx(mine.room[blank], abs=1e-6)

    @invariant()
    def a_pod_left_out_is_as_if_never_placed(self) -> None:
        """Its native request is back, and there is no less room."""
        for uid, claim in self.plain.pods.items():
            if claim.state is ClaimState.RESERVED and claim.node in self.plain.nodes:
                table, without = self.ledger.table(self.now), table_without(self.ledger, uid, self.now)
                row = table.index[claim.node]
                assert (without.room[row] >= table.room[row] - 1e-6).all()
                assert without.native[row] == pytest.approx(table.native[row] + claim.native, abs=1e-6)


TestLedgerStates = LedgerStates.TestCase
TestLedgerStates.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
