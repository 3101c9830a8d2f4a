"""Growth pods: let go without room, so that an autoscaler adds nodes; and who gets the machine that comes."""

from collections.abc import Sequence

from slackwater_cluster.objects.records import NodeRecord, PodRecord
from support.fakes.cluster import Operator, World, enforcing, node


def growing(*nodes: NodeRecord, maximum: int = 64, pods: int = 100) -> World:
    """A queue whose nodes may grow to so many cores."""
    world = enforcing(*nodes)
    capacity = {"maximum": {"cpu": maximum, "memory": "256Gi"}}
    world.configure("AdmissionQueue", "default", capacity=capacity, growthPods=pods)
    return world


def test_growth_releases_are_bounded() -> None:
    """An autoscaled pool: a few pods without room are let go so that the need is seen, no more."""
    world = enforcing(node("a", cpu=4))
    world.configure("AdmissionQueue", "default", capacity={"maximum": {"cpu": 64, "memory": "256Gi"}}, growthPods=3)
    for number in range(20):
        world.create(f"task-{number}", cpu=2, app="etl")
    operator = world.operator()
    for _ in range(5):
        operator.step()
        world.schedule()
    bound = [pod for pod in world.pods.values() if pod.node]
    assert len(bound) == 2
    assert len(world.released) - len(bound) == 3


def gets_the_machine(world: World, operator: Operator, asked: Sequence[PodRecord]) -> bool:
    """Whether a machine of two cores is for those that asked for it, though pods of higher priority come before it."""
    urgent = [world.create(f"urgent-{number}", app="urgent", priority=9) for number in range(4)]
    world.add_nodes(node("b", cpu=2))
    operator.step()
    world.schedule()
    bound = {uid for uid, pod in world.pods.items() if pod.node}
    return bound.issuperset(pod.uid for pod in asked) and bound.isdisjoint(pod.uid for pod in urgent)


def test_growth_is_asked_for_as_far_as_the_maximum_allows() -> None:
    """Round after round: four cores exist and two more are allowed, so two pods of one core ask, and never more."""
    world = growing(node("a", cpu=4), maximum=6)
    for number in range(20):
        world.create(f"task-{number}", app="etl")
    operator = world.operator()
    for _ in range(5):
        operator.step()
        world.schedule()
    assert len(world.released) == 6


def test_a_machine_is_for_the_pods_that_asked_for_it() -> None:
    """An app of higher priority comes while it boots; it is behind those that wait for the machine."""
    world = growing(node("a", cpu=2), maximum=4)
    tasks = [world.create(f"task-{number}", app="etl") for number in range(4)]
    operator = world.operator()
    operator.step()
    world.schedule()
    assert gets_the_machine(world, operator, tasks)


def test_a_new_leader_knows_who_has_asked_for_machines() -> None:
    """It asks for no more of them, and the one that comes is for those who asked, whoever came meanwhile."""
    world = growing(node("a", cpu=2), maximum=4)
    tasks = [world.create(f"task-{number}", app="etl") for number in range(10)]
    operator = world.operator()
    operator.step()
    world.schedule()
    operator = world.restart()
    operator.take_over()
    for _ in range(3):
        operator.step()
        world.schedule()
    assert [pod.uid in world.released for pod in tasks] == [True] * 4 + [False] * 6
    assert gets_the_machine(world, operator, tasks[:4])


def test_a_claim_on_a_machine_ends_with_the_release() -> None:
    """No machine came in time: the pod is parked, and room that comes later is for whoever is first in line."""
    world = growing(node("a", cpu=2), maximum=4)
    tasks = [world.create(f"task-{number}", app="etl") for number in range(4)]
    operator = world.operator()
    operator.step()
    world.schedule()
    world.now += 10 * 60 + 1
    operator.step()
    assert [world.pods[pod.uid].parked for pod in tasks] == [False, False, True, True]


def test_who_asks_again_after_no_machine_came_is_known_to_have_waited_in_vain() -> None:
    """Else it would pass for a task that soon runs, and hide from the stall watch that nothing moves."""
    world = growing(node("a", cpu=2), maximum=4)
    for number in range(4):
        world.create(f"task-{number}", app="etl")
    operator = world.operator()
    seen: list[tuple[int, bool]] = []
    for seconds in (0, 1, 10 * 60, 10, 10):
        world.now += seconds
        operator.step()
        world.schedule()
        assert operator.releaser.result is not None
        seen += [
            (len(each.growing), each.in_vain) for app in operator.releaser.result.snapshot.apps for each in app.groups
        ]
    assert seen[1] == (2, False)
    assert seen[-1] == (2, True)


def test_a_gang_asks_for_machines_as_a_whole() -> None:
    """Four pods of one core, two of which have room: all are released, and none of them before."""
    world = growing(node("a", cpu=2), maximum=4)
    gang = {"slackwater.io/gang": "true", "slackwater.io/tasks": "4"}
    pods = [world.create(f"task-{number}", app="gang", annotations=gang) for number in range(4)]
    operator = world.operator()
    operator.step()
    world.schedule()
    assert len(world.released) == 4
    world.add_nodes(node("b", cpu=2))
    operator.step()
    world.schedule()
    assert all(world.pods[pod.uid].node for pod in pods)


def test_pods_that_no_machine_can_serve_do_not_hide_others_from_the_autoscaler() -> None:
    """Eight of them take all turns once; then others ask before them."""
    world = enforcing(node("a", cpu=8))
    world.configure("AdmissionQueue", "default", capacity={"maximum": {"cpu": "2000", "memory": "8Ti"}})
    world.create("busy", cpu=8, app="busy")
    operator = world.operator()
    operator.step()
    world.schedule()
    for number in range(8):
        world.create(f"huge-{number}", cpu=200, app="huge")
    world.now += 5
    small = world.create("small", cpu=4, app="small")
    for _ in range(62):
        operator.step(10)
        world.schedule()
    assert not world.pods[small.uid].gates


def test_who_waits_for_a_machine_goes_on_waiting_though_room_came_and_went() -> None:
    """The extender tells of room that is taken again before anybody asks: the machine is still to come."""
    world = growing(node("a", cpu=4))
    world.create("visitor", cpu=4, namespace="plain", gates=(), scheduler="default-scheduler", node="a")
    asks = world.create("asks", cpu=4, app="etl")
    operator = world.operator()
    operator.step()
    world.woken = [asks.uid]
    operator.step()
    assert not world.pods[asks.uid].parked
    on_its_way = world.cache.in_flight.get(asks.uid)
    assert on_its_way is not None
    assert on_its_way.growth
