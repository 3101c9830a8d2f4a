"""Rounds of the release loop on a cluster in memory: who goes, who waits, and what a round remembers."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from slackwater.errors import Unavailable
from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.names import UNKNOWN_POD
from slackwater_cluster.objects import wire
from slackwater_cluster.watch import trim
from slackwater_operator.cache.podstate import InFlightPods
from slackwater_operator.cache.rooms import Rooms
from slackwater_operator.cache.snapshot import take_snapshot
from slackwater_operator.clients.extenderclient import Placement, PlacementWish
from support.builders import objects
from support.fakes.cluster import World, enforcing, node, owned
from support.fakes.loop import running


def test_priority_is_kept_at_placement() -> None:
    """Pods of higher priority have a lower rank, whatever HaSTE thinks of their size; equal ones share it."""
    world = enforcing(node("a", cpu=16))
    for name, priority in (("low", 0), ("high", 100)):
        for number in range(2):
            world.create(f"{name}-{number}", app=name, priority=priority)
    world.operator().step()
    ranks = {wish.uid.partition("-")[0]: wish.rank for wish in world.place_calls[0].wishes}
    assert ranks == {"high": 0, "low": 1}


def mixed_gang() -> World:
    """Two small and three large pods that go together, on three nodes that each hold one of the large."""
    world = enforcing(*[node(name, cpu=16) for name in "abc"])
    for number, cpu in enumerate((4, 4, 12, 12, 12)):
        world.create(f"mpi-{number}", cpu=cpu, app="mpi", annotations={names.GANG: "true", names.TASKS: "5"})
    return world


def test_a_gang_of_several_sizes_goes_where_the_round_found_room_for_all_of_it() -> None:
    """Placed one after the other its small pods fill a node that a large one needs: then each gets its own."""
    world = mixed_gang()
    assert world.operator().step() == 5
    first, second = world.place_calls
    assert all(wish.nodes is None for wish in first.wishes)
    assert len(second.wishes) == 5


@pytest.mark.parametrize("answers", [True, False], ids=["refused again", "no answer"])
def test_a_gang_for_which_placement_finds_no_nodes_either_way_keeps_none(*, answers: bool) -> None:
    """Nothing of it is entered, and it is tried again later."""
    world = mixed_gang()
    operator = world.operator()
    operator.releaser.places = _Second(world, answers=answers)
    assert operator.step() == 0
    operator.step()
    assert world.entered == {}


def test_fair_order_is_kept_at_placement() -> None:
    """In a fair queue the namespaces take turns, and placement keeps the turns; in a fifo queue HaSTE may choose."""
    world = enforcing(node("a", cpu=16))
    world.namespace("other")
    world.configure("AdmissionQueue", "default", order="fair")
    for number in range(2):
        world.create(f"task-{number}", app="etl")
        world.create(f"other-{number}", app="etl", namespace="other")
    world.operator().step()
    fair = [(wish.uid.partition("-")[0], wish.rank) for wish in world.place_calls[0].wishes]
    assert [rank for _, rank in fair] == [0, 1, 2, 3]
    assert fair[0][0] != fair[1][0]


def test_a_pod_that_asks_for_disk_is_released_as_it_comes_from_the_wire() -> None:
    """A kind that no decision is about was asked for of nodes that have none of it by our tables: refused for ever."""
    world = enforcing(node("a", cpu=8))
    wants = {"requests": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi", "hugepages-2Mi": "4Mi"}}
    spec = {"schedulingGates": [{"name": names.GATE}], "containers": [{"name": "main", "resources": wants}]}
    world.put(trim.pod(msgspec.convert(objects.pod("task", "team", spec=spec), wire.Pod)))
    assert world.operator().step() == 1


def test_the_first_batch_on_an_idle_cluster_is_packed_whole() -> None:
    """The knapsack sees every pod of the round, not the first hundred; once pods are on their way batches are small."""
    world = enforcing(*(node(f"node-{number}", cpu=64) for number in range(4)))
    for number in range(120):
        world.create(f"task-{number}", app="etl")
    operator = world.operator()
    assert operator.step() == 120
    assert (len(world.place_calls[0].wishes), world.place_calls[0].cold) == (120, True)


def test_iterative_apps_weigh_their_alignment_at_placement() -> None:
    """HaSTE-A's factor of the round reaches the extender; without iterative apps it is 0."""
    world = enforcing(node("a", cpu=16))
    world.create("plain", app="etl")
    operator = world.operator()
    operator.step()
    assert world.place_calls[-1].alpha == 0.0
    for number in range(3):
        world.create(f"iteration-{number}", app="ml", stage="2", annotations={names.ITERATIVE: "5"})
    operator.step()
    assert world.place_calls[-1].alpha == 0.5


