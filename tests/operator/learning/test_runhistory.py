"""How large a run turns out to be, for a driver that comes alone."""

from __future__ import annotations

from slackwater_cluster import names
from support.fakes.cluster import World, enforcing, node


def with_tasks(count: int, cpu: float) -> World:
    """A driver that runs and the tasks that it made, then a second driver in its place, without tasks."""
    made = enforcing(node("a", cpu=64))
    first = made.create("etl-driver", app="etl", role=names.DRIVER)
    tasks = [made.create(f"etl-{number}", app="etl", cpu=cpu) for number in range(count)]
    made.cache.views.refresh()
    made.create("etl-driver-again", app="etl", role=names.DRIVER)
    made.delete(*(made.pods[pod.uid] for pod in (first, *tasks)))
    made.cache.views.refresh()
    return made


def test_a_driver_that_comes_again_has_the_size_of_its_run() -> None:
    """Its tasks went with the driver before it; there was no earlier run of its name."""
    size = with_tasks(3, cpu=2).cache.views["team/etl"].size
    assert size is not None
    assert (size.tasks, size.request["cpu"]) == (3, 2.0)


def test_a_driver_without_any_task_so_far_has_no_size() -> None:
    """Nobody knows what it will ask for."""
    assert with_tasks(0, cpu=2).cache.views["team/etl"].size is None


def test_tasks_that_are_there_say_themselves_how_many_they_are() -> None:
    """In a first run nothing is expected beside them."""
    made = with_tasks(3, cpu=2)
    made.create("etl-again", app="etl", cpu=1)
    made.cache.views.refresh()
    assert made.cache.views["team/etl"].size is None
