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
    made.now += 1
    made.create("etl-driver-again", app="etl", role=names.DRIVER)
    made.cache.views.refresh()
    made.delete(*(made.pods[pod.uid] for pod in (first, *tasks)))
    made.cache.views.refresh()
    return made


def test_a_driver_that_comes_again_has_the_size_of_its_run() -> None:
    """Its tasks went with the driver before it; there was no earlier run of its name."""
    size = with_tasks(3, cpu=2).cache.views["team/etl"].size
    assert size is not None
    assert (size.tasks, size.request["cpu"]) == (3, 2.0)


def test_a_driver_comes_again_before_its_tasks_are_gone() -> None:
    """They are deleted after the driver that owns them, which a Job has made anew by then."""
    made = enforcing(node("a", cpu=64))
    first = made.create("etl-driver", app="etl", role=names.DRIVER)
    task = made.create("etl-0", app="etl", cpu=2)
    made.cache.views.refresh()
    made.now += 1
    made.create("etl-driver-again", app="etl", role=names.DRIVER)
    made.cache.views.refresh()
    for gone in (first, task):
        made.delete(made.pods[gone.uid])
        made.cache.views.refresh()
    size = made.cache.views["team/etl"].size
    assert size is not None
    assert size.tasks == 1


def test_a_driver_that_gave_its_tasks_back_expects_none() -> None:
    """A notebook whose executors were idle does not count as large as it ever was for the rest of its life."""
    made = enforcing(node("a", cpu=64))
    made.create("nb-driver", app="nb", role=names.DRIVER)
    for _ in range(2):
        made.now += 1
        tasks = [made.create(f"nb-{number}-{made.now}", app="nb") for number in range(12)]
        made.cache.views.refresh()
        made.delete(*(made.pods[task.uid] for task in tasks))
        made.cache.views.refresh()
        assert made.cache.views["team/nb"].size is None


def test_a_driver_without_any_task_so_far_has_no_size() -> None:
    """Nobody knows what it will ask for."""
    assert with_tasks(0, cpu=2).cache.views["team/etl"].size is None


def test_tasks_that_are_there_say_themselves_how_many_they_are() -> None:
    """In a first run nothing is expected beside them."""
    made = with_tasks(3, cpu=2)
    made.create("etl-again", app="etl", cpu=1)
    made.cache.views.refresh()
    assert made.cache.views["team/etl"].size is None
