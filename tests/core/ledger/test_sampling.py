"""A round of measurement looks at pods of which something has changed, and charges as if it had looked at all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.estimation.peaks import ENOUGH
from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.roles import Role
from support.builders.ledgers import changed
from support.builders.measuring import measure
from support.examples import examples

NODES = ("a", "b", "c")
PODS = ("p", "q", "r")
sizes = st.sampled_from([(2.0, 4.0), (1.0, 2.0)])
uses = st.dictionaries(st.sampled_from(PODS), st.sampled_from([(0.0, 1.0), (1.0, 1.5), (1.5, 3.5)]))
SAMPLES = ("sample", "turn", "one")
waits = st.sampled_from([1.0, 2.0, 10.0])
steps = st.one_of(
    st.tuples(
        st.just("put"), st.sampled_from(PODS), st.sampled_from(NODES), sizes, st.sampled_from("xy"), st.booleans()
    ),
    st.tuples(st.just("start"), st.sampled_from(PODS)),
    st.tuples(st.just("resize"), st.sampled_from(PODS), sizes),
    st.tuples(st.just("remove"), st.sampled_from(PODS)),
    st.tuples(st.just("node"), st.sampled_from(NODES)),
    st.tuples(st.just("sample"), uses, waits),
    st.tuples(st.just("turn"), uses, waits),
    st.tuples(st.just("one"), uses, waits),
)


def built() -> Ledger:
    """Three nodes, and an app of which enough is known to cap what its pods are charged."""
    ledger = Ledger()
    for name in NODES:
        ledger.upsert_node(NodeSpec(name, (16.0, 64.0), (16.0, 64.0)))
    for n in range(ENOUGH):
        ledger.put(PodClaim(f"old-{n}", "a", (2.0, 4.0), (2.0, 4.0), Role.TASK, "x", ClaimState.RUNNING, 0.0))
    for now in (5.0, 30.0, 60.0):
        uses = {f"old-{n}": (1.0, 3.0) for n in range(ENOUGH)}
        measure(ledger, now, {name: Sample(now, (4.0, 12.0)) for name in NODES}, uses)
    return ledger


@pytest.mark.parametrize("system", [0.0, 16.0], ids=["idle system", "system uses a quarter"])
def test_use_that_no_request_covers_is_charged_beside_the_cap(system: float) -> None:
    """Young pods of a well-known app fill a node that the system uses too: together they stay below its allowance."""
    ledger, now = Ledger(LedgerConfig(kinds=("memory",))), 0.0
    ledger.upsert_node(NodeSpec("n", (64.0,), (64.0,)))

    def task(uid: str, state: ClaimState, started: float | None = None) -> PodClaim:
        return PodClaim(uid, "n", (4.0,), (2.0,), Role.TASK, "x", state, started, (2.0,))

    for n in range(10):  # they come to use 1 of the 4 they declare
        ledger.put(task(f"old-{n}", ClaimState.RUNNING, now))
    for now in np.arange(5.0, 300.0, 5.0):
        uses = {f"old-{n}": (1.0,) for n in range(10)}
        measure(ledger, now, {"n": Sample(now, (system + 10.0,))}, uses)
    for n in range(10):
        ledger.remove(f"old-{n}")
    for now in np.arange(300.0, 600.0, 5.0):
        measure(ledger, now, {"n": Sample(now, (system,))}, {})
    placed = 0
    while ledger.table(now).room[0, 0] >= 4.0 and ledger.table(now).native[0, 0] >= 2.0:
        ledger.reserve(task(f"new-{placed}", ClaimState.RESERVED), now + 600.0)
        placed += 1
    assert placed >= 10
    assert ledger.explain("n", now)["memory"].estimate >= system + placed * 1.0


def sample(ledger: Ledger, now: float, how: str, used: dict[str, tuple[float, ...]]) -> None:
    """All nodes at once, in turns, or one of them."""
    readings = {host.name: Sample(now, (3.0, 9.0)) for host in ledger.nodes}
    if how == "sample":
        measure(ledger, now, readings, used)
    for name in {"sample": (), "turn": tuple(readings), "one": tuple(readings)[:1]}[how]:
        here = [uid for uid in used if (claim := ledger.claim(uid)) and claim.node == name]
        matrix = np.array([used[uid] for uid in here]).reshape(len(here), 2).T
        ledger.sample_some(now, {name: readings[name]}, here, matrix)


def apply(ledger: Ledger, now: float, what: str, *rest: object) -> None:
    """One event, as the shells would tell it; one that makes no sense is passed over."""
    pod = rest[0] if isinstance(rest[0], str) else ""
    if what == "put":
        _, node, size, app, runs = rest
        ledger.put(PodClaim(pod, node, size, size, Role.TASK, app, ClaimState.BOUND, now if runs else None))  # type: ignore[arg-type]  # of `steps`
    elif what in SAMPLES:
        sample(ledger, now, what, {uid: use for uid, use in rest[0].items() if uid in ledger})  # type: ignore[attr-defined]  # of `steps`
    elif what == "node" and len(ledger.nodes) > 1:
        ledger.remove_node(pod)
        ledger.upsert_node(NodeSpec(pod, (16.0, 64.0), (16.0, 64.0)))
    elif what == "remove":
        ledger.remove(pod)
    elif what == "start" and pod in ledger:
        ledger.start(pod, now)
    elif what == "resize" and pod in ledger:
        changed(ledger, str(pod), declared=rest[1], native=rest[1])


@settings(max_examples=examples(150))
@given(st.lists(steps, min_size=5, max_size=30))
def test_looking_at_what_changed_is_looking_at_everything(events: list[tuple[str, ...]]) -> None:
    """A twin whose pods are all looked at with every sample says the same of every node, after every sample."""
    ledger, twin, now = built(), built(), 60.0
    for what, *rest in events:
        now += float(rest[1]) if what in SAMPLES else 0.25
        for each in (ledger, twin):
            if each is twin:
                twin._pods.changed[list(twin._pods.slots.values())] = True  # what the test is about
            apply(each, now, what, *rest)
        if what in SAMPLES:
            held = list(ledger._pods.slots.values())
            mine, other = (each._estimates.pods.table[:, :, held] for each in (ledger, twin))
            np.testing.assert_array_equal(mine, other)
            np.testing.assert_allclose(ledger.table(now).room, twin.table(now).room, atol=1e-9)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0], ids=str)
def test_a_bad_number_is_a_use_that_did_not_come(bad: float) -> None:
    """The other pods of the same round are heard."""
    ledger = built()
    ledger.put(PodClaim("q", "b", (2.0, 4.0), (2.0, 4.0), Role.DRIVER, "", ClaimState.RUNNING, 0.0))
    before = ledger.explain("b", 60.0)["memory"].drivers
    ledger.sample_all(65.0, np.full((3, 2), 4.0), ["old-0", "q"], np.array([[1.0, 1.0], [bad, 6.0]]))
    assert before == 4.0
    assert ledger.explain("b", 65.0)["memory"].drivers == 6.0


@pytest.mark.parametrize("started", [None, 12.0], ids=["not started", "started after the sample"])
@pytest.mark.parametrize("role", [Role.TASK, Role.DRIVER])
def test_a_series_of_a_dead_namesake_teaches_nothing(role: Role, started: float | None) -> None:
    """A pod made anew under its old name with a smaller request: what Prometheus still tells is another pod's use."""
    ledger = Ledger()
    ledger.upsert_node(NodeSpec("n", (16.0, 64.0), (16.0, 64.0)))
    state = ClaimState.BOUND if started is None else ClaimState.RUNNING
    claim = PodClaim("p", "n", (1.0, 2.0), (1.0, 2.0), role, "app", state, started)
    ledger.put(claim)
    measure(ledger, 10.0, {"n": Sample(10.0, (0.2, 1.0))}, {"p": (0.5, 6.0)})
    before = ledger.explain("n", 10.0)["memory"]
    assert (before.used, max(before.known, before.drivers)) == (1.0, 2.0)
    ledger.start("p", 12.0)
    for now in (15.0, 20.0, 40.0):
        measure(ledger, now, {"n": Sample(now, (0.2, 1.0))}, {"p": (0.1, 1.0)})
    assert ledger.expected(claim._replace(uid="next")).tolist() == [1.0, 2.0]
    (told,) = ledger.learned().apps.values()
    assert told[:, 0].max(axis=0).tolist() == [0.1, 1.0]


