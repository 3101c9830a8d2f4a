"""Pods released towards nodes that do not exist yet: how many, for whom, and whose the node is when it comes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.cycle import Round, decide
from slackwater.cycle.snapshot import App, Queue, Snapshot
from slackwater.resources import Resources
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, driver_app, group, pool, queue, snapshot, task_app

WIDE = Resources(cpu=1, memory=2.0**31)


def grown(outcome: Round) -> list[str]:
    """The uids of growth releases."""
    return [release.uid for release in outcome.releases if release.growth]


def plain(outcome: Round) -> list[str]:
    """The uids of releases onto nodes that exist."""
    return [release.uid for release in outcome.releases if not release.growth]


def asking(name: str, count: int, *, size: float = 1.0, held: int = 0, **more: object) -> App:
    """A started app of which so many pods wait for their machine."""
    waiting = tuple(f"{name}/growing/{number}" for number in range(count))
    groups = (group(name, Role.TASK, size, held=held, released=count, growing=waiting, **more),)
    return App(name, "team", 0.0, groups, started=True)


def asked_by(kind: str, amount: int) -> App:
    """An app that asks for so many cores before it can run."""
    apps = {
        "one pod": task_app("app", size=amount),
        "a gang": task_app("app", held=amount, gang=True),
        "a driver and a task": driver_app("app", driver=amount / 2, task=amount / 2),
    }
    return apps[kind]


class TestTheMaximum:
    """Held pods ask exactly as far as the maximum of their queue allows."""

    @pytest.mark.parametrize(
        ("maximum", "waiting", "expected"),
        [
            pytest.param(64.0, 0, 20, id="room-for-all"),
            pytest.param(22.0, 0, 6, id="a-part"),
            pytest.param(22.0, 4, 2, id="less-what-has-asked-before"),
            pytest.param(22.0, 6, 0, id="nothing-left"),
            pytest.param(16.0, 0, 0, id="reached"),
        ],
    )
    def test_bounds_what_is_asked_for(self, maximum: float, waiting: int, expected: int) -> None:
        """Growth pods under way count against it until they have a node."""
        on = queue(16, free=0, maximum=cpu(maximum), growth=1000)
        outcome = decide(snapshot(asking("early", waiting), task_app("late", 1, held=20), on=on))
        assert len(grown(outcome)) == expected

    def test_of_none_nothing_is_asked_for(self) -> None:
        """`growthPods: 0`, also for a group that waited in vain before it was set."""
        waited = App("etl", "team", 0.0, (group("etl", held=3, in_vain=True),))
        assert not grown(decide(snapshot(waited, on=queue(16, free=0, maximum=cpu(64), growth=0))))

    def test_counts_what_the_autoscaler_counts(self) -> None:
        """Requests that were lowered to a half make half a machine necessary."""
        lowered = App("half", "team", 0.0, (group("half", held=20, native=cpu(0.5)),))
        outcome = decide(snapshot(lowered, on=queue(16, free=0, maximum=cpu(20), growth=1000)))
        assert len(grown(outcome)) == 8

    def test_a_kind_that_it_does_not_name_is_not_bounded(self) -> None:
        """A maximum of cores says nothing of memory."""
        wide = replace(group("wide", held=3), request=WIDE)
        app = App("wide", "team", 0.0, (wide,))
        on = Queue("default", Resources(cpu=16, memory=2.0**34), maximum=cpu(18))
        assert len(grown(decide(snapshot(app, on=on)))) == 2

    def test_a_driver_and_a_gang_are_not_refused_for_a_kind_that_it_does_not_name(self) -> None:
        """There may be more memory with more nodes; only of cores it is known how many there will be."""
        on = Queue("default", Resources(cpu=16, memory=2.0**30), maximum=cpu(18), free=Resources(cpu=16))
        gang = App("gang", "team", 0.0, (replace(group("gang", held=2), request=WIDE),), gang=True)
        driver = App("boss", "team", 1.0, (replace(group("boss", Role.DRIVER, held=1), request=WIDE),), has_driver=True)
        said = decide(snapshot(gang, driver, on=on, pools=())).verdicts
        assert not said["gang"].refused
        assert not said["boss"].refused

    @pytest.mark.parametrize("kind", ["one pod", "a gang", "a driver and a task"])
    @pytest.mark.parametrize(("maximum", "refused"), [(40, True), (64, False)])
    def test_what_asks_for_more_than_there_may_ever_be_is_refused(
        self, kind: str, maximum: float, *, refused: bool
    ) -> None:
        """It would wait for machines that nobody may add."""
        said = decide(snapshot(asked_by(kind, 50), on=queue(16, maximum=cpu(maximum), growth=1000))).verdicts["app"]
        assert said.refused is refused
        assert said.sentence.startswith("asks for 50 cpu at the least, but queue default has at most 40") is refused

    @pytest.mark.parametrize("kind", ["one pod", "a gang", "a driver and a task"])
    def test_below_the_nodes_that_are_there_refuses_nothing_that_they_hold(self, kind: str) -> None:
        """It says how far they may grow."""
        assert decide(snapshot(asked_by(kind, 8), on=queue(16, maximum=cpu(4)))).started == ("app",)

    def test_a_smaller_pod_asks_where_a_larger_one_may_not(self) -> None:
        """What the maximum leaves is not lost because the first in line is too large for it."""
        on = queue(16, free=0, maximum=cpu(18))
        outcome = decide(snapshot(task_app("large", 0, size=4), task_app("small", 1, size=1), on=on))
        assert grown(outcome) == ["small/task/0"]


class TestTheNumber:
    """`growthPods` bounds how many wait for machines at once."""

    def test_only_growth_pods_count(self) -> None:
        """Pods that are on their way to nodes which exist take nothing of it."""
        busy = App("busy", "team", 0.0, (group("busy", released=8, running=8),), started=True)
        outcome = decide(snapshot(busy, task_app("late", 1, held=9), on=queue(16, free=0, maximum=cpu(64), growth=4)))
        assert len(grown(outcome)) == 4

    def test_growth_pods_take_nothing_of_the_window(self) -> None:
        """They wait for minutes, and others would wait with them."""
        on = queue(16, free=4, maximum=cpu(64), growth=4)
        waiting = App(
            "early", "team", 0.0, (group("early", size=8, released=3, growing=("a", "b", "c")),), started=True
        )
        assert len(plain(decide(snapshot(waiting, task_app("late", 1, held=4), on=on, window=3)))) == 3

    def test_zero_switches_it_off(self) -> None:
        """Then only the nodes that exist count, for gangs too."""
        on = queue(16, free=0, maximum=cpu(64), growth=0)
        apps = task_app("one", held=1), task_app("all", held=2, gang=True), driver_app("big", driver=20)
        assert grown(decide(snapshot(*apps, on=on))) == []


class TestPolicy:
    """No node is added for a pod that policy holds."""

    @pytest.mark.parametrize(
        ("low", "expected"),
        [
            pytest.param(0.9, 0, id="its-side-of-the-pool-is-full-on-more-nodes-too"),
            pytest.param(0.0, 4, id="only-nodes-are-missing"),
        ],
    )
    def test_an_app_that_waits_for_its_pool_asks_for_nothing(self, low: float, expected: int) -> None:
        """Its turn has not come, and more nodes would not help it. Where they would, they are what it waits for."""
        on = queue(16, free=0, maximum=cpu(64), pool="default")
        busy = App("busy", "team", 0.0, (group("busy", running=16),), started=True)
        pools = (pool(tot=16, delta=max(0.5, low), low=low),)
        outcome = decide(snapshot(busy, task_app("late", 1, held=12), on=on, pools=pools))
        assert (outcome.verdicts["late"].reason is WaitReason.POOL) == (expected == 0)
        assert len(grown(outcome)) == expected

    def test_paused_drained_and_unled_apps_ask_for_nothing(self) -> None:
        """Neither a paused app, nor tasks whose driver does not run."""
        on = queue(16, free=0, maximum=cpu(64))
        unled = App("unled", "team", 0.0, (group("unled", held=5),), started=True, has_driver=True)
        assert grown(decide(snapshot(unled, task_app("paused", paused=True), on=on))) == []
        assert grown(decide(snapshot(task_app("late"), on=queue(16, free=0, maximum=cpu(64), draining=True)))) == []


class TestClaims:
    """The node that comes is for the pods that asked for it."""

    def test_a_growth_pod_takes_room_before_a_held_one(self) -> None:
        """Four cores came; four growth pods asked for them, and an earlier app would like them."""
        earlier = App("earlier", "team", -1.0, (group("earlier", held=4),), started=True, priority=9)
        on = queue(20, free=4, maximum=cpu(20))
        outcome = decide(snapshot(earlier, asking("early", 4), on=on))
        assert outcome.growth_with_room == tuple(f"early/growing/{number}" for number in range(4))
        assert plain(outcome) == []

    def test_what_they_leave_goes_to_held_pods(self) -> None:
        """A machine may be larger than what was asked for."""
        outcome = decide(snapshot(asking("early", 2), task_app("late", 1, held=9), on=queue(20, free=5)))
        assert len(outcome.growth_with_room) == 2
        assert len(plain(outcome)) == 3

    def test_one_that_finds_room_asks_for_no_machine(self) -> None:
        """The maximum leaves two cores: two growth pods have room by now, so two others may ask."""
        on = queue(16, free=2, maximum=cpu(18))
        assert len(grown(decide(snapshot(asking("early", 2), task_app("late", 1, held=9), on=on)))) == 2


class TestGangs:
    """A gang asks as a whole, or not at all."""

    @pytest.mark.parametrize(
        ("maximum", "free", "expected"),
        [
            pytest.param(20.0, 0.0, 4, id="all-of-it"),
            pytest.param(19.0, 0.0, 0, id="not-a-part-of-it"),
            pytest.param(18.0, 2.0, 4, id="room-that-exists-counts"),
            pytest.param(64.0, 4.0, 0, id="no-machine-where-there-is-room"),
        ],
    )
    def test_asks_whole(self, maximum: float, free: float, expected: int) -> None:
        """As far as it finds no room it must be within the maximum."""
        on = queue(16, free=free, maximum=cpu(maximum))
        assert len(grown(decide(snapshot(task_app("gang", held=4, gang=True), on=on)))) == expected

    def test_one_of_more_pods_than_may_wait_asks_alone(self) -> None:
        """Else it never could; while somebody waits for machines it does not."""
        on = queue(16, free=0, maximum=cpu(64), growth=4)
        gang = task_app("gang", 1, held=9, gang=True)
        assert len(grown(decide(snapshot(gang, on=on)))) == 9
        assert grown(decide(snapshot(asking("early", 1), gang, on=on))) == []


class TestInVain:
    """Pods that no machine can serve, as far as is known, ask after the others and leave them half of the turns."""

    def test_those_that_waited_in_vain_ask_last(self) -> None:
        """They are the oldest, and would ask first again and again."""
        vain = task_app("vain", 0, held=8)
        vain = replace(vain, groups=tuple(replace(each, in_vain=True) for each in vain.groups), started=True)
        other = replace(task_app("other", 1, held=1), started=True)
        outcome = decide(snapshot(vain, other, on=queue(16, free=0, maximum=cpu(64), growth=8)))
        assert grown(outcome)[0].startswith("other/")
        assert len(grown(outcome)) == 4


class TestDriversOfMachinesToCome:
    """A driver that waits for a machine holds nothing of the nodes that are there."""

    ASKS = group("asks", Role.DRIVER, 12, released=1, growing=("asks/driver/0",))
    APP = App("asks", "team", 0.0, (ASKS,), task_request=cpu(2), has_driver=True, started=True)

    @pytest.mark.parametrize("on_nodes", [False, True], ids=["a sum", "node by node"])
    def test_it_takes_none_of_the_budget_and_keeps_no_room_for_its_tasks(self, on_nodes: bool) -> None:
        """Another driver waited beside idle nodes for as long as the machine did not come."""
        nodes = node_table([[2.0]], total=[[2.0]], kinds=("cpu",)) if on_nodes else None
        on = queue(2.0, maximum=cpu(30))
        outcome = decide(snapshot(self.APP, driver_app("here", 1.0), on=on, nodes=nodes))
        assert plain(outcome) == ["here/driver/0"]

    def test_once_a_node_has_room_for_it_it_counts(self) -> None:
        """Its tasks will need theirs."""
        outcome = decide(snapshot(self.APP, driver_app("here", 1.0, driver=3.0), on=queue(16.0, maximum=cpu(30))))
        assert plain(outcome) == []
        assert outcome.verdicts["here"].reason is WaitReason.BUDGET

    def test_one_that_asks_in_this_round_takes_none_either(self) -> None:
        """The one behind it goes into the room that is there in the same round."""
        asks = driver_app("asks", driver=12.0, task=2.0)
        outcome = decide(snapshot(asks, driver_app("here", 1.0), on=queue(2.0, maximum=cpu(30))))
        assert (grown(outcome), plain(outcome)) == (["asks/driver/0"], ["here/driver/0"])

    def test_its_tasks_to_come_keep_no_driver_of_another_queue_from_the_last_node(self) -> None:
        """They could not run there while their driver is nowhere."""
        table = node_table([[4.0]], total=[[4.0]], kinds=("cpu",))
        far = replace(queue(4.0, maximum=cpu(30)), name="far")
        here = driver_app("here", 1.0, driver=3.0, task=1.0)
        seen = Snapshot(0.0, (far, queue(4.0)), (replace(self.APP, queue="far"), here), nodes=table)
        assert plain(decide(seen)) == ["here/driver/0"]

    def test_one_that_asks_although_a_node_has_room_for_it_counts_at_once(self) -> None:
        """The scheduler binds it there: the one behind it would fill the node beside it, and no task had any room."""
        asks = driver_app("asks", driver=6.0, task=4.0)
        here = driver_app("here", 1.0, driver=4.0, task=4.0)
        outcome = decide(snapshot(asks, here, on=queue(8.0, maximum=cpu(30))))
        assert (grown(outcome), plain(outcome)) == (["asks/driver/0"], [])

    def test_held_tasks_without_a_driver_keep_their_node_though_others_of_their_app_wait_for_machines(self) -> None:
        """They run on the nodes there are: a driver of another queue took the last one large enough for them."""
        large = group("etl", size=16, stage="large", released=1, growing=("etl/large/0",))
        small = group("etl", size=4, stage="small", held=2)
        etl = App("etl", "team", 0.0, (large, small), queue="far", started=True)
        table = node_table([[3.0]], total=[[4.0]], kinds=("cpu",))
        far = replace(queue(4.0, free=3.0, maximum=cpu(30), growth=1), name="far")
        here = driver_app("here", 1.0, driver=2.0, task=1.0)
        seen = Snapshot(0.0, (far, queue(4.0, free=3.0)), (etl, here), nodes=table)
        outcome = decide(seen)
        assert plain(outcome) == []
        assert outcome.verdicts["here"].reason is WaitReason.LAST_NODE
