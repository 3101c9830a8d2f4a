"""What an owner's bounds of delta keep for the other side: its share of every kind, and no more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import Round, decide
from slackwater.cycle.snapshot import App, PodGroup, Pool, Queue, Snapshot
from slackwater.pools.pools import Category, balanced_slot, elastic, slots
from slackwater.resources import NOTHING, Resources, total
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, group, pool, queue, released, running_app, snapshot, task_app

GPU = "nvidia.com/gpu"
NODES = Resources({"cpu": 64, "memory": 256, GPU: 20})
TRAINING = Resources({"cpu": 1, "memory": 4, GPU: 1})
CORE = Resources({"cpu": 1, "memory": 0.5})


def app(name: str, request: Resources, *, running: int = 0, held: int = 0, side: Category = Category.LARGE) -> App:
    """An app without a driver."""
    pods = PodGroup("task", Role.TASK, request, tuple(f"{name}/{n}" for n in range(held)), running=running)
    return App(name, "team", 0.0, (pods,), started=running > 0, category=side)


def seen(*apps: App, median: Resources = TRAINING, others: Resources | None = None, **bounds: float) -> Snapshot:
    """A pool over 64 cores and 20 GPUs with these bounds; `others` is what pods outside the queue hold."""
    held = [group.request * group.running for each in apps for group in each.groups]
    free = NODES - total((*held, others or Resources()))
    slot = balanced_slot(NODES, median)
    tot = elastic(sum(slots(each, slot) for each in held), free, slot)
    delta = max(0.1, bounds.get("low", 0.0))
    guard = replace(Pool("default", slot, tot=tot, nominal=20.0, delta=delta), **bounds)  # type: ignore[arg-type]
    on = Queue("default", NODES, free=free, total=NODES, pool="default")
    return Snapshot(0.0, (on,), apps, (guard,))


@pytest.mark.parametrize("outside", [False, True], ids=["held by the side itself", "held by pods outside the queue"])
@pytest.mark.parametrize("running", [0, 1, 5], ids="{} run".format)
def test_a_scarce_kind_keeps_nobody_from_one_that_is_plenty(outside: bool, running: int) -> None:
    """Of 64 cores small apps are kept 6.4, however few GPUs are free."""
    jobs = app("etl", CORE, running=running, held=80)
    if outside:
        at = seen(jobs, others=Resources({GPU: 20}), low=0.1)
        assert running + len(released(decide(at))) == 57
    else:
        at = seen(app("training", TRAINING, running=18), jobs, low=0.1)
        assert running + len(released(decide(at))) == 57 - 18
    assert {hold.claim for hold in holds(at, decide(at))} == {Claim.OWNER}


@pytest.mark.parametrize("busy", [0, 30], ids=["small apps are idle", "small apps hold cores alone"])
def test_of_the_scarce_kind_itself_the_share_is_kept(busy: int) -> None:
    """Two of 20 GPUs stay free for small apps, also while these take slots by cores and the border would give more."""
    small = [app("small", CORE, running=busy, side=Category.SMALL)] if busy else []
    at = seen(app("training", TRAINING, running=18, held=5), *small, low=0.1)
    outcome = decide(at)
    assert released(outcome) == []
    said = outcome.verdicts["training"]
    assert said.reason is WaitReason.POOL
    assert (
        said.sentence == "bounds of delta leave large apps 18 nvidia.com/gpu of 20: 18 is taken and this app asks for 1"
    )


def test_what_the_other_side_holds_of_its_share_is_not_kept_again() -> None:
    """Small apps have one of their two GPUs: one more is kept."""
    small = app("small", TRAINING, running=1, side=Category.SMALL)
    assert len(released(decide(seen(app("training", TRAINING, running=16, held=5), small, low=0.1)))) == 2


def test_a_maximum_keeps_the_share_of_large_apps() -> None:
    """Small apps leave them a tenth of the GPUs, and of the cores."""
    small = app("small", TRAINING, running=18, held=5, side=Category.SMALL)
    jobs = app("etl", CORE, held=80, side=Category.SMALL)
    assert released(decide(seen(small, high=0.9))) == []
    assert len(released(decide(seen(small, jobs, high=0.9)))) == 57 - 18


def test_kinds_that_a_slot_has_none_of_are_not_kept() -> None:
    """Most tasks ask for no GPU, so GPUs are not pooled."""
    at = seen(app("training", TRAINING, running=18, held=5), median=CORE, low=0.1)
    assert len(released(decide(at))) == 2


def test_a_side_of_which_no_task_runs_runs_one() -> None:
    """Small apps have all of the cores for themselves but those of a slot, of which there are 3.2."""
    at = seen(app("etl", Resources(cpu=4), held=80), low=0.99)
    assert released(decide(at)) == ["etl/0"]
    assert len(released(decide(seen(app("etl", CORE, held=80), low=0.99)))) == 3


def test_an_app_that_waits_is_told_the_bound_that_keeps_room_from_it() -> None:
    """It would borrow cores beyond the border of its pool, but of memory large apps have all that they may."""
    heavy = app("heavy", Resources(cpu=0.5, memory=12.8), running=18)
    at = seen(heavy, app("etl", CORE, held=40), median=Resources(cpu=0.5, memory=12.8), low=0.1)
    said = decide(at).verdicts["etl"]
    assert (said.reason, said.position) == (WaitReason.POOL, 1)
    assert (said.numbers["kind"], said.numbers["ask"]) == ("memory", 0.5)
    assert "bounds of delta leave large apps" in said.sentence


def test_growth_pods_count_towards_the_bound() -> None:
    """Two apps of a side that may hold 10 of 20 cores, and hold 8, ask for two machines together, not for four."""
    on = queue(20, free=0, maximum=cpu(64), pool="default", growth=8)
    small = running_app("small", running=11, category=Category.SMALL)
    apps = [running_app(f"app{n}", n, running=3, held=4, category=Category.LARGE) for n in range(2)]
    outcome = decide(snapshot(small, *apps, on=on, pools=(pool(20, 0.5, low=0.5),)))
    assert len([release for release in outcome.releases if release.growth]) == 2


@pytest.mark.parametrize("asking", [0, 1, 3], ids="{} of them".format)
def test_growth_pods_give_nobody_more_of_the_nodes_that_are_there(asking: int) -> None:
    """Large apps may hold 10 of 20 cores and hold 8: pods of small ones that wait for machines of 11 cores add none."""
    coming = tuple(f"small/growing/{number}" for number in range(asking))
    groups = (group("small", running=2), group("small", size=11.0, stage="wide", released=asking, growing=coming))
    small = App("small", "team", 0.0, groups, started=True, category=Category.SMALL)
    large = running_app("large", running=7, held=20, category=Category.LARGE)
    on = queue(20, free=10, maximum=cpu(64), pool="default", growth=0)
    table = node_table([[10.0]], total=[[20.0]], kinds=("cpu",))
    outcome = decide(snapshot(small, large, on=on, pools=(pool(20, 0.5, low=0.5),), nodes=table))
    assert len(released(outcome)) == 2


@pytest.mark.parametrize("asking", [0, 1, 3], ids="{} of them".format)
def test_growth_pods_keep_no_pod_of_their_own_side_from_the_nodes_that_are_there(asking: int) -> None:
    """Large apps may hold 10 of 20 cores and hold none: three more that wait for machines of 11 cores hold none."""
    coming = tuple(f"large/growing/{number}" for number in range(asking))
    groups = (group("large", held=20), group("large", size=11.0, stage="wide", released=asking, growing=coming))
    large = App("large", "team", 0.0, groups, started=True, category=Category.LARGE)
    on = queue(20, free=20, maximum=cpu(64), pool="default", growth=4)
    table = node_table([[10.0]] * 2, total=[[10.0]] * 2, kinds=("cpu",))
    at = snapshot(large, on=on, pools=(pool(20, 0.5, low=0.5),), nodes=table)
    outcome = decide(at)
    assert [release.growth for release in outcome.releases] == [False] * 10
    assert {hold.claim for hold in holds(at, outcome)} == {Claim.OWNER}


@pytest.mark.parametrize("gang", [False, True], ids=["pods", "gang"])
@pytest.mark.parametrize("coming", [0, 1], ids=["nothing was asked for", "a machine is on its way"])
def test_where_there_is_no_node_yet_a_side_asks_for_one_pod_or_gang(gang: bool, coming: int) -> None:
    """It is larger than a slot, which is all that a share of nothing leaves it: it would never run."""
    first = group("first", size=4.0, released=coming, growing=tuple(f"first/{number}" for number in range(coming)))
    asked = App("first", "team", 0.0, (first,), started=True, category=Category.LARGE)
    late = replace(task_app("late", 1, held=2, size=4.0, category=Category.LARGE), gang=gang)
    on = queue(0, maximum=cpu(64), pool="default", growth=4)
    table = node_table([[0.0]], total=[[0.0]], kinds=("cpu",))
    outcome = decide(snapshot(asked, late, on=on, pools=(pool(1, 0.5, low=0.1),), nodes=table))
    assert len(outcome.releases) == (0 if coming else 2 if gang else 1)
    assert all(release.growth for release in outcome.releases)


def test_a_growth_pod_that_has_found_its_node_counts_there() -> None:
    """Its room is no longer free, and its side holds it: nothing else changes for the other one."""
    for growing in ((), ("small/growing/0",)):
        groups = (group("small", running=3 - len(growing), released=len(growing), growing=growing),)
        small = App("small", "team", 0.0, groups, started=True, category=Category.SMALL)
        large = running_app("large", running=7, held=20, category=Category.LARGE)
        free = 9.0 + len(growing)
        table = node_table([[free]], total=[[20.0]], kinds=("cpu",))
        on = queue(20, free=free, maximum=cpu(64), pool="default", growth=0)
        outcome = decide(snapshot(small, large, on=on, pools=(pool(20, 0.5, low=0.5),), nodes=table))
        assert len(released(outcome)) == 2


def test_a_gang_that_cannot_go_keeps_nobody_of_its_side_from_asking_for_nodes() -> None:
    """Idle large apps may run one gang; the first finds no room, and machines for it are beyond the queue's maximum."""
    gang = replace(task_app("gang", 1, held=6, size=1.45, category=Category.LARGE), gang=True)
    behind = task_app("behind", 395, size=2.0, category=Category.LARGE)
    small = running_app("small", running=2, category=Category.SMALL)
    on = queue(10, free=4, maximum=cpu(18), pool="default", growth=16)
    table = node_table([[1.0]] * 4, total=[[2.5]] * 4, kinds=("cpu",))
    at = snapshot(small, gang, behind, on=on, pools=(pool(10, low=0.3),), nodes=table)
    outcome = decide(replace(at, now=400.0))
    assert [(release.uid, release.growth) for release in outcome.releases] == [("behind/task/0", True)]


