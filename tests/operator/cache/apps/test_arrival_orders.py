"""In whatever order and batches the pods of an app come: after the last one, the app is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.cycle.appstarts.impossible import incomplete
from slackwater.pools.pools import Category
from slackwater_cluster import names
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.snapshot import take_snapshot
from support.examples import examples
from support.fakes.cluster import World, enforcing, node, owned

OWNERS = 3  # the first pods, which others may name as their owner
LABELS = st.fixed_dictionaries(
    {},
    optional={
        names.TASKS: st.sampled_from(["2", "5", "9", "none"]),
        names.TASK_CPU: st.sampled_from(["1", "500m"]),
        names.GANG: st.sampled_from(["true", "false"]),
        names.PAUSE: st.sampled_from(["true", "drain"]),
        names.DAG: st.just("strict"),
        names.PARENTS: st.sampled_from(["map", "shuffle", "nowhere"]),
        names.ITERATIVE: st.sampled_from(["0", "3", "8"]),
    },
)


@dataclass(frozen=True)
class Plan:
    """One pod to come."""

    app: str
    role: str
    cpu: float
    stage: str
    said: dict[str, str]
    owner: int | None  # the number of a pod that made it, if that one was made before
    created: float
    state: str


PLANS = st.lists(
    st.builds(
        Plan,
        app=st.sampled_from(["", "etl"]),
        role=st.sampled_from(["driver", "task", "task", ""]),
        cpu=st.sampled_from([0.5, 1.0, 2.0]),
        stage=st.sampled_from(["", "map", "shuffle", "reduce"]),
        said=LABELS,
        owner=st.one_of(st.none(), st.integers(0, OWNERS - 1)),
        created=st.sampled_from([1000.0, 1001.0, 1030.0, 9000.0]),
        state=st.sampled_from(["held", "held", "Running", "Succeeded"]),
    ),
    min_size=1,
    max_size=9,
)


def records(plans: Sequence[Plan]) -> list[PodRecord]:
    """The pods of a plan."""
    return [_record(number, plan) for number, plan in enumerate(plans)]


def _record(number: int, plan: Plan) -> PodRecord:
    # Drivers live: of an app that was over for a moment, the size is remembered for its next attempt.
    state = "Running" if plan.state == "Succeeded" and (plan.role == "driver" or number < OWNERS) else plan.state
    gone: dict[str, Any] = {"node": "a", "phase": state, "gates": (), "started": plan.created + 1}
    if state == "Succeeded":
        gone["finished"] = plan.created + 5
    owner = plan.owner if plan.owner is not None and plan.owner < number else None
    world = World(now=plan.created)
    made = world.create(
        f"p{number}",
        cpu=plan.cpu,
        role=plan.role,
        app=plan.app,
        stage=plan.stage,
        annotations=plan.said,
        owners=[owned("Pod", f"p{owner}", uid=f"uid-{owner}")] if owner is not None else (),
    )
    return _with(made, uid=f"uid-{number}", **(gone if state != "held" else {}))


def _with(pod: PodRecord, **fields: Any) -> PodRecord:
    return PodRecord(**{**{name: getattr(pod, name) for name in pod.__struct_fields__}, **fields})


def seen(pods: Sequence[PodRecord], cuts: Sequence[int]) -> dict[str, tuple[AppView, Category | None, bool]]:
    """Every app after its pods came in this order, with a round after each batch."""
    world = enforcing(*(node(name, cpu=8) for name in "abc"))
    world.configure("ReservationPool", "pool", queue="default")
    world.create("other", app="other", gates=("another",))  # a pool counts in tasks of all apps, and so in one at least
    for number, pod in enumerate(pods):
        world.cache.set_pods([pod], 9100.0)
        if number in cuts:
            take_snapshot(world.cache, 9100.0, None)
    found = take_snapshot(world.cache, 9100.0, None)
    whole = {app.id: incomplete(app) is None for app in found.apps}
    category = world.cache.views.histories.category
    # Above a pod that is labelled by hand nobody looks further up: the topmost owner seen is told to people, no more.
    views = {app: replace(each, owner="") for app, each in world.cache.views.items()}
    return {app: (each, category(app), whole[app]) for app, each in views.items()}


@settings(max_examples=examples(300), deadline=None)
@given(PLANS, st.data())
def test_the_order_of_arrival_makes_no_difference(plans: list[Plan], data: st.DataObject) -> None:
    """Groups, roles, category, size, gang, stages, name and age: as if the pods had come oldest first."""
    pods = records(plans)
    oldest_first = sorted(pods, key=lambda pod: (pod.created, pod.name))
    order = data.draw(st.permutations(pods))
    cuts = data.draw(st.lists(st.integers(0, len(pods))))
    assert seen(order, cuts) == seen(oldest_first, [])


def test_apps_that_come_together_stand_in_one_order() -> None:
    """World 2220499: by chance another app of a series was the first, and slots were of another size."""
    world = enforcing(node("a"))
    for number in (7, 3, 9, 1, 5, 8, 2, 6, 4):
        world.create(f"pod-{number}", app=f"app-{number}")
    world.cache.views.refresh()
    assert [each.app for each in world.cache.views.values()] == [f"app-{number}" for number in range(1, 10)]