def test_room_is_not_given_twice_by_an_extender_that_is_behind() -> None:
    """Its watch has not shown the bind for a minute: the reservation counts until it has."""
    world = enforcing(node("a", cpu=8))
    world.configure("AdmissionQueue", "default", release={"nominate": False})
    for number in range(4):
        world.create(f"task-{number}", cpu=4, app="etl")
    operator = world.operator()
    assert operator.step() == 2
    operator.releaser.places = _LateWatch(world, asyncio.run(world.rooms()))
    world.schedule()
    for _ in range(6):
        assert operator.step(10) == 0
    operator.releaser.places = world
    assert operator.step() == 0
    assert running(world) == ["task-0", "task-1"]


class _LateWatch(World):
    """An extender that goes on to answer what it knew."""

    def __init__(self, world: World, rooms: Rooms) -> None:
        self.place, self.reserve, self.unreserve = world.place, world.reserve, world.unreserve  # type: ignore[method-assign] # a stand-in
        self.wakeups, self.freed, self.usage = world.wakeups, world.freed, world.usage  # type: ignore[method-assign] # a stand-in
        self._known = rooms

    async def rooms(self) -> Rooms:
        """As they were."""
        return self._known


def test_a_new_leader_gives_no_room_away_that_is_reserved() -> None:
    """The first one released by the gate alone and died before the binds; its reservations are the extender's."""
    world = enforcing(node("a", cpu=8))
    world.configure("AdmissionQueue", "default", release={"nominate": False})
    for number in range(3):
        world.create(f"task-{number}", cpu=4, app="etl")
    assert world.operator().step() == 2
    world.cache.in_flight = InFlightPods()  # all that the first leader remembered
    assert world.operator().step() == 0


def test_no_more_than_fits_is_released() -> None:
    """The third pod of four cores waits on a node of eight, and says why."""
    world = enforcing(node("a", cpu=8))
    for number in range(3):
        world.create(f"task-{number}", cpu=4, app="etl")
    operator = world.operator()
    operator.step()
    world.schedule()
    operator.step()
    assert running(world) == ["task-0", "task-1"]
    said = operator.said("etl")
    assert said.reason == "no-room"
    assert "asks for 4" in said.sentence


def test_a_second_round_changes_nothing_twice() -> None:
    """Until the watch shows a release it counts as released: nothing is written again."""
    world = enforcing(node("a"))
    world.create("task", app="etl")
    operator = world.operator()
    operator.step()
    before = list(world.writes)
    operator.step()
    assert world.writes == before


@pytest.mark.parametrize("mode", ["observe", "score"])
def test_other_modes_release_what_is_held(mode: str) -> None:
    """Switching to observe or score lets everything go, room or not."""
    world = enforcing(node("a", cpu=1))
    for number in range(5):
        world.create(f"task-{number}", cpu=4, app="etl")
    operator = world.operator()
    operator.step()
    assert world.released == []
    world.configure("SlackPolicy", "default", mode=mode)
    operator.step()
    assert len(world.released) == 5


