"""What was learned outlives a process, within bounds, and nothing that was not learned is believed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from slackwater.errors import InvalidInput
from slackwater.estimation.calibration import MACHINES, NOTHING_CAME, SCORES, Calibration, Kept
from slackwater.ledger.learnedstate import Learned, LearnedRisk
from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.roles import Role
from slackwater_extender.sampler.learnedcodec import (
    LARGEST,
    LONGEST_NAME,
    MOST_APPS,
    MOST_BYTES,
    MOST_KINDS,
    MOST_LESSONS,
    MOST_RATIOS,
    MOST_SCORES,
    MOST_TEXT,
    VERSION,
    decode,
    encode,
)
from support.builders.measuring import measure

KINDS = ("cpu", "memory")
GIB = 2.0**30
KNOWN = 1.15 * 0.875  # a peak of 1 GiB with its margin, of which the allowance keeps a part already
amounts = st.floats(0, 1e15).map(lambda value: float(f"{value:.4g}"))
lessons = st.lists(st.lists(amounts, min_size=4, max_size=4), max_size=16).map(
    lambda found: np.array(found, np.float64).reshape(-1, 2, 2)
)
kept = st.builds(Kept, promises=st.floats(100, 200), exceeded=st.floats(0, 100))
risks = st.builds(
    LearnedRisk,
    risk=st.sampled_from([0.001, 0.01, 0.05]),
    horizon=st.sampled_from([600.0, 3600.0]),
    scores=st.lists(amounts.map(lambda value: value - 5.0 if value < 9 else value), max_size=50).map(np.array),
    kept=kept,
    machines=st.dictionaries(st.text(min_size=1, max_size=20), kept, max_size=MACHINES),
)
everything = st.builds(
    Learned,
    kinds=st.just(KINDS),
    apps=st.dictionaries(st.text(min_size=1, max_size=60), lessons, max_size=20),
    ratios=st.lists(st.floats(1, 9), min_size=2 * MOST_RATIOS, max_size=2 * MOST_RATIOS).map(
        lambda found: np.array(found).reshape(2, MOST_RATIOS)
    ),
    risks=st.dictionaries(st.sampled_from(KINDS), risks),
)


@given(everything)
def test_what_is_written_is_read_back(learned: Learned) -> None:
    """With four digits of every number, in the same order."""
    found = decode(encode(learned))
    assert list(found.apps) == list(learned.apps)
    assert all(np.allclose(found.apps[name], told, rtol=1e-3) for name, told in learned.apps.items())
    assert np.allclose(found.ratios, learned.ratios, rtol=1e-3)
    assert {kind: (it.risk, it.horizon, len(it.scores), it.kept, it.machines) for kind, it in found.risks.items()} == {
        kind: (it.risk, it.horizon, len(it.scores), it.kept, it.machines) for kind, it in learned.risks.items()
    }
    assert encode(found) == encode(decode(encode(found)))


@given(st.binary(max_size=400) | st.binary(max_size=400).map(gzip.compress))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """With our own error, whatever they are."""
    with pytest.raises(InvalidInput):
        decode(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["kinds", "apps", "ratios", "risks", "version"]), json_values)
def test_a_part_of_another_form_is_read_or_refused(part: str, value: Any) -> None:
    """Never an error that is not ours."""
    body = {"version": VERSION, "kinds": ["cpu"], "apps": [], "ratios": [[1.0] * MOST_RATIOS], "risks": {}} | {
        part: value
    }
    try:
        found = decode(gzip.compress(json.dumps(body).encode()))
    except InvalidInput:
        return
    assert encode(found)


def test_what_is_too_much_is_left_out_by_age() -> None:
    """More apps than may be kept, with lessons that hardly shrink: the apps asked for last stay."""
    rng = np.random.default_rng(0)
    apps = {f"app-{number} {rng.random()}": rng.random((16, 2, 2)) * 1e9 for number in range(MOST_APPS + 100)}
    made = encode(Learned(KINDS, apps, np.ones((2, MOST_RATIOS))))
    kept = list(decode(made).apps)
    assert len(made) <= MOST_BYTES
    assert 500 < len(kept) < MOST_APPS
    assert kept == list(apps)[: len(kept)]


def test_what_is_written_is_small_enough_to_be_read() -> None:
    """Also where it is much the same and packs well: with many kinds the text grows, and its gzip does not."""
    kinds = tuple(f"kind-{number}" for number in range(12))
    apps = {f"app-{number}": np.full((16, 2, 12), 1.234e9) for number in range(MOST_APPS)}
    made = encode(Learned(kinds, apps, np.ones((12, MOST_RATIOS))))
    assert len(gzip.decompress(made)) < MOST_TEXT
    assert list(decode(made).apps)[:2] == ["app-0", "app-1"]


@pytest.mark.parametrize("kinds", [MOST_KINDS, MOST_KINDS + 1, 300])
def test_whatever_is_written_is_read_with_everything_at_its_bound_or_beyond(kinds: int) -> None:
    """A device plugin names every device file: of kinds that are measured nothing is lost."""
    names = (*(f"example.com/tty{number}" for number in range(kinds - 2)), *KINDS)
    lessons = np.zeros((MOST_LESSONS, 2, kinds))
    lessons[:, 0, -2:], lessons[:, 1] = (1.0, 2 * LARGEST), 30.0
    apps = {"a": lessons, "b" * LONGEST_NAME: lessons, "c" * (LONGEST_NAME + 1): lessons}
    ratios = np.ones((kinds, MOST_RATIOS))
    ratios[-1] = 1.5
    machines = {f"m{number}": Kept(2.0, 1.0) for number in range(MACHINES)}
    risk = LearnedRisk(0.01, 600.0, np.full(SCORES + 1, 2 * LARGEST), Kept(9.0, 9.0), machines)
    found = decode(encode(Learned(names, apps, ratios, {"memory": risk})))
    assert list(found.apps) == ["a", "b" * LONGEST_NAME]
    assert len(found.kinds) == MOST_KINDS
    assert found.kinds[-2:] == KINDS
    assert found.apps["a"][-1, :, -2:].tolist() == [[1.0, LARGEST], [30.0, 30.0]]
    assert found.ratios[-2:, 0].tolist() == [1.0, 1.5]
    assert (len(found.risks["memory"].scores), found.risks["memory"].machines) == (SCORES, machines)


def test_a_ledger_made_anew_forgets_no_app() -> None:
    """Only what is written is bounded: terms may change at any time, with more apps known than an object holds."""
    old = Ledger()
    peaks = old._intake.peaks
    apps = np.array([peaks.identify(f"ns/app-{number}/") for number in range(MOST_APPS + 5)])
    peaks.learn(apps, np.ones((len(apps), 2)), np.ones((len(apps), 2)))
    made = Ledger()
    made.remember(old.learned())
    assert len(made.learned().apps) == MOST_APPS + 5
    assert len(made.learned(MOST_APPS).apps) == MOST_APPS


SHAPES: dict[str, Callable[[np.random.Generator, NDArray[np.float64]], NDArray[np.float64]]] = {
    "normal": lambda rng, normal: normal,
    "half never tested": lambda rng, normal: np.where(rng.random(len(normal)) < 0.5, NOTHING_CAME, normal),
    "one in 2,000 far out": lambda rng, normal: np.where(rng.random(len(normal)) < 5e-4, 1e3 * normal**2, normal),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [SCORES, SCORES + 5_000, 900])
def test_a_restart_alone_does_not_change_the_margin(shape: str, count: int) -> None:
    """Few of the scores are written, and as many are known as before: z and what it is taken for stay."""
    rng = np.random.default_rng(1)
    scores = SHAPES[shape](rng, rng.standard_normal(count))
    for risk in (0.001, 0.01, 0.05):
        told = Learned(KINDS, {}, np.ones((2, MOST_RATIOS)), {"memory": LearnedRisk(risk, 600.0, scores)})
        found = decode(encode(told)).risks["memory"].scores
        assert len(found) == min(count, SCORES)
        before, after = Calibration(risk, overlap=12.0), Calibration(risk, overlap=12.0)
        before.restore(scores, Kept(), {})
        after.restore(found, Kept(), {})
        assert after.asked == pytest.approx(before.asked, rel=0.01)
        assert after.factor == pytest.approx(before.factor, rel=0.05, abs=0.01)


def test_few_scores_are_written() -> None:
    """The largest tail as it is."""
    risk = LearnedRisk(0.01, 600.0, np.arange(40_000.0))
    made = encode(Learned(KINDS, {}, np.ones((2, MOST_RATIOS)), {"memory": risk}))
    written = json.loads(gzip.decompress(made))["risks"]["memory"]
    assert (written["count"], len(written["scores"]), written["scores"][0]) == (40_000, MOST_SCORES, 0.0)
    assert len(made) < 20_000


def test_a_bomb_is_not_unpacked() -> None:
    """A kilobyte that becomes ten megabytes."""
    with pytest.raises(InvalidInput, match="cut off"):
        decode(gzip.compress(b" " * (MOST_TEXT + 10)))


def ledger(**terms: Any) -> Ledger:
    """One node of 64 cores and 256 GiB."""
    made = Ledger(LedgerConfig(heartbeat=5.0, **terms))
    made.upsert_node(NodeSpec("n", (64.0, 256 * GIB), (64.0, 256 * GIB)))
    return made


def task(uid: str, started: float) -> PodClaim:
    """A task of the app `etl` that asks for 4 GiB."""
    return PodClaim(uid, "n", (1.0, 4 * GIB), (1.0, 4 * GIB), Role.TASK, "batch/etl", ClaimState.RUNNING, started)


def taught(**terms: Any) -> Ledger:
    """Ten tasks have used a quarter of what they asked for."""
    made = ledger(**terms)
    for number in range(10):
        made.put(task(f"t{number}", 0.0))
    for now in (5.0, 10.0, 15.0):
        measure(made, now, {"n": Sample(now, (2.0, 10 * GIB))}, {f"t{n}": (0.2, GIB) for n in range(10)})
    return made


def charge(made: Ledger) -> float:
    """What a new task of the app is charged, in GiB."""
    before = made.explain("n", 100.0)["memory"].known
    made.put(task("new", 100.0))
    return (made.explain("n", 100.0)["memory"].known - before) / GIB


def test_a_ledger_that_remembers_charges_new_pods_as_the_old_one_did() -> None:
    """A quarter of the request and 15 %, instead of the request."""
    fresh, remembering = ledger(), ledger()
    remembering.remember(decode(encode(taught().learned())))
    assert charge(fresh) == 4.0
    assert charge(remembering) == pytest.approx(charge(taught()), rel=1e-3) == pytest.approx(KNOWN, rel=1e-3)


def test_memory_of_an_app_that_nobody_knows_is_believed_as_it_is_asked_for() -> None:
    """A first task that grows all its life has shown a tenth of its 4 GiB after a minute; of CPU less is believed."""
    made = ledger()
    made.put(task("first", 0.0))
    for now in np.arange(0.0, 65.0, 5.0).tolist():
        use = (0.1, max(0.1 * now / 60.0, 0.001) * 4 * GIB)
        measure(made, now, {"n": Sample(now, use)}, {"first": use})
    lines = made.explain("n", 60.0)
    assert lines["memory"].estimate == pytest.approx(4 * GIB, rel=0.02)
    assert lines["cpu"].estimate < 0.9
    made.remove("first")
    made.put(task("second", 60.0))
    measure(made, 65.0, {"n": Sample(65.0, (0.1, 0.1 * GIB))}, {"second": (0.1, 0.1 * GIB)})
    assert made.explain("n", 65.0)["memory"].known == pytest.approx(4 * GIB), "one pod's word is not enough to cap"


def test_what_is_known_already_is_not_overwritten() -> None:
    """News is worth more than memory."""
    made, other = taught(), taught()
    old = Learned(KINDS, {name: told * 3 for name, told in other.learned().apps.items()}, np.ones((2, MOST_RATIOS)))
    made.remember(old)
    assert charge(made) == pytest.approx(KNOWN, rel=1e-3)


def test_a_kind_that_was_not_there_is_unknown() -> None:
    """GPUs came: what was learned of CPU and memory stays, in its place."""
    made = Ledger(LedgerConfig(kinds=("gpu", "cpu", "memory")))
    made.remember(taught().learned())
    (told,) = made.learned().apps.values()
    assert told[0, 0].tolist() == [0.0, 0.2, GIB]


WIDE = ("nvidia.com/gpu", "memory", "cpu")


def charge_beside_devices(learned: Learned) -> float:
    """What a new task is charged by a ledger of other kinds in another order that remembers this, in GiB."""
    made = Ledger(LedgerConfig(kinds=WIDE))
    made.upsert_node(NodeSpec("n", (8.0, 256 * GIB, 64.0)))
    made.remember(learned)
    size = (0.0, 4 * GIB, 1.0)
    made.put(task("new", 100.0)._replace(declared=size, native=size))
    return made.explain("n", 100.0)["memory"].known / GIB


def test_what_was_learned_of_an_app_is_known_beside_kinds_that_came_later() -> None:
    """A node with devices joined, or kinds came in another order after a restart: the app is the same."""
    assert charge_beside_devices(taught().learned()) == pytest.approx(KNOWN, rel=1e-3)


@pytest.mark.parametrize(
    ("kinds", "before", "now"),
    [
        (KINDS, "batch/etl (1.0, 4294967296.0)", "batch/etl cpu=1.0 memory=4294967296.0"),
        (WIDE, "batch/etl (0.0, 4294967296.0, 1.0) as driver", "batch/etl cpu=1.0 memory=4294967296.0 as driver"),
        (WIDE, "batch/etl (2.0, 4.0, 1.0) driver", "batch/etl cpu=1.0 memory=4.0 nvidia.com/gpu=2.0 driver"),
        ((*KINDS, "gpu"), "batch/etl (1.0, 4.0)", "batch/etl cpu=1.0 memory=4.0"),
        (("cpu",), "batch/etl (1.5,)", "batch/etl cpu=1.5"),
        (KINDS, "batch/etl", "batch/etl"),
        (KINDS, "batch/etl (1.0, 4.0, 1.0)", "batch/etl (1.0, 4.0, 1.0)"),
        (KINDS, "batch/etl (1.0.0, two)", "batch/etl (1.0.0, two)"),
    ],
)
def test_names_that_an_earlier_version_wrote_are_read(kinds: tuple[str, ...], before: str, now: str) -> None:
    """They held the amounts of all kinds in order, later ones at the end; those of whole apps are what they were."""
    told = np.ones((1, 2, len(kinds)))
    written = encode(Learned(kinds, {before: told}, np.ones((len(kinds), MOST_RATIOS))))
    assert list(decode(written).apps) == [now]


def test_what_an_earlier_version_wrote_last_of_an_app_counts() -> None:
    """Learned twice, before and after a kind came: what was asked for last comes first."""
    apps = {"etl (1.0, 4.0, 0.0)": np.full((1, 2, 3), 2.0), "etl (1.0, 4.0)": np.ones((1, 2, 3))}
    found = decode(encode(Learned((*KINDS, "gpu"), apps, np.ones((3, MOST_RATIOS))))).apps
    assert {name: told.max() for name, told in found.items()} == {"etl cpu=1.0 memory=4.0": 2.0}


def compared(made: Ledger, horizon: float) -> Ledger:
    """Promises were made and compared for a while."""
    made.put(task("t", 0.0))
    for now in np.arange(5.0, 40 * horizon, 5.0).tolist():
        measure(made, now, {"n": Sample(now, (0.2, GIB))}, {"t": (0.2, GIB * (1.0 + 0.2 * (now % 35 == 0)))})
    return made


def test_a_risk_is_kept_from_the_first_sample_on() -> None:
    """The factor z is what it was, and no horizon has to pass before it is known; of another horizon it is not."""
    terms = {"risk": 0.05, "horizon": 60.0}
    old = compared(ledger(**terms), 60.0)
    learned = decode(encode(old.learned()))
    same, other = ledger(**terms), ledger(risk=0.05, horizon=120.0)
    same.remember(learned)
    other.remember(learned)
    assert same.risks()["memory"].factor == pytest.approx(old.risks()["memory"].factor, rel=1e-3)
    assert same.risks()["memory"].kept.realised == pytest.approx(old.risks()["memory"].kept.realised, rel=1e-3)
    assert other.risks()["memory"].young


def test_a_ledger_without_a_use_for_what_is_known_of_a_risk_passes_it_on() -> None:
    """Where none is stated, or one for another horizon; what is learned here takes its place."""
    risk = LearnedRisk(0.05, 60.0, np.random.default_rng(0).normal(size=1000), Kept(1000.0, 40.0))
    learned = Learned(KINDS, {}, np.ones((2, MOST_RATIOS)), {"memory": risk})
    for terms in ({}, {"risk": 0.05, "horizon": 120.0}):
        between, last = ledger(**terms), ledger(risk=0.05, horizon=60.0)
        between.remember(learned)
        last.remember(between.learned())
        assert last.risks()["memory"].count == 1000
    own = ledger(risk=0.05, horizon=120.0)
    own.remember(learned)
    assert compared(own, 120.0).learned().risks["memory"].horizon == 120.0


def test_what_is_known_by_type_of_machine_survives_a_restart() -> None:
    """Where more was exceeded than asked, the margin stays wider."""
    machines = {"m5": Kept(1000.0, 5.0), "old": Kept(1000.0, 400.0)}
    risk = LearnedRisk(0.01, 600.0, np.random.default_rng(0).normal(size=1000), Kept(2000.0, 40.0), machines)
    made = ledger(risk=0.01, horizon=600.0)
    made.remember(decode(encode(Learned(KINDS, {}, np.ones((2, MOST_RATIOS)), {"memory": risk}))))
    found = made.risks()["memory"]
    assert found.machines == machines
    assert found.factor_of("old") > found.factor_of("m5")


@pytest.mark.parametrize("machines", [{f"t{n}": [1, 0] for n in range(MACHINES + 1)}, {"": [1, 0]}, {"a": [0, 1]}, [1]])
def test_types_of_machines_that_cannot_have_been_learned_are_refused(machines: object) -> None:
    """Too many, without a name, more exceeded than promised, or no table."""
    risk = {"risk": 0.01, "horizon": 1.0, "count": 0, "scores": [], "promises": 0, "exceeded": 0, "machines": machines}
    body = {"version": VERSION, "kinds": ["cpu"], "apps": [], "ratios": [[1.0] * MOST_RATIOS], "risks": {"cpu": risk}}
    with pytest.raises(InvalidInput):
        decode(gzip.compress(json.dumps(body).encode()))
