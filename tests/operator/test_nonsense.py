"""Bad input on one app: it is told so, and everyone else goes on."""

import pytest

from slackwater_cluster import names
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
    problems = world.assembly.portraits["team/odd"].problems
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
    assert any(names.PARENTS in problem for problem in world.assembly.portraits["team/odd"].problems)
