"""Who has the better claim on room that is not given away, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest

from slackwater.admission.capacity import NodeShares
from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import decide
from slackwater.cycle.snapshot import App, PodGroup, Pool, Queue, Snapshot
from slackwater.nodetable import NodeTable
from slackwater.resources import Resources
from slackwater.roles import Role

NOW = 1000.0


def app(name: str, queue: str, cores: float, *, waited: float, running: int = 0, gang: bool = False) -> App:
    """An app without a driver of which one task, or a gang of two, is held."""
    held = tuple(f"{name}-{number}" for number in range(2 if gang else 1))
    tasks = PodGroup("tasks", Role.TASK, Resources(cpu=cores), held=held, running=running)
    return App(name, "team", NOW - waited, (tasks,), queue=queue, started=bool(running), gang=gang)


def seen(*apps: App, left: tuple[float, ...] = (3.0,)) -> Snapshot:
    """Two queues over the same nodes of four cores each."""
    names = tuple(f"n{number}" for number in range(len(left)))
    total, room = np.full((len(left), 1), 4.0), np.array(left)[:, None]
    flags = np.ones(len(left), np.bool_)
    table = NodeTable(("cpu",), names, {n: i for i, n in enumerate(names)}, total, room, room, flags, room)
    all_, free = Resources(cpu=4.0 * len(left)), Resources(cpu=sum(left))
    return Snapshot(NOW, (Queue("a", all_, free=free), Queue("b", all_, free=free)), apps, nodes=table)


@pytest.mark.parametrize("gang", [False, True], ids=["one large pod", "a gang"])
def test_room_is_kept_for_an_overdue_app_of_another_queue_and_told(gang: bool) -> None:
    """World 70049: the app was told that no node has room, and the review found nobody with a better claim."""
    overdue = app("old", "a", 2.0 if gang else 4.0, waited=400, gang=gang)
    at = seen(overdue, app("new", "b", 2.0, waited=5, running=1))
    round_ = decide(at)
    assert round_.releases == ()
    assert round_.verdicts["new"].reason is WaitReason.ASSEMBLING
    assert "room is kept for old for another 200 s" in round_.verdicts["new"].sentence
    (held,) = [each for each in holds(at, round_) if each.app == "new"]
    assert (held.claim, held.claimant) == (Claim.ASSEMBLY, "old")


def test_queues_of_other_nodes_keep_nothing_from_each_other() -> None:
    """What is kept on one node is none of the other's business."""
    at = seen(app("old", "a", 4.0, waited=400), app("new", "b", 2.0, waited=5, running=1), left=(3.0, 3.0))
    first, second = (replace(queue, nodes=np.array(rows)) for queue, rows in zip(at.queues, ROWS, strict=True))
    assert [each.app for each in decide(replace(at, queues=(first, second))).releases] == ["new"]


ROWS = ((True, False), (False, True))


def test_the_claimant_told_could_start_in_the_room_that_is_kept() -> None:
    """Both queues keep a node for an overdue app. The one of its own queue could never start where the pod waits."""
    mine = app("mine", "a", 4.0, waited=450)
    mine = replace(mine, groups=(replace(mine.groups[0], constraints="first"),))
    at = seen(mine, app("theirs", "b", 4.0, waited=400), app("new", "a", 2.0, waited=5, running=1), left=(1.0, 3.0))
    queues = (at.queues[0], replace(at.queues[1], nodes=np.array(ROWS[1])))
    at = replace(at, queues=queues, reach={"first": np.array(ROWS[0])})
    round_ = decide(at)
    assert round_.releases == ()
    assert "room is kept for theirs" in round_.verdicts["new"].sentence
    (held,) = [each for each in holds(at, round_) if each.app == "new"]
    assert (held.claim, held.claimant, held.nodes) == (Claim.ASSEMBLY, "theirs", ("n1",))


def test_nobody_has_a_claim_on_room_that_would_never_do() -> None:
    """Driver and task are more than the node that it reaches: tasks of others, elsewhere, are not in its way."""
    driver = PodGroup("driver", Role.DRIVER, Resources(cpu=3.5), held=("driver",), constraints="second")
    task = PodGroup("task", Role.TASK, Resources(cpu=1.0), held=("task",), constraints="second")
    new = App("new", "team", NOW - 5, (driver, task), queue="a", has_driver=True)
    old = app("old", "a", 2.0, waited=100, running=1)
    old = replace(old, groups=(replace(old.groups[0], constraints="first"),))
    at = seen(old, new, left=(1.0, 4.0))
    shares = NodeShares(("cpu",), np.full((2, 1), 4.0))
    at = replace(at, queues=(replace(at.queues[0], shares=shares),))
    at = replace(at, reach={"first": np.array(ROWS[0]), "second": np.array(ROWS[1])})
    round_ = decide(at)
    assert round_.verdicts["new"].reason is WaitReason.INFEASIBLE
    assert {(each.claim, each.claimant) for each in holds(at, round_) if each.app == "new"} == {(Claim.NEVER, "")}


def test_who_finds_no_room_anyway_is_told_so() -> None:
    """It would not fit either if nothing were kept."""
    at = seen(app("old", "a", 4.0, waited=400), app("new", "b", 3.5, waited=5, running=1))
    assert decide(at).verdicts["new"].reason in (WaitReason.ROOM, WaitReason.FRAGMENTED)


