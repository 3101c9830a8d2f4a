"""A ledger with a stated risk: what it keeps back, and when it does not."""

import math

import numpy as np
import pytest

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.roles import Role
from support.builders.measuring import measure
from support.builders.watchedcluster import GROWN, HEARTBEAT, HORIZON, NODES, WatchedCluster, rooms, settled


def test_a_young_ledger_decides_by_the_equations_of_paper_000() -> None:
    """Until enough promises were compared, a stated risk changes nothing."""
    plain, stated = WatchedCluster(None), WatchedCluster(0.01)
    for cluster in (plain, stated):
        cluster.play(300)
    assert (rooms(plain) == rooms(stated)).all()
    line = stated.ledger.explain("n0", stated.now)["cpu"]
    assert line.promise is not None
    assert (line.margin, line.promise.factor) == (0.0, np.inf)


def test_promises_of_the_first_horizon_are_not_judged_and_those_of_a_whole_one_are_waited_for() -> None:
    """However many nodes there are: the first promise is over after two horizons, the 24th 575 s later."""
    cluster = WatchedCluster(0.05, nodes=20)
    calibration = cluster.ledger.risks()["memory"]
    cluster.play(2 * HORIZON)
    assert calibration.count == 0
    cluster.play(HEARTBEAT)
    assert (calibration.count, calibration.young) == (20, True)
    cluster.play(570.0)
    assert (calibration.count, calibration.young) == (23 * 20, True)
    cluster.play(HEARTBEAT)
    assert (calibration.count, calibration.young) == (24 * 20, False)


def test_the_first_promises_of_a_fresh_ledger_are_kept() -> None:
    """A hundred nodes with five long tasks each that nobody knows: where 1 % is asked, not one in twenty is broken."""
    ledger, rng = Ledger(LedgerConfig(risk=0.01, horizon=120.0, steady=True)), np.random.default_rng(1)
    home, uids = np.repeat(np.arange(100), 5), [f"p{number}" for number in range(500)]
    for node in range(100):
        ledger.upsert_node(NodeSpec(f"n{node}", (16.0, 64.0)))
    for uid, node in zip(uids, home.tolist(), strict=True):
        ledger.put(PodClaim(uid, f"n{node}", (1.5, 4.0), (1.5, 4.0), Role.TASK, uid, ClaimState.RUNNING, -600.0))
    level, wander = np.array([[0.4], [1.2]]) * np.exp(rng.normal(0.0, 0.4, (2, 500))), np.zeros((2, 500))
    for now in np.arange(5.0, 600.0, 5.0).tolist():
        wander = 0.9 * wander + rng.normal(0.0, 0.02, wander.shape)
        use = level * np.exp(wander)
        used = np.stack([np.bincount(home, each) for each in use], axis=1)
        samples = {f"n{node}": Sample(now, tuple(row)) for node, row in enumerate(used.tolist())}
        ledger.sample_some(now, samples, uids, use, ())
    for calibration in ledger.risks().values():
        assert not calibration.young
        assert calibration.kept.realised < 0.05


def test_room_is_what_the_promise_leaves() -> None:
    """Once promises were compared: min(allocatable, NC) − promise, of each kind apart, and more for more risk."""
    careful, bold, plain = settled(0.01), settled(0.2), settled(None)
    lines = careful.ledger.explain("n3", careful.now)
    for line in lines.values():
        assert line.promise is not None
        assert line.promise.compared > 100
        assert line.room == pytest.approx(min(line.allocatable, line.real) - line.promise.peak)
        expected = line.promise.centre + line.promise.factor * line.promise.spread
        assert line.promise.peak == pytest.approx(expected)
    assert lines["cpu"].promise != lines["memory"].promise
    assert (rooms(bold) > rooms(careful)).all()
    # Of CPU nothing is kept back without a stated risk; of memory a fixed share is.
    assert rooms(careful)[:, 1].sum() > rooms(plain)[:, 1].sum()


def test_the_risk_is_kept() -> None:
    """A fifth asked: the share of broken promises is not above it by more than half."""
    cluster = settled(0.2)
    cluster.play(2500)
    for kind in ("cpu", "memory"):
        promise = cluster.ledger.explain("n0", cluster.now)[kind].promise
        assert promise is not None
        assert 0.02 < promise.realised < 0.3


