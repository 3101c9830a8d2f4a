"""The two pools and their border (paper 004, DRESS)."""

from __future__ import annotations

from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.pools.pools import (
    Branch,
    Category,
    Pools,
    Supply,
    adjust,
    balanced_slot,
    classify,
    even,
    launch,
    median_slot,
    required,
    slot_count,
    slots,
)
from slackwater.resources import NOTHING, Resources
from slackwater_simulator.reproduction.dress import PUBLISHED
from support.builders.oracles import Oracle, rows

SMALL, LARGE = Category.SMALL, Category.LARGE
PAPER = {SMALL: "SD", LARGE: "LD"}
demands = st.lists(st.integers(1, 60), max_size=8)


def adjusted(row: Oracle, *, printed: bool = False) -> tuple[str, float]:
    """Branch and δ of one row."""
    given_ = row.inputs
    supplies = Supply(given_["A1"], given_["F1"]), Supply(given_["A2"], given_["F2"])
    found = adjust(given_["delta"], given_["Tot"], *supplies, given_["SD"], given_["LD"], printed=printed)
    return found.branch, found.delta


@rows("DRS-01")
def test_category_compares_with_the_threshold_strictly(row: Oracle) -> None:
    """Exactly θ·Tot is still small."""
    found = [PAPER[classify(demand, row.inputs["Tot"], row.inputs["theta"])] for demand in row.inputs["r"]]
    assert found == row.expected["category"]


@rows("DRS-10")
def test_small_surplus_is_lent_to_large_jobs(row: Oracle) -> None:
    """Branch 1."""
    assert adjusted(row) == (row.expected["branch"], row.near(row.expected["delta"]))


@rows("DRS-11")
def test_large_surplus_covers_what_small_jobs_lack(row: Oracle) -> None:
    """Branch 2: no more than is lacking, unless as printed."""
    assert adjusted(row) == (row.expected["branch"], row.near(row.expected["delta_capped_default"]))
    assert adjusted(row, printed=True) == (row.expected["branch"], row.near(row.expected["delta_as_printed"]))


@rows("DRS-13")
def test_idle_small_pool_is_lent_down_to_one_slot(row: Oracle) -> None:
    """No job at all: δ goes to the end of its range."""
    assert adjusted(row)[1] == row.near(row.expected["delta"])


@rows("DRS-18")
def test_published_headline_follows_from_its_two_jobs(row: Oracle) -> None:
    """It is the one that the reproduction is compared with, to the digit that was printed."""
    pairs = zip(row.inputs["capacity"], row.inputs["dress"], strict=True)
    found = mean((1 - ours / theirs) * 100 for theirs, ours in pairs)
    assert found == row.near(row.expected["mean_reduction_percent"])
    assert round(-found, 1) == PUBLISHED["10 % small"]


@rows("DRS-19")
def test_supply_counts_free_slots_once(row: Oracle) -> None:
    """F_k are releases only."""
    given_, want = row.inputs, row.expected
    small, large = Supply(given_["A1"], given_["F1"]), Supply(given_["A2"], given_["F2"])
    assert (small.total, large.total) == (want["SD_supply"], want["LD_supply"])
    assert small.total + large.total == want["F"]


def played(row: Oracle, *, overtake: bool, since: float = 0) -> list[float]:
    """Start times in a cluster of slots, whole jobs at a time; the first job never waits for `since`.

    One pool holds everybody here, so that the launch test alone decides: FIFO, or smallest first when overtaking.
    """
    given_ = row.inputs
    starts: dict[int, float] = {}
    for now in range(100):
        running = [job for job, start in starts.items() if now < start + given_["L"][job]]
        occupied = sum(given_["R"][job] for job in running)
        waiting = [j for j, submit in enumerate(given_["submit"]) if submit <= now and j not in starts]
        for job in sorted(waiting, key=lambda j: (given_["R"][j] if overtake else 0, j)):
            pools = Pools(0.0, given_["containers"], large_occupied=occupied)
            fits = launch(given_["R"][job], LARGE, pools, given_["containers"] - occupied).starts
            if fits and (now >= since or job == 0):
                starts[job] = now
                occupied += given_["R"][job]
            elif not overtake:
                break
    return [starts[job] for job in range(len(given_["R"]))]


def check_schedule(row: Oracle, starts: list[float]) -> None:
    """Starts, waits and their mean."""
    waits = [start - submit for start, submit in zip(starts, row.inputs["submit"], strict=True)]
    assert (starts, waits) == (row.expected["start"], row.expected["wait"])
    assert mean(waits) == row.expected["avg_wait"]


def last_end(row: Oracle, starts: list[float]) -> float:
    """When the last job is done."""
    return max(start + float(length) for start, length in zip(starts, row.inputs["L"], strict=True))


