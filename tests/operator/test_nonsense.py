"""Bad input on one app: it is told so, and everyone else goes on."""

import time
from typing import Any

import pytest

from slackwater.cycle import cycle
from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_operator.cache.apps import appview, appviews
from slackwater_operator.release import release
from support.fakes.cluster import enforcing, node


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({names.TASKS: "4", names.TASK_CPU: "-2"}, "'-2' is negative"),
        ({names.TASKS: "many"}, "'many' is not a count of tasks"),
        ({names.TASKS: "99999999"}, "write a whole number up to"),
        ({names.PARENTS: "nowhere"}, "nowhere"),
        ({names.ITERATIVE: "often"}, "'often' is not a number of stages"),
        ({names.ITERATIVE: "2\n3"}, "'2 3' is not a number of stages"),
    ],
    ids=["negative quantity", "words for a number", "too many", "unknown stage", "no number of stages", "newline"],
)
def test_nonsense_is_told_and_holds_up_nobody(annotations: dict[str, str], words: str) -> None:
    """The sentence names the annotation and what is wrong with it; both apps run."""
    world = enforcing(node("a"))
    world.create("odd", app="odd", stage="s", annotations=annotations)
    world.create("fine", app="fine")
    operator = world.operator()
    operator.step()
    world.schedule()
    assert all(pod.node for pod in world.pods.values())
    problems = world.cache.views["team/odd"].problems
    assert any(words in problem for problem in problems), problems
    assert words in operator.said("odd").sentence


def test_stages_in_a_circle_are_told() -> None:
    """Each waits for the other: they go without levels, with a word about it."""
    world = enforcing(node("a"))
    world.create("x", app="odd", stage="x", annotations={names.PARENTS: "y", names.DAG: "strict"})
    world.create("y", app="odd", stage="y", annotations={names.PARENTS: "x", names.DAG: "strict"})
    operator = world.operator()
    for _ in range(3):
        operator.step()
        world.schedule()
    assert all(pod.node for pod in world.pods.values())
    assert any(names.PARENTS in problem for problem in world.cache.views["team/odd"].problems)


def test_a_count_of_thousands_of_digits_holds_up_nobody() -> None:
    """Python refuses to convert it; it used to end the operator, and its start, within two seconds."""
    world = enforcing(node("a"))
    world.create("odd", app="odd", annotations={names.TASKS: "1" * 4301})
    world.create("fine", app="fine")
    operator = world.operator()
    operator.step()
    world.schedule()
    assert all(pod.node for pod in world.pods.values())
    assert "is not a count of tasks" in operator.said("odd").sentence


def test_an_app_that_cannot_be_put_together_costs_no_other_app_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it raises: the apps that changed in the same turn stay known, and its pod's owner is told."""
    world = enforcing(node("a"))
    victim = world.create("victim", app="victim")
    world.cache.views.refresh()
    build = appview.app_view

    def app_view(namespace: str, app: str, *more: Any) -> Any:
        if app == "odd":
            raise ZeroDivisionError("whatever")
        return build(namespace, app, *more)

    monkeypatch.setattr(appviews, "app_view", app_view)
    world.create("odd", app="odd")
    world.change(victim.uid, hostname="other")
    world.cache.views.refresh()
    assert "team/victim" in world.cache.views
    told = world.cache.quarantine.take()
    assert [(each.pod.name, each.part.value) for each in told] == [("odd", "app")]


def test_what_changed_is_not_forgotten_when_putting_together_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The apps of a failed turn are put together in the next one."""
    world = enforcing(node("a"))
    world.create("one", app="one")

    def fail(each: Any) -> None:
        raise RuntimeError("once")

    monkeypatch.setattr(world.cache.views.runs, "observe", fail)
    with pytest.raises(RuntimeError):
        world.cache.views.refresh()
    monkeypatch.undo()
    world.cache.views.refresh()
    assert "team/one" in world.cache.views


def test_an_app_that_cannot_be_decided_on_is_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """It alone: the others are released in the same round."""
    world = enforcing(node("a"))
    world.create("odd", app="odd")
    world.create("fine", app="fine")
    decide = cycle.decide

    def deciding(snapshot: Any) -> Any:
        if any(app.id == "team/odd" for app in snapshot.apps):
            raise ZeroDivisionError("whatever")
        return decide(snapshot)

    monkeypatch.setattr(release, "decide", deciding)
    world.operator().step()
    world.schedule()
    assert {pod.name: bool(pod.node) for pod in world.pods.values()} == {"odd": False, "fine": True}
    assert [each.part.value for each in world.cache.quarantine.take()] == ["app"]


def test_forty_thousand_parents_take_no_time() -> None:
    """Twenty pods of 40,000 parents each blocked the loop for 8.5 s."""
    world = enforcing(node("a"))
    text = ",".join(str(number) for number in range(40_000))
    for number in range(20):
        world.create(f"p{number}", app="a", stage=f"s{number}", annotations={names.PARENTS: text})
    began = time.process_time()
    world.cache.views.refresh()
    assert time.process_time() - began < 0.5
    assert world.cache.views["team/a"].problems


@pytest.mark.parametrize("role", [names.TASK, names.DRIVER])
@pytest.mark.parametrize("kinds", [0, 16])
def test_an_app_whose_pods_each_ask_for_something_else_holds_up_nobody(kinds: int, role: str) -> None:
    """Sizes and kinds were compared pair by pair: 400 pods of 16 made-up kinds cost every round 3 s, 1,600 a minute."""
    world = enforcing(node("a"))
    world.create("fine", app="fine")
    for number in range(400):
        made_up = {f"made/up-{number}-{kind}": 1.0 for kind in range(kinds)}
        asked = Resources({"cpu": 100.0 + number, **made_up})
        world.create(f"odd-{number}", app="odd", role=role, native=asked, declared=asked)
    operator = world.operator()
    began = time.process_time()
    operator.step()
    assert time.process_time() - began < 1.0
    world.schedule()
    assert [pod.name for pod in world.pods.values() if pod.node] == ["fine"]