def test_of_cpu_what_is_used_now_is_promised_and_of_memory_nine_tenths() -> None:
    """All pods rise at once to 0.9 of what they ask for: 10.8 cores and 43.2 GiB, and the system's 0.2 and 1."""
    cluster = settled(0.05)
    cluster.measure(dict.fromkeys(cluster.pods, (0.9, 3.6)))
    lines = cluster.ledger.explain("n0", cluster.now)
    cpu, memory = lines["cpu"].promise, lines["memory"].promise
    assert cpu is not None
    assert memory is not None
    assert cpu.peak == pytest.approx(11.0)
    assert cpu.present
    assert memory.peak == pytest.approx(0.9 * 44.2)
    assert memory.present


@pytest.mark.parametrize("request_", [0.0, 2.0])
def test_no_promise_gives_out_memory_that_is_in_use(request_: float) -> None:
    """Three pods of others use 14.5 GiB each and ask for little: the node is full, with a stated risk as without."""
    plain, stated = WatchedCluster(None), WatchedCluster(0.01)
    for cluster in (plain, stated):
        cluster.strangers({"n0": 3}, (0.1, request_), (0.5, 14.5))
        cluster.play(GROWN)
    line = stated.ledger.explain("n0", stated.now)["memory"]
    assert line.used > line.allowed
    assert line.promise is not None
    assert line.promise.peak >= line.promise.least == pytest.approx(0.9 * line.used)
    assert line.margin == 0.0
    assert line.withheld
    assert line.room == pytest.approx(rooms(plain)[0, 1])
    spot = stated.ledger.spot("n0", stated.now)
    assert spot is not None
    assert spot.room[1] == pytest.approx(line.room)


def test_an_idle_node_has_no_margin_and_nothing_is_withheld_there() -> None:
    """A margin of 0 alone does not say that more is in use than allowed."""
    ledger = Ledger(LedgerConfig(risk=0.05, steady=True))
    for name in ("busy", "idle"):
        ledger.upsert_node(NodeSpec(name, (16.0, 64.0), (16.0, 64.0)))
    ledger.put(PodClaim("p", "busy", (4.0, 8.0), (4.0, 8.0), app="a", state=ClaimState.RUNNING, started=0.0))
    for beat in range(1400):
        use = (1.0 + beat % 3 / 10, 4.0 + beat % 7 / 10)
        measure(
            ledger,
            HEARTBEAT * beat,
            {"busy": Sample(HEARTBEAT * beat, use), "idle": Sample(HEARTBEAT * beat, (0.0, 0.0))},
            {"p": use},
        )
    line = ledger.explain("idle", HEARTBEAT * 1400)["cpu"]
    assert line.promise is not None
    assert line.promise.factor < np.inf
    assert (line.margin, line.crowded, line.withheld) == (0.0, False, False)


def test_tasks_that_use_more_memory_than_they_ask_for_leave_no_room_on_a_full_node() -> None:
    """Twelve tasks ask for 4 GiB each and use 5: where more than the allowance of 56 GiB is used nothing is left."""
    cluster = WatchedCluster(0.01)
    cluster.play(GROWN, level=1.27)
    lines = [cluster.ledger.explain(node.name, cluster.now)["memory"] for node in cluster.ledger.nodes]
    full = [line for line in lines if line.used > line.allowed]
    assert len(full) > NODES / 2
    assert all(line.room <= 0.0 for line in full)


def test_stale_nodes_are_worth_their_reservations() -> None:
    """No margin gives room where nothing is measured any more."""
    cluster = settled(0.01)
    later = cluster.now + 1000.0
    line = cluster.ledger.explain("n0", later)["memory"]
    assert line.stale
    assert line.margin == 0.0
    assert line.room <= line.allocatable - line.reserved + 1e-9


def test_promises_for_nodes_that_are_not_measured_are_not_judged() -> None:
    """Nine of twelve nodes fall silent: what was promised for the other three is compared, and nothing else."""
    cluster = settled(0.05)
    cluster.silent = {f"n{number}" for number in range(9)}
    cluster.play(600)  # promises made before end within this time
    before = {kind: it.count for kind, it in cluster.ledger.risks().items()}
    cluster.play(600)
    assert {kind: it.count - before[kind] for kind, it in cluster.ledger.risks().items()} == {"cpu": 72, "memory": 72}


def test_promises_are_not_judged_by_the_first_sample_after_a_gap() -> None:
    """For twenty minutes nobody was measured, and then all are."""
    cluster = settled(0.05)
    before = {kind: it.count for kind, it in cluster.ledger.risks().items()}
    cluster.now += 1200
    cluster.play(HEARTBEAT)
    assert {kind: it.count for kind, it in cluster.ledger.risks().items()} == before