@rows("DRS-15", "DRS-17")
def test_figure_one_fifo_and_small_first(row: Oracle) -> None:
    """FIFO blocks behind the second job; small first fills the gaps."""
    starts = played(row, overtake=row.id == "DRS-17")
    check_schedule(row, starts)
    assert last_end(row, starts) == row.expected["makespan"]


@rows("DRS-16")
def test_figure_one_published_rearrangement(row: Oracle) -> None:
    """The published waits arise if the pairs (1, 3) and (2, 4) are formed once all four are known."""
    known = max(row.inputs["submit"])
    lengths = row.inputs["L"]
    starts = [0, known + lengths[2], known, known + lengths[2]]
    for pair in ((0, 2), (1, 3)):
        assert sum(row.inputs["R"][job] for job in pair) <= row.inputs["containers"]
    check_schedule(row, starts)
    assert last_end(row, starts) == row.expected["last_finish"]
    assert last_end(row, starts) - known == row.expected["makespan_from_t3"]


@pytest.mark.parametrize(
    ("printed", "want"), [pytest.param(False, 0.12, id="fixed"), pytest.param(True, 0.17, id="printed")]
)
def test_both_short_serves_small_jobs_first_from_what_is_left(printed: bool, want: float) -> None:
    """S1 = 8 serves 3; 5 left. S2 = 12 serves 9; 3 left. The next small job, 7, borrows 2; printed, it is charged 7."""
    found = adjust(0.1, 100, Supply(8), Supply(12), [7, 3, 40], [30, 9], printed=printed)
    assert found.branch is Branch.BOTH_SHORT
    assert found.ascending
    assert found.delta == pytest.approx(want)


def test_exact_fit_is_a_fit() -> None:
    """The printed `>` loses a job that fits exactly, and with it the border moves too far."""
    supply = Supply(5), Supply(3)
    assert adjust(0.1, 100, *supply, [5, 6], [30]).delta == pytest.approx(0.1)
    assert adjust(0.1, 100, *supply, [5, 6], [30], printed=True).delta == pytest.approx(0.15)


@pytest.mark.parametrize("tot", [0, 1, 1.9])
def test_fewer_than_two_slots_keep_the_border(tot: float) -> None:
    """There is nothing to share out."""
    found = adjust(0.3, tot, Supply(0), Supply(tot), [1], [])
    assert (found.delta, found.branch) == (0.3, Branch.KEPT)


def test_owner_bounds_hold_inside_the_papers() -> None:
    """The owner may narrow the range, never widen it."""
    idle = Supply(10), Supply(0)
    assert adjust(0.1, 100, *idle, [], [], bounds=(0.05, 0.5)).delta == 0.05
    assert adjust(0.1, 100, *idle, [], [], bounds=(0.0, 0.0)).delta == 0.01


def test_pool_headroom() -> None:
    """A1 and A2, never below nothing."""
    pools = Pools(0.1, 100, small_occupied=12, large_occupied=30)
    assert (pools.available(SMALL), pools.available(LARGE)) == (0, 60)


@pytest.mark.parametrize(
    ("demand", "free", "starts", "sentence"),
    [
        pytest.param(60, 60, True, "needs 60 slots, its pool has 60 and 60 are free", id="exact"),
        pytest.param(61, 90, False, "needs 61 slots, its pool has 60 left", id="pool-too-small"),
        pytest.param(50, 49, False, "needs 50 slots, only 49 are free on the nodes", id="nodes-too-full"),
    ],
)
def test_job_starts_when_pool_and_nodes_have_room(demand: float, free: float, starts: bool, sentence: str) -> None:
    """Both must agree, and the refusal says which did not."""
    found = launch(demand, LARGE, Pools(0.1, 100, large_occupied=30), free)
    assert (found.starts, found.sentence()) == (starts, sentence)


def test_job_larger_than_any_pool_starts_with_what_the_pool_can_be() -> None:
    """Only a declared gang is all or nothing."""
    pools = Pools(0.01, 100)
    assert launch(500, LARGE, pools, free=100).starts
    assert required(500, pools, LARGE) == 99
    assert not launch(500, LARGE, pools, free=100, gang=True).starts


def test_single_slot_can_be_used() -> None:
    """Less than two slots are not shared out, yet an empty pool may use them."""
    assert launch(1, LARGE, Pools(0.1, 1), free=1).starts
    assert not launch(1, LARGE, Pools(0.1, 1, large_occupied=1), free=0).starts


def test_without_slots_nothing_starts() -> None:
    """Tot = 0."""
    assert not launch(0, SMALL, Pools(0.1, 0), free=0).starts


def test_slots_of_requests_and_capacities() -> None:
    """The largest share decides a request, the scarcest kind a capacity; kinds outside the slot are not pooled."""
    slot = Resources(cpu=2, memory=4)
    assert slots(Resources(cpu=2, memory=8, gpu=1), slot) == 2
    assert slot_count(Resources(cpu=100, memory=40), slot) == 10
    assert slot_count(Resources(cpu=-3, memory=4), slot) == 0
    assert (slots(NOTHING, slot), slot_count(slot, NOTHING)) == (0, 0)