def led(name: str, driver: Resources, *, held: int = 0) -> App:
    """A small app with one driver, which runs or is held; its tasks, if it had any, have ended."""
    lead = PodGroup("driver", Role.DRIVER, driver, tuple(f"{name}/{n}" for n in range(held)), running=1 - held)
    tasks = () if held else (PodGroup("task", Role.TASK, CORE, finished=1),)
    groups = (lead, *tasks)
    return App(name, "team", 1.0, groups, started=not held, has_driver=True, task_request=CORE, category=Category.SMALL)


def test_what_an_owners_bound_keeps_out_keeps_no_driver_of_the_other_side_out() -> None:
    """Two GPUs are kept from a gang that its pool would let in: 002 reserves nothing for tasks that may not go."""
    busy = [led(f"busy{n}", Resources(cpu=0.5, memory=8)) for n in range(15)]
    late = led("late", Resources(cpu=0.5, memory=52), held=1)
    gang = replace(app("gang", TRAINING, held=2), gang=True)
    for others in ((), (gang,)):
        at = seen(app("training", TRAINING, running=18), *busy, late, *others, low=0.1)
        outcome = decide(replace(at, window=2))
        assert released(outcome) == ["late/0"]
    assert "bounds of delta leave large apps 18 nvidia.com/gpu of 20" in outcome.verdicts["gang"].sentence


