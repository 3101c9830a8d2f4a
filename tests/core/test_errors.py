"""The error tree: few kinds, and sentences that say what to do."""

from __future__ import annotations

import pickle

import pytest

from slackwater.errors import BadNumber, CyclicGraph, InvalidInput, SlackwaterError, Unavailable, UnknownName


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InvalidInput("shortlist", "0 nodes", "give at least 1"), "shortlist: 0 nodes; give at least 1"),
        (BadNumber("alpha", 2.0, "give a number from 0 to 1"), "alpha: 2.0 is not usable; give a number from 0 to 1"),
        (UnknownName("mode", "fast", ["printed", "capped"]), "mode: 'fast' is not known; use one of: capped, printed"),
        (
            UnknownName("option", "pool", ["alpha", "delta", "known", "order", "pools"]),
            "option: 'pool' is not known (did you mean pools?); use one of: alpha, delta, known, order, pools",
        ),
        (
            UnknownName("node", "node7", ["node0", "node1", "node2", "node3", "…"]),
            "node: 'node7' is not known; use one of: node0, node1, node2, node3, …",
        ),
        (UnknownName("node", "n", []), "node: 'n' is not known; leave it out, as there is none"),
        (
            CyclicGraph("stages", ["b", "a"]),
            "stages: these wait for each other in a circle: a, b; remove one dependency",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_invalid_input_names_field_problem_and_remedy(error: InvalidInput, sentence: str) -> None:
    """One sentence a person can act on."""
    assert str(error) == sentence


@pytest.mark.parametrize("kind", [InvalidInput, BadNumber, UnknownName, CyclicGraph, Unavailable])
def test_one_root_catches_all(kind: type[Exception]) -> None:
    """Trying again helps only where something was unavailable."""
    assert issubclass(kind, SlackwaterError)
    assert issubclass(kind, InvalidInput) is (kind is not Unavailable)


@pytest.mark.parametrize(
    "error",
    [
        SlackwaterError("a", 1),
        InvalidInput("shortlist", "0 nodes", "give at least 1"),
        BadNumber("alpha", 2.0),
        UnknownName("mode", "fast", ["printed", "capped"]),
        CyclicGraph("stages", ["b", "a"]),
        Unavailable("nobody answers"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_between_processes(error: SlackwaterError) -> None:
    """A worker's error is the caller's: same kind, same sentence, same fields."""
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.args, vars(copy)) == (type(error), str(error), error.args, vars(error))