def test_slot_is_the_median_task() -> None:
    """One giant does not make every slot giant."""
    tasks = [Resources(cpu=1, memory=2), Resources(cpu=1, memory=4), Resources(cpu=64, memory=3)]
    assert median_slot(tasks) == Resources(cpu=1, memory=3)
    assert median_slot([]) == NOTHING


@given(
    delta=st.floats(0, 1),
    tot=st.floats(2, 1e4),
    supply=st.tuples(*[st.floats(0, 1e4)] * 4),
    small=demands,
    large=demands,
    printed=st.booleans(),
)
def test_border_stays_between_one_slot_and_all_but_one(
    delta: float, tot: float, supply: tuple[float, ...], small: list[int], large: list[int], printed: bool
) -> None:
    """δ in [1/Tot, 1 − 1/Tot], for any state and in both forms."""
    a1, f1, a2, f2 = supply
    found = adjust(delta, tot, Supply(a1, f1), Supply(a2, f2), small, large, printed=printed)
    assert 1 / tot <= found.delta <= 1 - 1 / tot


@given(small=demands, large=demands, free=st.tuples(st.integers(0, 50), st.integers(0, 50)), data=st.data())
def test_listing_order_of_demands_does_not_matter(
    small: list[int], large: list[int], free: tuple[int, int], data: st.DataObject
) -> None:
    """The border depends on who waits, not on how they are listed."""
    supplies = Supply(free[0]), Supply(free[1])
    shuffled = data.draw(st.permutations(small)), data.draw(st.permutations(large))
    assert adjust(0.4, 100, *supplies, small, large) == adjust(0.4, 100, *supplies, *shuffled)


@given(small=demands, large=demands, occupied=st.tuples(st.integers(0, 50), st.integers(0, 50)), delta=st.floats(0, 1))
def test_border_never_takes_what_is_in_use(
    small: list[int], large: list[int], occupied: tuple[int, int], delta: float
) -> None:
    """Without releases to come, a pool never shrinks below what its jobs occupy, except for the last slot."""
    pools = Pools(delta, 100, *occupied)
    supplies = Supply(pools.available(SMALL)), Supply(pools.available(LARGE))
    moved = Pools(adjust(delta, 100, *supplies, small, large).delta, 100, *occupied)
    for category, used in zip((SMALL, LARGE), occupied, strict=True):
        assert moved.size(category) >= min(used, pools.size(category)) - 1 - 1e-6


@given(st.integers(0, 300), st.floats(0, 1), st.floats(0, 200), st.integers(0, 200), st.integers(0, 200))
def test_launched_job_never_exceeds_pool_or_nodes(demand: int, delta: float, tot: float, used: int, free: int) -> None:
    """Whoever starts fits the headroom and the free slots."""
    pools = Pools(delta, tot, small_occupied=used)
    found = launch(demand, SMALL, pools, free)
    if found.starts:
        assert found.required <= min(pools.available(SMALL), free) + 1e-9


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0], ids=["nan", "inf", "negative"])
@pytest.mark.parametrize("field", ["delta", "Tot", "A1", "F1", "A2", "F2", "SD", "LD"])
def test_bad_number_names_its_field(field: str, bad: float) -> None:
    """Every input of Algorithm 3."""
    good = dict.fromkeys(["A1", "F1", "A2", "F2", "SD", "LD"], 1.0) | {"delta": 0.1, "Tot": 10.0} | {field: bad}
    supplies = Supply(good["A1"], good["F1"]), Supply(good["A2"], good["F2"])
    with pytest.raises(BadNumber) as caught:
        adjust(good["delta"], good["Tot"], *supplies, [good["SD"]], [good["LD"]])
    assert caught.value.field == field


class TestEven:
    """The border when both sides are short: max-min fair between the pools."""

    @pytest.mark.parametrize(
        ("small", "large", "border"),
        [
            pytest.param(10.0, 500.0, 0.1, id="small needs little and gets it"),
            pytest.param(80.0, 500.0, 0.5, id="both need more than half"),
            pytest.param(80.0, 30.0, 0.7, id="large needs little and gets it"),
        ],
    )
    def test_whoever_needs_less_than_half_gets_it(self, small: float, large: float, border: float) -> None:
        """Of 100 slots."""
        assert even(small, large, 100.0) == pytest.approx(border)

    def test_a_balanced_slot_counts_by_dominant_share(self) -> None:
        """20 cores, 40 GiB, slots of 1 core and 1 GiB: a task of 1 core and 3 GiB keeps 1.5 of 20 from others."""
        slot = balanced_slot(Resources(cpu=20.0, memory=40.0), Resources(cpu=1.0, memory=1.0))
        assert slots(Resources(cpu=1.0, memory=1.0), slot) == pytest.approx(1.0)
        assert slots(Resources(cpu=1.0, memory=3.0), slot) == pytest.approx(1.5)
