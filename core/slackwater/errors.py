"""Everything that can go wrong, as one tree.

SlackwaterError
├── InvalidInput       what was given cannot be decided on; the same input will fail again
│   ├── BadNumber      NaN, infinite, or below what the field allows
│   ├── UnknownName    a name that nothing declares
│   └── CyclicGraph    stages that wait for each other in a circle
└── Unavailable        what is needed is not there now; trying again later may work
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class SlackwaterError(Exception):
    """The root of the tree: catch this to catch everything Slackwater raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as it is: Python would call the class with the sentence, where ours take a field and more."""
        return _rebuilt, (type(self), self.args), vars(self)


def _rebuilt(kind: type[SlackwaterError], args: tuple[Any, ...]) -> SlackwaterError:
    return kind.__new__(kind, *args)


class InvalidInput(SlackwaterError):  # noqa: N818 - reads as a sentence: `raise InvalidInput("shortlist", …)`
    """A value that cannot be decided on. Names the field, what is wrong with it and what to write instead."""

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem}; {remedy}")
        self.field = field
        self.problem = problem
        self.remedy = remedy


class BadNumber(InvalidInput):
    """A number that is NaN, infinite, or outside the range of its field."""

    def __init__(self, field: str, value: object, remedy: str = "give a finite number") -> None:
        super().__init__(field, f"{value!r} is not usable", remedy)
        self.value = value


FEW, MANY = 5, 100  # of fewer names the right one is found at a glance; more are objects, such as nodes, not words
LONG = 100  # characters: nobody meant to write so long a name
CUT = "…"  # in place of further names


class UnknownName(InvalidInput):
    """A name that nothing declares, with the names that would have been right, and the one that was probably meant."""

    def __init__(self, field: str, name: str, known: Iterable[str]) -> None:
        choices = sorted(known)
        remedy = f"use one of: {', '.join(choices)}" if choices else "leave it out, as there is none"
        known_words = FEW <= len(choices) <= MANY and CUT not in choices
        meant = get_close_matches(name, choices, n=1) if known_words and len(name) <= LONG else []
        super().__init__(field, f"{name!r} is not known{f' (did you mean {meant[0]}?)' if meant else ''}", remedy)
        self.name = name


class CyclicGraph(InvalidInput):
    """Stages or tasks that wait for each other in a circle, so none of them can ever start."""

    def __init__(self, field: str, members: Iterable[str]) -> None:
        circle = ", ".join(sorted(members))
        super().__init__(field, f"these wait for each other in a circle: {circle}", "remove one dependency")


class Unavailable(SlackwaterError):  # noqa: N818 - a state, not a mistake
    """Something needed is not there now; the same call may succeed later."""