def test_a_gang_that_was_let_in_and_fits_nowhere_keeps_no_reserve_from_a_driver() -> None:
    """A claim on room counts only if the claimant could start there: the driver was held for nobody."""
    paused = driver("paused", running=1)
    gang = App("gang", "team", NOW - 5, (PodGroup("tasks", Role.TASK, sized(2.0), held=("one",)),), "a", gang=True)
    asked = replace(driver("new", held=("first",)), submitted=NOW - 4)
    queue = Queue("a", sized(3.0, cores=2.0), free=sized(1.5, cores=1.5))
    at = Snapshot(NOW, (queue,), (replace(paused, paused=True), gang, asked))
    round_ = decide(at)
    assert [each.uid for each in round_.releases] == ["first"]
    assert [each.claim for each in holds(at, round_)] == [Claim.NO_ROOM]


def test_a_driver_of_a_gang_that_fits_nowhere_holds_no_budget() -> None:
    """It was let in, found no node, and kept all later drivers of its queue out of the budget in every round."""
    whole = driver("gang", held=("whole",), size=7.5)
    only = replace(whole.groups[0], constraints="one")
    gang = replace(whole, groups=(only,), gang=True, task_request=sized(4.0))
    later = replace(driver("later", held=("small",), size=8.75), submitted=NOW - 5)
    wide = PodGroup("tasks", Role.TASK, sized(8.0), held=("task",), constraints="one")
    wants = App("wants", "team", NOW - 9, (wide,), "a", started=True)
    at = nodes_of((3.0, 8.0), (9.0, 9.0), apps=(gang, later, wants))
    at = replace(at, reach={"one": np.array([True, False])})
    round_ = decide(at)
    assert [each.uid for each in round_.releases] == ["small"]
    assert [(each.app, each.claim) for each in holds(at, round_)] == [("gang", Claim.NO_ROOM), ("wants", Claim.NO_ROOM)]


def test_an_app_that_is_assembled_keeps_drivers_from_its_own_nodes_only() -> None:
    """A driver waited beside an idle node for as long as room was kept on another one, where it could not even run."""
    wide = PodGroup("tasks", Role.TASK, sized(8.0), held=("task",), constraints="one")
    head = App("head", "team", NOW - 400, (wide,), "a")
    busy = App("busy", "team", NOW - 9, (PodGroup("tasks", Role.TASK, sized(1.0), running=1),), "a", started=True)
    late = replace(driver("late", held=("first",), size=4.0), demand=8.0, task_request=sized(4.0))
    at = nodes_of((7.0, 8.0), (8.0, 8.0), apps=(head, busy, late))
    pool = Pool("a", Resources(memory=1.0), tot=10.0, nominal=10.0, delta=0.5, low=0.3)
    at = replace(at, queues=(replace(at.queues[0], pool="a"),), pools=(pool,), reach={"one": np.array([True, False])})
    round_ = decide(at)
    assert [each.uid for each in round_.releases] == ["first"]
    assert [(each.app, each.claim) for each in holds(at, round_)] == [("head", Claim.NO_ROOM)]


def test_the_audit_knows_where_drivers_of_the_round_went() -> None:
    """One takes the node that the task of the other needs: that one is held for its own task, not for nobody."""
    first = replace(driver("first", held=("first",), size=8.0), queue="A")
    again = replace(driver("again", held=("again",), size=0.5), started=True, task_request=sized(8.0))
    at = nodes_of((8.0, 8.0), (8.0, 8.0), apps=(first, again))
    at = replace(at, queues=(*at.queues, replace(at.queues[0], name="A")))
    round_ = decide(at)
    assert [each.uid for each in round_.releases] == ["first"]
    assert [(each.claim, each.claimant) for each in holds(at, round_)] == [(Claim.RESERVE, "again")]


def nodes_of(*nodes: tuple[float, float], apps: tuple[App, ...]) -> Snapshot:
    """Nodes of plenty of cores and so much memory each, of which so much is left, and one queue on all of them."""
    left, total = (np.array([[99.0, each[at]] for each in nodes]) for at in (0, 1))
    names, kinds = tuple(f"n{number}" for number in range(len(nodes))), ("cpu", "memory")
    index = {name: row for row, name in enumerate(names)}
    table = NodeTable(kinds, names, index, total, left, left, np.ones(len(nodes), np.bool_))
    whole, free = (Resources.from_vector(kinds, each.sum(axis=0)) for each in (total, left))
    queue = Queue("a", whole, free=free, total=whole, shares=NodeShares(kinds, total))
    return Snapshot(NOW, (queue,), apps, nodes=table)


def driver(name: str, *, running: int = 0, held: tuple[str, ...] = (), size: float = 1.0) -> App:
    """An app whose driver and whose announced tasks are of one size."""
    group = PodGroup("driver", Role.DRIVER, sized(size), held=held, running=running)
    return App(name, "team", NOW - 9, (group,), "a", started=bool(running), has_driver=True, task_request=sized(1.0))


def sized(memory: float, cores: float = 0.5) -> Resources:
    """A request, or room, of two kinds."""
    return Resources(cpu=cores, memory=memory)