def test_a_series_of_the_machine_before_is_no_sample_of_a_node() -> None:
    """A node made again under its name: Prometheus tells for some minutes what the old machine used at its end."""
    ledger, node = Ledger(), NodeSpec("n", (16.0, 64.0), (16.0, 64.0), created=100.0)
    ledger.upsert_node(node)
    ledger.put(PodClaim("p", "n", (1.0, 2.0), (1.0, 2.0), Role.TASK, "app", ClaimState.RUNNING, 50.0))
    measure(ledger, 110.0, {"n": Sample(90.0, (2.0, 60.0))}, {"p": (0.5, 14.0)})
    line = ledger.explain("n", 110.0)["memory"]
    assert (line.used, line.stale, line.room, line.known) == (0.0, True, 62.0, 2.0)
    assert ledger.unsampled() == ["n"]
    measure(ledger, 120.0, {"n": Sample(100.0, (0.5, 3.0))}, {"p": (0.5, 2.0)})
    assert (ledger.explain("n", 120.0)["memory"].used, ledger.unsampled()) == (3.0, [])


@pytest.mark.parametrize("ever", [True, False], ids=["read before", "never read"])
def test_a_driver_without_a_reading_does_not_count_twice(ever: bool) -> None:
    """It is charged 4 cores and 8 GiB; what it uses of them leaves U, read or not: what its node uses beside tasks."""
    ledger = Ledger()
    ledger.upsert_node(NodeSpec("n", (16.0, 64.0), (16.0, 64.0)))
    ledger.put(PodClaim("task", "n", (2.0, 4.0), (2.0, 4.0), Role.TASK, "x", ClaimState.RUNNING, 0.0))
    ledger.put(PodClaim("driver", "n", (4.0, 8.0), (4.0, 8.0), Role.DRIVER, "x", ClaimState.RUNNING, 0.0))
    uses = {"task": (1.0, 3.0), "driver": (3.0, 7.0)}
    for now in (5.0, 10.0):
        measure(ledger, now, {"n": Sample(now, (4.0, 10.0))}, uses if ever else {"task": (1.0, 3.0)})
    assert [line.used for line in ledger.explain("n", 10.0).values()] == [1.0, 3.0]
    measure(ledger, 15.0, {"n": Sample(15.0, (4.0, 10.0))}, {})  # a round without readings of pods
    assert [line.used for line in ledger.explain("n", 15.0).values()] == [1.0, 3.0]
    measure(ledger, 20.0, {"n": Sample(20.0, (2.0, 5.0))}, {"task": (1.0, 3.0)})  # the node uses less than both did
    assert [line.used for line in ledger.explain("n", 20.0).values()] == [1.0, 3.0]


def test_a_driver_that_has_not_started_is_not_in_what_its_node_uses() -> None:
    """Nothing leaves U for it."""
    ledger = Ledger()
    ledger.upsert_node(NodeSpec("n", (16.0, 64.0), (16.0, 64.0)))
    ledger.put(PodClaim("driver", "n", (4.0, 8.0), (4.0, 8.0), Role.DRIVER, "x", ClaimState.BOUND, None))
    measure(ledger, 5.0, {"n": Sample(5.0, (4.0, 10.0))}, {})
    assert [line.used for line in ledger.explain("n", 5.0).values()] == [4.0, 10.0]