def test_foreign_gates_are_never_acted_on() -> None:
    """A pod that another controller holds too keeps both gates."""
    world = enforcing(node("a"))
    pod = world.create("task", app="etl", gates=(names.GATE, "example.com/quota"))
    operator = world.operator()
    operator.step()
    assert world.pods[pod.uid].gates == (names.GATE, "example.com/quota")
    assert operator.said("etl").reason == "foreign-gate"
    world.change(pod.uid, gates=(names.GATE,))
    operator.step()
    assert world.released == [pod.uid]


def test_pod_deleted_while_gated_is_forgotten() -> None:
    """Nothing is written to it, and its app is gone."""
    world = enforcing()
    world.delete(world.create("task", app="etl"))
    assert world.operator().step() == 0
    assert world.cache.views == {}


def test_pod_made_anew_under_the_same_name_is_another_pod() -> None:
    """A patch names the uid, so a successor is not released by mistake."""
    world = enforcing(node("a"))
    first = world.create("task", app="etl")
    take_snapshot(world.cache, world.now, None)
    del world.pods[first.uid]
    world.now += 1
    second = world.create("task", app="etl")
    world.operator().step()
    assert world.released == [second.uid]


def test_failed_writes_are_taken_back_and_tried_again() -> None:
    """A server that does not answer costs some seconds, not the pod."""
    world = enforcing(node("a"))
    pod = world.create("task", app="etl")
    operator = world.operator()
    world.broken = lambda path: True
    operator.step(3)
    assert world.released == []
    world.broken = lambda path: False
    operator.step()
    assert world.released == [pod.uid]


def test_a_pod_the_extender_has_not_seen_yet_is_asked_about_again_at_once() -> None:
    """Its watch is a moment behind ours: that is no lack of room, and costs one round, not the whole retry."""
    world = enforcing(node("a"))
    world.create("task", app="etl")
    operator = world.operator()
    operator.releaser.places = _Behind(world)
    assert operator.step() == 0
    assert operator.releaser.no_node == {}
    operator.releaser.places = world
    assert operator.step(operator.releaser.settings.period) == 1


class _Second:
    """An extender that serves no question that names one node."""

    def __init__(self, world: World, *, answers: bool) -> None:
        self.rooms, self.reserve, self.unreserve = world.rooms, world.reserve, world.unreserve
        self.wakeups, self.freed, self.usage = world.wakeups, world.freed, world.usage
        self.world, self.answers = world, answers

    async def place(self, wishes: Sequence[PlacementWish], *, cold: bool = False, alpha: float = 0.0) -> Placement:
        """Refuse those, or do not answer although some were entered."""
        found = await self.world.place(wishes, cold=cold, alpha=alpha)
        if all(wish.nodes is None for wish in wishes):
            return found
        if not self.answers:
            raise Unavailable("extender: TimeoutError")
        await self.world.unreserve([wish.uid for wish in wishes])
        return Placement({}, {wish.uid: "slackwater: measured room too small" for wish in wishes})


class _Behind:
    """An extender whose watch shows no pods yet."""

    def __init__(self, world: World) -> None:
        self.rooms, self.reserve, self.unreserve = world.rooms, world.reserve, world.unreserve
        self.wakeups, self.freed, self.usage = world.wakeups, world.freed, world.usage

    async def place(self, wishes: Sequence[PlacementWish], *, cold: bool = False, alpha: float = 0.0) -> Placement:
        """Refuse with the extender's own words."""
        return Placement({}, {wish.uid: UNKNOWN_POD for wish in wishes})


def test_queue_uses_its_own_nodes_only() -> None:
    """A selector keeps a queue on its nodes although others are empty."""
    world = enforcing(node("a", pool="batch"), node("b"))
    world.configure("AdmissionQueue", "batch", namespaces=["team"], nodeSelector={"pool": "batch"})
    for number in range(12):
        world.create(f"task-{number}", app="etl")
    operator = world.operator()
    operator.step()
    world.schedule()
    assert {pod.node for pod in world.pods.values() if pod.node} == {"a"}


