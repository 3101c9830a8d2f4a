"""Relief of a node whose memory nears its limit: who may be given up, and when nobody is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.ledger.victims import PERCENT, NodeMemory, PressureWatch, RunningTask, near, observe, tried, victim

QUIET = PressureWatch(since=0)
FULL = NodeMemory(allocatable=100, used=96, at=100)


def task(uid: str, started: float = 0, used: float = 20, declared: float = 10, **more: bool | float) -> RunningTask:
    """A task that uses twice what it declared."""
    return RunningTask(uid, started, used, declared, bool(more.get("controlled", True)), more.get("percent", PERCENT))


def test_youngest_task_above_its_declared_request_is_chosen() -> None:
    """Younger ones that keep to their word stay, a bare pod that nobody would bring back, and who came afterwards."""
    tasks = [
        task("old", 0),
        task("young", 50),
        task("modest", 90, used=5),
        task("exact", 91, used=10),
        task("bare", 92, controlled=False),
        task("namesake", 100),
    ]
    assert victim(QUIET, FULL, tasks) == tasks[1]


@pytest.mark.parametrize(
    "memory",
    [
        pytest.param(replace(FULL, used=94.9), id="memory-is-left"),
        pytest.param(replace(FULL, stale=True), id="samples-are-stale"),
        pytest.param(replace(FULL, at=0), id="measured-before-we-looked"),
        pytest.param(replace(FULL, allocatable=0), id="a-node-that-offers-none"),
    ],
)
def test_nobody_is_given_up_without_a_fresh_sample_of_a_full_node(memory: NodeMemory) -> None:
    """All of them have outgrown what they declared."""
    assert victim(QUIET, memory, [task("a"), task("b")]) is None


def test_nobody_is_given_up_for_the_excess_of_others() -> None:
    """Unmanaged pods fill the node; every task uses what it declared, or there is none."""
    assert victim(QUIET, FULL, [task("a", used=10), task("b", used=9)]) is None
    assert victim(QUIET, FULL, []) is None


def test_equal_ages_choose_alike_in_any_order() -> None:
    """The listing does not decide."""
    pair = [task("a"), task("b")]
    assert victim(QUIET, FULL, pair) == victim(QUIET, FULL, pair[::-1]) == pair[1]


def test_each_task_is_held_to_the_percentage_of_its_own_queue() -> None:
    """Two queues share the node: one gives tasks up from 90 % on, the other only at 99 %."""
    late, early = task("late", 50, percent=99), task("early", 0, percent=90)
    assert victim(QUIET, FULL, [late, early]) == early


def test_one_peak_costs_one_task() -> None:
    """Nobody more while it leaves, nor by a sample from before its end; the next one decides anew."""
    tasks = [task("a"), task("b", 5)]
    assert victim(QUIET, FULL, tasks) == tasks[1]
    watch = observe(tried(QUIET, FULL, leaves=True), 102, leaving=True)
    assert victim(watch, replace(FULL, at=105), tasks) is None
    watch = observe(watch, 130, leaving=False)
    assert victim(watch, replace(FULL, at=129), tasks[:1]) is None
    watch = observe(watch, 140, leaving=False)
    assert victim(watch, replace(FULL, at=131), tasks[:1]) == tasks[0]


def test_a_try_that_failed_is_repeated_with_the_next_sample_only() -> None:
    """A disruption budget said no; nothing is leaving."""
    watch = observe(tried(QUIET, FULL, leaves=False), 110, leaving=False)
    assert victim(watch, FULL, [task("a")]) is None
    assert victim(watch, replace(FULL, at=101), [task("a")]) == task("a")


def test_numbers_that_are_none_are_refused() -> None:
    """NaN names its field."""
    with pytest.raises(BadNumber, match="used"):
        near(replace(FULL, used=float("nan")))
    with pytest.raises(BadNumber, match="now"):
        observe(QUIET, float("nan"), leaving=True)


AMOUNTS = st.floats(0, 200)
TASKS = st.lists(
    st.builds(RunningTask, st.text("abc", max_size=3), AMOUNTS, AMOUNTS, AMOUNTS, st.booleans(), st.floats(50, 100)),
    max_size=8,
    unique_by=lambda each: each.uid,
)


@given(memory=st.builds(NodeMemory, AMOUNTS, AMOUNTS, st.floats(-100, 300), st.booleans()), tasks=TASKS)
def test_whoever_keeps_to_its_word_is_never_named(memory: NodeMemory, tasks: list[RunningTask]) -> None:
    """Nor anybody below the threshold, or without a controller, or by a stale or old sample; else the youngest is."""
    chosen = victim(QUIET, memory, tasks)
    allowed = [
        each
        for each in tasks
        if each.controlled
        and each.used > each.declared
        and 0 < memory.allocatable * each.percent / 100 <= memory.used
        and not memory.stale
        and memory.at > max(0, each.started)
    ]
    assert (chosen is None) == (not allowed)
    assert chosen is None or (chosen in allowed and chosen.started == max(each.started for each in allowed))


@given(
    lives=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    lags=st.lists(st.integers(0, 30), min_size=10, max_size=40),
)
def test_between_two_evictions_the_node_was_measured_without_the_first(lives: list[int], lags: list[int]) -> None:
    """A look every ten seconds at a node that stays full, samples of any age, pods that take long to end."""
    ends: dict[str, float] = {}  # when each pod that was given up ends
    watch = PressureWatch(since=0)
    for look, lag in enumerate(lags, start=1):
        now = 10.0 * look
        watch = observe(watch, now, leaving=any(end > now for end in ends.values()))
        memory = NodeMemory(allocatable=100, used=99, at=now - lag)
        chosen = victim(watch, memory, [task(f"t{at}", at) for at in range(len(lives)) if f"t{at}" not in ends])
        if chosen is not None:
            assert all(end < memory.at for end in ends.values())
            ends[chosen.uid] = now + lives[len(ends)]
            watch = tried(watch, memory, leaves=True)


@pytest.mark.parametrize("behind", [0.0, 60.0, 3600.0])
def test_no_sample_costs_two_tasks_however_far_our_clock_is_behind(behind: float) -> None:
    """A task was given up by a sample and has left: the next one needs another sample, whatever our clock says."""
    watch = tried(PressureWatch(since=90 - behind), FULL, leaves=True)
    watch = observe(watch, 110 - behind, leaving=True)
    watch = observe(watch, 120 - behind, leaving=False)
    assert victim(watch, FULL, [task("a"), task("b")]) is None