@pytest.mark.parametrize("asked", [True, False], ids=["asked for all the same", "not asked for"])
def test_promises_outlive_a_short_gap_in_all_samples(asked: bool) -> None:
    """Prometheus was away for half a minute: promises of the horizon before are judged by what was seen."""
    counts = []
    for gap in (0.0, 30.0):
        cluster = settled(0.05)
        before = cluster.ledger.risks()["cpu"].count
        cluster.silent = {f"n{number}" for number in range(NODES)} if asked and gap else set()
        if asked:
            cluster.play(gap)
        cluster.now += 0.0 if asked else gap
        cluster.silent = set()
        cluster.play(600 - gap)
        counts.append(cluster.ledger.risks()["cpu"].count - before)
    assert counts[0] == 24 * NODES
    assert counts[1] >= 22 * NODES


@pytest.mark.parametrize(("gap", "judged"), [(55.0, True), (65.0, False)])
def test_a_silence_counts_from_the_last_sample_on(gap: float, judged: bool) -> None:
    """A node is stale after 15 s: that it was silent before counts, too, and a tenth of ten minutes may be missed."""
    cluster = settled(0.05)
    before = cluster.ledger.risks()["cpu"].count
    cluster.silent = {f"n{number}" for number in range(NODES)}
    cluster.play(gap - HEARTBEAT)
    cluster.silent = set()
    cluster.play(600 - gap)
    assert (cluster.ledger.risks()["cpu"].count - before > 18 * NODES) == judged


def test_margins_are_formed_in_every_round_though_rounds_are_not_punctual() -> None:
    """One that begins some milliseconds early counts as well."""
    cluster = settled(0.05)
    jitter = np.random.default_rng(0).uniform(0.0, 0.05, 20)
    for early in jitter.tolist():
        before = cluster.ledger.explain("n0", cluster.now)["cpu"].promise
        cluster.play(HEARTBEAT)
        assert cluster.ledger.explain("n0", cluster.now)["cpu"].promise != before
        cluster.now -= early


def test_nodes_may_come_and_go() -> None:
    """Rows stay aligned, and a node that came has no margin until it was measured."""
    cluster = settled(0.05)
    before = {name: cluster.ledger.explain(name, cluster.now)["cpu"].promise for name in ("n4", "n9")}
    for uid, (_, node, _) in list(cluster._live.items()):
        if node == "n0":
            cluster.ledger.remove(uid)
            del cluster._live[uid]
    cluster.ledger.remove_node("n0")
    cluster.ledger.upsert_node(NodeSpec("new", (16.0, 64.0)))
    after = {name: cluster.ledger.explain(name, cluster.now)["cpu"].promise for name in ("n4", "n9")}
    assert after == before
    assert cluster.ledger.explain("new", cluster.now)["cpu"].margin == 0.0
    cluster.play(100)
    assert cluster.ledger.explain("new", cluster.now)["cpu"].margin != 0.0


def test_table_and_single_row_agree() -> None:
    """Two ways to the same numbers, also after a pod came between two samples."""
    cluster = settled(0.05)
    cluster.ledger.put(PodClaim("late", "n2", (1.0, 4.0), (1.0, 4.0)))
    table = cluster.ledger.table(cluster.now)
    spot = cluster.ledger.spot("n2", cluster.now)
    assert spot is not None
    assert spot.room == pytest.approx(table.room[2].tolist())


def test_a_pod_that_came_between_two_samples_takes_its_request_from_the_room() -> None:
    """It is not yet part of any promise."""
    cluster = settled(0.05)
    before = rooms(cluster)[2].copy()
    cluster.ledger.put(PodClaim("late", "n2", (1.0, 4.0), (1.0, 4.0), app="other"))
    assert (before - rooms(cluster)[2]).tolist() == pytest.approx([1.0, 4.0])


def test_drivers_are_charged_apart() -> None:
    """A driver is no part of a promise: it costs its request, promised or not."""
    cluster = settled(0.05)
    before = rooms(cluster)[2].copy()
    cluster.ledger.put(PodClaim("driver", "n2", (1.0, 4.0), (1.0, 4.0), role=Role.DRIVER))
    assert (before - rooms(cluster)[2]).tolist() == pytest.approx([1.0, 4.0])