def test_paused_queue_and_paused_app_let_nothing_go() -> None:
    """By annotation, on the queue or on any pod of an app."""
    world = enforcing(node("a"))
    world.configure("AdmissionQueue", "default", annotations={names.PAUSE: "true"})
    pod = world.create("task", app="etl")
    operator = world.operator()
    operator.step()
    assert operator.said("etl").reason == "paused"
    world.configure("AdmissionQueue", "default")
    world.change(pod.uid, annotations={names.PAUSE: "true"})
    operator.step()
    assert world.released == []
    world.change(pod.uid, annotations={})
    operator.step()
    assert world.released == [pod.uid]


def test_draining_queue_lets_started_apps_finish() -> None:
    """Drain: nothing new starts, what started goes on."""
    world = enforcing(node("a", cpu=2))
    for number in range(3):
        world.create(f"old-{number}", app="old")
    operator = world.operator()
    operator.step()
    world.schedule()
    world.configure("AdmissionQueue", "default", state="draining")
    world.create("new", app="new")
    world.finish(*(pod.uid for pod in world.pods.values() if pod.node))
    operator.step()
    world.schedule()
    assert running(world) == ["old-2"]
    assert operator.said("new").reason == "queue-draining"


def test_pods_from_before_the_namespace_was_labelled_are_adopted() -> None:
    """They count as running of their app, and as the queue's own."""
    world = World()
    world.configure("SlackPolicy", "default", mode="enforce")
    world.add_nodes(node("a", cpu=4))
    old = world.create("old", cpu=2, app="etl", gates=())
    world.change(old.uid, node="a", phase="Running", scheduler="default-scheduler", started=world.now)
    assert world.cache.views == {}
    world.namespace("team")
    world.cache.views.refresh()
    assert world.cache.views["team/etl"].counts.bound == 1
    assert take_snapshot(world.cache, world.now, None).queues[0].capacity["cpu"] == 4


def test_driver_that_dies_is_admitted_again() -> None:
    """Its successor waits for the driver budget like any other driver."""
    world = enforcing(node("a", cpu=8))
    boss = owned("SparkApplication", "pi", group="sparkoperator.k8s.io")
    labels = {"sparkoperator.k8s.io/app-name": "pi", "spark-role": "driver"}
    first = world.create("driver-1", cpu=1, role="driver", labels=labels, owners=[boss])
    operator = world.operator()
    world.cache.learn(boss, ())
    operator.step()
    world.schedule()
    world.finish(first.uid, phase="Failed")
    second = world.create("driver-2", cpu=1, role="driver", labels=labels, owners=[boss])
    assert not take_snapshot(world.cache, world.now, None).apps[0].started
    operator.step()
    assert second.uid in world.released


def test_learned_requests_are_wanted_only_where_the_policy_says_so() -> None:
    """With reclaim on, a task is to get what its forerunners used and a fifth; with it off, nothing."""
    world = enforcing(node("a", cpu=16))
    world.configure("SlackPolicy", "default", mode="enforce", reclaim={"enabled": True})
    half = {"native": Resources(cpu=1), "declared": Resources(cpu=2)}
    marks = {names.SHRUNK: "200/150"}
    old = [world.create(f"old-{number}", app="etl", annotations=marks) for number in range(6)]
    for pod in old:
        world.change(pod.uid, **half)
    world.cache.views.refresh()
    world.cache.learning.observe({pod.uid: Resources(cpu=1.5) for pod in old})
    world.cache.learning.observe({})
    fresh = world.create("fresh", app="etl", annotations=marks)
    world.change(fresh.uid, **half)
    world.cache.views.refresh()
    wanted = world.cache.learning.wanted(world.pods[fresh.uid])
    assert wanted is not None
    assert wanted["cpu"] == pytest.approx(1.8)
    world.configure("SlackPolicy", "default", mode="enforce")
    assert world.cache.learning.wanted(world.pods[fresh.uid]) is None