@given(
    low=st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.5, 0.9, 1.0]),
    size=st.sampled_from([0.5, 1.0, 3.0]),
    small=st.integers(0, 30),
    large=st.integers(0, 40),
    free=st.integers(0, 40),
)
def test_where_there_is_one_kind_a_side_gets_its_share_of_the_slots(
    low: float, size: float, small: int, large: int, free: int
) -> None:
    """(1 − low)·Tot or one slot, less what it holds, as far as there is room; one task where none runs."""
    tot = small + large * size + free
    assume(tot >= 2)
    jobs = app("large", cpu(size), running=large, held=100)
    busy = replace(app("small", cpu(1), running=small, side=Category.SMALL), started=True)
    at = snapshot(jobs, busy, on=queue(200, free=free, pool="default"), pools=(pool(tot, max(0.1, low), low=low),))
    may = int((max((1 - low) * tot, 1) - large * size) / size + 1e-6)
    assert len(released(decide(at))) == min(int(free / size), max(may, 0 if large else 1))


def test_a_gang_is_bounded_as_a_whole() -> None:
    """Ten cores are left to its side: a gang of ten goes, one of eleven waits with the number that decided."""
    busy = running_app("busy", running=39, category=Category.LARGE)
    on, pools = queue(100, free=60, pool="default"), (pool(100, 0.5, low=0.5),)
    gangs = [task_app("gang", held=n, gang=True, started=True, category=Category.LARGE) for n in (10, 11)]
    fits, waits = (decide(snapshot(busy, gang, on=on, pools=pools)) for gang in gangs)
    assert len(released(fits)) == 10
    assert released(waits) == []
    assert waits.verdicts["gang"].sentence.endswith("50 cpu of 100: 40 is taken and this app asks for 11")


