"""Who has the better claim on room that is not given away, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest

from slackwater.admission.capacity import NodeShares
from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import decide
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
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


def driver(name: str, *, running: int = 0, held: tuple[str, ...] = ()) -> App:
    """An app whose driver and whose announced tasks are of one size."""
    group = PodGroup("driver", Role.DRIVER, sized(1.0), held=held, running=running)
    return App(name, "team", NOW - 9, (group,), "a", started=bool(running), has_driver=True, task_request=sized(1.0))


def sized(memory: float, cores: float = 0.5) -> Resources:
    """A request, or room, of two kinds."""
    return Resources(cpu=cores, memory=memory)