def test_when_all_spike_together_the_margin_widens() -> None:
    """Every pod that starts uses twice as much: promises are broken, z grows, and room shrinks beyond the use."""
    cluster = settled(0.05)
    cluster.play(500)
    calm = cluster.ledger.explain("n0", cluster.now)["memory"]
    cluster.play(1000, level=0.7)
    wild = cluster.ledger.explain("n0", cluster.now)["memory"]
    assert calm.promise is not None
    assert wild.promise is not None
    assert wild.promise.realised > calm.promise.realised
    assert wild.promise.factor > calm.promise.factor
    assert wild.room < calm.room


def watched(uses: list[float], dt: float, half_life: float) -> tuple[float, float, float]:
    """Seconds, level and variance of one pod, sample by sample, as the formulas say."""
    seen = level = variance = 0.0
    for use in uses:
        seen += dt
        weight = max(dt / seen, 1 - 0.5 ** (dt / half_life))
        off = use - level
        level, variance = level + weight * off, (1 - weight) * (variance + weight * off * off)
    return seen, level, variance


def test_a_promise_is_what_the_formulas_say_pod_by_pod() -> None:
    """Memory, while nothing is known of the app: centre and spread of its pods by hand, whatever arrays are kept."""
    cluster = WatchedCluster(0.01)
    cluster.play(200)
    trust = cluster.ledger.terms.horizon / 6
    for node in ("n0", "n7"):
        centre = deviation = 0.0
        for uid in cluster.pods_on(node):
            seen, level, variance = watched([amounts[1] for amounts in cluster.shown[uid]], HEARTBEAT, trust)
            told = seen / (seen + trust)
            centre += told * level + (1 - told) * 4.0
            deviation += math.sqrt(told * variance)
        promise = cluster.ledger.explain(node, cluster.now)["memory"].promise
        assert promise is not None
        assert promise.centre == pytest.approx(centre + 1.0)  # the system's GiB
        assert promise.spread == pytest.approx(max(deviation, 0.001 * 49.0))  # of all requests and the system


def without_readings(count: int) -> tuple[Ledger, float]:
    """Ten nodes of 64 GiB with eight tasks that ask for 1 core and 6 GiB and use 0.8 and 5; so many of them unread."""
    ledger, rng, now = Ledger(LedgerConfig(risk=0.05, horizon=120.0, steady=True)), np.random.default_rng(0), 0.0
    for node in range(10):
        ledger.upsert_node(NodeSpec(f"n{node}", (16.0, 64.0), (16.0, 64.0)))
        for task in range(8):
            size = (1.0, 6.0)
            ledger.put(PodClaim(f"{task}-n{node}", f"n{node}", size, size, Role.TASK, "a", ClaimState.RUNNING, 0.0))
    for now in np.arange(5.0, 500.0, 5.0).tolist():
        uses = {claim.uid: np.array([0.8, 5.0]) * rng.uniform(0.95, 1.05, 2) for claim in ledger.claims()}
        samples = {}
        for spec in ledger.nodes:
            used = np.sum([use for uid, use in uses.items() if uid.endswith(spec.name)], axis=0)
            samples[spec.name] = Sample(now, tuple(used.tolist()))
        read = {uid: use.tolist() for uid, use in uses.items() if int(uid[0]) >= count}
        measure(ledger, now, samples, read, list(uses))
    return ledger, now


@pytest.mark.parametrize("count", [8, 4, 1])
def test_what_pods_without_a_reading_use_is_not_given_out_again(count: int) -> None:
    """All, half or one of a node's tasks are never read one by one: their memory counts by what their node uses."""
    ledger, now = without_readings(count)
    for node in ledger.nodes:
        line = ledger.explain(node.name, now)["memory"]
        assert line.promise is not None
        assert line.promise.factor < np.inf
        unread = count / 8 * line.used
        assert line.promise.least == pytest.approx(unread + 0.9 * (line.used - unread), rel=0.03)
        assert line.promise.peak >= 0.98 * line.used
        assert line.room <= 64.0 - 0.98 * line.used


def test_a_pod_that_does_not_run_yet_uses_nothing() -> None:
    """It is bound to a node of which the system uses 1 GiB: that stays the system's."""
    cluster = settled(0.05)
    before = cluster.ledger.explain("n2", cluster.now)["memory"].promise
    cluster.ledger.put(PodClaim("late", "n2", (1.0, 4.0), (1.0, 4.0), app="other", state=ClaimState.BOUND))
    cluster.play(HEARTBEAT)
    after = cluster.ledger.explain("n2", cluster.now)["memory"].promise
    assert before is not None
    assert after is not None
    assert after.centre == pytest.approx(before.centre + 4.0, abs=0.5)