requests = st.builds(
    lambda cores, memory, gpus: Resources({"cpu": cores, "memory": memory, GPU: gpus}),
    st.sampled_from([0.5, 1.0, 4.0]),
    st.sampled_from([0.5, 4.0, 30.0]),
    st.sampled_from([0, 0, 1, 2]),
)


@st.composite
def pooled(draw: st.DrawFn) -> Snapshot:
    """Apps of both sides with pods of all shapes on what they hold and some more of each kind, scarce or plenty."""
    apps = [
        replace(
            app(
                f"app{number}",
                draw(requests),
                running=draw(st.integers(0, 6)),
                held=draw(st.integers(0, 12)),
                side=draw(st.sampled_from(Category)),
            ),
            gang=draw(st.sampled_from([False, False, True])),
            priority=draw(st.sampled_from([0, 0, 5])),
        )
        for number in range(draw(st.integers(2, 5)))
    ]
    held = total(group.request * group.running for each in apps for group in each.groups)
    spare = {"cpu": draw(st.sampled_from([0, 5, 60])), "memory": draw(st.sampled_from([0, 20, 300]))}
    others = NODES - held - Resources(spare) - Resources({GPU: draw(st.integers(0, 12))})
    return seen(*apps, median=draw(requests), others=others, low=0.3, high=0.6)


SHARES = {Category.SMALL: 0.6, Category.LARGE: 0.7}  # the most of either side, of what is held or free


class Side:
    """One side of such a pool: what it held and was given, and whether none of its tasks ran."""

    def __init__(self, at: Snapshot, outcome: Round, kind: Category) -> None:
        groups = [group for each in at.apps if each.category is kind for group in each.groups]
        self.new = [release for release in outcome.releases if outcome.categories[release.app] is kind]
        self.held = total(group.request * group.charged for group in groups)
        self.given = total(release.group.request for release in self.new)
        self.idle = not any(group.charged for group in groups)


@given(pooled())
def test_a_bound_is_kept_in_every_kind(at: Snapshot) -> None:
    """Neither side takes more of a kind than its share or a slot, but for a pod or gang where no task of it runs."""
    outcome = decide(at)
    gangs = {each.id for each in at.apps if each.gang}
    sides = {kind: Side(at, outcome, kind) for kind in Category}
    whole = total((at.queues[0].free, *(side.held for side in sides.values())))
    for kind, side in sides.items():
        new = side.new
        first = [each for each in new if each.app == new[0].app] if new and new[0].app in gangs else new[:1]
        alone = total(each.group.request for each in first) if side.idle else NOTHING
        for name, slot in at.pools[0].slot.items():
            most = max(SHARES[kind] * whole[name], slot, side.held[name] + alone[name])
            assert not side.given[name] or side.held[name] + side.given[name] <= most + 1e-6


@given(pooled())
def test_a_bound_keeps_what_the_other_sides_share_lacks_and_no_more(at: Snapshot) -> None:
    """Whatever it holds back would leave less than that free of a kind that it asks for; and its side has a task."""
    outcome = decide(at)
    sides = {kind: Side(at, outcome, kind) for kind in Category}
    left = at.queues[0].free - total(side.given for side in sides.values())
    whole = total((left, *(side.held + side.given for side in sides.values())))
    found = {each.id: each for each in at.apps}
    for hold in holds(at, outcome):
        assert hold.claim is not Claim.NOBODY
        if hold.claim is Claim.OWNER:
            held, kind = found[hold.app], outcome.categories[hold.app]
            asked = held.groups[0].request * (hold.count if held.gang else 1)
            other = next(side for each, side in sides.items() if each is not kind)
            lacks = whole * (1 - SHARES[kind]) - other.held - other.given
            assert any(left[name] - asked[name] < lacks[name] for name in asked)
            assert sides[kind].new or not sides[kind].idle
