"""What one round may know."""

from __future__ import annotations

import pickle

from slackwater.cycle.snapshot import App
from slackwater.errors import Unavailable
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.rooms import Rooms
from slackwater_operator.cache.snapshot import SnapshotBuilder
from support.fakes.cluster import Operator, World, enforcing, node


def test_a_started_app_waits_since_the_oldest_of_its_held_pods_came() -> None:
    """Not since it was submitted: it ran in between."""
    world = enforcing(node("a", cpu=4))
    world.create("driver", cpu=1, role="driver", app="etl")
    operator = world.operator()
    operator.step()
    world.schedule()
    world.now += 400
    came = world.create("late", cpu=4, app="etl").created
    world.now += 5
    world.create("later", cpu=4, app="etl")
    operator.step()
    assert operator.releaser.result is not None
    (app,) = operator.releaser.result.snapshot.apps
    assert app.waits_since == came > app.submitted


def test_of_a_driver_it_is_known_since_when_it_has_its_node() -> None:
    """Room is kept for its first task for so long; while it is on its way nobody can say."""
    world = enforcing(node("a", cpu=4))
    world.create("driver", cpu=1, role="driver", app="etl")
    operator = world.operator()
    operator.step()
    operator.step()
    assert [app.driver_bound for app in seen(operator)] == [None]
    world.now += 7
    bound = world.now
    world.schedule()
    world.now += 400
    world.create("other", cpu=4, app="late")
    operator.step()
    assert {app.id: app.driver_bound for app in seen(operator)} == {"team/etl": bound, "team/late": None}


def seen(operator: Operator) -> tuple[App, ...]:
    """The apps of the last round."""
    assert operator.releaser.result is not None
    return operator.releaser.result.snapshot.apps


class Alone(World):
    """Nobody tells rooms."""

    async def rooms(self) -> Rooms:
        """The extender is away."""
        raise Unavailable("away")


def test_without_nodes_and_without_the_extender_it_is_said_that_there_is_no_node() -> None:
    """A cluster that scales to zero: nothing is set aside for it."""
    world = Alone()
    world.configure("SlackPolicy", "default", mode="enforce")
    world.namespace("team")
    world.create("t", app="etl")
    operator = world.operator(grace=0)
    operator.step()
    operator.step()
    assert operator.said("etl").reason == "larger-than-any-node"
    assert not world.cache.quarantine.take()


def remembered(cache: OperatorCache) -> bytes:
    """What the cache has noted by itself, beside the pods that the watch told it of."""
    views, queues = cache.views, cache.queues
    marks = (cache.news, cache.pressing, cache.holding)
    return pickle.dumps((marks, views.histories, views.runs, views.phases, queues.pool_states, cache.paused))


def test_reading_the_cache_changes_nothing_there() -> None:
    """`advance` moves it on: names, categories and slots. What is read of that moment is the same however often."""
    world = enforcing(node("a", cpu=16))
    world.configure("ReservationPool", "pool", queue="default")
    for number in range(12):
        world.create(f"t{number}", app="large" if number else "small")
    moment = world.cache.advance(world.now, None, world.now)
    before = remembered(world.cache)
    first, second = (SnapshotBuilder(world.cache, moment).snapshot() for _ in range(2))
    assert (first.apps, first.pools) == (second.apps, second.pools)
    assert remembered(world.cache) == before
    assert sorted(app.category.value for app in first.apps if app.category) == ["large", "small"]
