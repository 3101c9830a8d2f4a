"""Guards at the door of every decision: a bad number becomes an error that names its field."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from slackwater.errors import BadNumber, InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Sums of requests are compared with this much slack, so that 0.1 + 0.2 fits into 0.3.
TOLERANCE = 1e-9


def finite(field: str, value: float) -> float:
    """Return the value if it is a finite number, else raise BadNumber naming the field."""
    if not math.isfinite(value):
        raise BadNumber(field, value)
    return value


def amount(field: str, value: float) -> float:
    """Return the value if it is finite and not negative."""
    if not (math.isfinite(value) and value >= 0):
        raise BadNumber(field, value, "give a finite number of at least 0")
    return value


def positive(field: str, value: float) -> float:
    """Return the value if it is finite and above zero."""
    if not (math.isfinite(value) and value > 0):
        raise BadNumber(field, value, "give a finite number above 0")
    return value


def fraction(field: str, value: float) -> float:
    """Return the value if it lies in [0, 1]."""
    if not 0 <= value <= 1:  # NaN fails the comparison too
        raise BadNumber(field, value, "give a number from 0 to 1")
    return value


def probability(field: str, text: str) -> float:
    """`1%` or `0.01` as a number between 0 and 1."""
    try:
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise InvalidInput(field, f"{text!r} is not a probability", "write for example 1% or 0.01")
    return value


def processes(field: str, number: int) -> int:
    """Return the number of processes, as joblib counts them (-1: one for each core), unless there is none."""
    if number == 0:
        raise InvalidInput(field, "0 processes play nothing", "give a number from 1 on, or -1 for all cores")
    return number


# What pydantic refuses, by its type, in words that say what was given; names in braces are the limits of the field.
REFUSALS: Mapping[str, str] = {
    "missing": "it is missing",
    "extra_forbidden": "it is not known here",
    "greater_than": "{given} is not above {gt}",
    "greater_than_equal": "{given} is below {ge}",
    "less_than": "{given} is not below {lt}",
    "less_than_equal": "{given} is above {le}",
    "too_short": "it has {actual_length} entries, which are too few",
    "too_long": "it has {actual_length} entries, which are too many",
    "finite_number": "{given} is not a finite number",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "{given} is not a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "{given} is not a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "{given} is neither true nor false"),
    "string_type": "{given} is not text",
    **dict.fromkeys(("list_type", "tuple_type", "set_type"), "{given} is not a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), "{given} is not an object"),
    **dict.fromkeys(("literal_error", "enum"), "{given} is not one of {expected}"),
    "value_error": "{error}",
    "json_invalid": "it is not JSON: {error}",
}


# Parts of a place that name one of the kinds that a field may have; a key that a user wrote may be called so, too.
KINDS = re.compile(
    r"(bool|int|float|str|bytes|constrained-\w+|(function|is)-\w+\[.*|(nullable|list|dict|tuple|set)\[.*)$"
)
SHOWN = 60  # characters of a value that is quoted
# What is said goes into logs: of these fields no value is quoted, of a text in place of a section (which may be all of
# it on one line) neither, and of an address no user and password.
SECRET = re.compile(r"header|password|secret|token", re.IGNORECASE)
SECTIONS = frozenset(kind for kind, told in REFUSALS.items() if told == "{given} is not an object")
WORD = re.compile(r"[^\s'\"]+")
SCHEME = re.compile(r"\w+://")


def without_user(text: str) -> str:
    """The text with no user and password in any of its addresses: `https://…@host/path`.

    Word by word, each looked at once: the text may be as long as a stranger likes.
    """
    return WORD.sub(_without_user, text)


def _without_user(word: re.Match[str]) -> str:
    user, at, host = word[0].rpartition("@")
    scheme = SCHEME.match(user)
    return f"{scheme[0] if scheme else ''}…@{host}" if at else word[0]


def refusal(errors: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """The field of the first thing that pydantic refused, as it is written in a file, and what is wrong with it.

    A field of several kinds is refused once for each: what counts is the one that came furthest.
    """
    errors = list(errors)
    places = _fields([tuple(map(str, each["loc"])) for each in errors])
    begin = places[0]
    alternatives = [(place, each) for place, each in zip(places, errors, strict=True) if place[: len(begin)] == begin]
    place, first = max(alternatives, key=lambda one: (len(one[0]), not one[1]["type"].endswith("_type")))
    where = ".".join(place)
    return where, _refused(first, where, several=len(alternatives) > 1 and place == begin)


def _fields(places: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The places without names of kinds: those go on from the same beginning in more than one way."""
    ways: dict[tuple[str, ...], set[str]] = {}
    for place in places:
        for at, part in enumerate(place):
            ways.setdefault(place[:at], set()).add(part)
    return [
        tuple(part for at, part in enumerate(place) if not (KINDS.match(part) and len(ways[place[:at]]) > 1))
        for place in places
    ]


def _refused(found: Mapping[str, Any], where: str, *, several: bool) -> str:
    kind, value = found["type"], found["input"]
    if value is None and kind not in ("extra_forbidden", "value_error"):
        return "it is empty"
    hidden = SECRET.search(where) or (kind in SECTIONS and isinstance(value, str))
    given = "its value" if hidden else _quoted(value)
    if several and kind.endswith("_type"):
        return f"{given} is of a kind that is not read here"
    if kind not in REFUSALS:
        return f"{given} is not usable: {found['msg']}"
    limits = {
        name: f"{bound:,g}" if isinstance(bound, float) else bound for name, bound in found.get("ctx", {}).items()
    }
    return REFUSALS[kind].format(given=given, **limits)


def _quoted(given: object) -> str:
    """The value, in short; of a list or an object only that it is one: it may be long, and hold secrets."""
    if isinstance(given, dict):
        return "an object"
    if isinstance(given, list | tuple | set):
        return "a list"
    try:
        text = without_user(repr(given))
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def once(field: str, values: Iterable[object]) -> None:
    """Refuse a list in which something stands twice."""
    again = [value for value, times in Counter(values).items() if times > 1]
    if again:
        raise InvalidInput(field, f"{again[0]} is there twice", "name it once")


def alike(field: str, value: object, default: object) -> None:
    """Refuse an option of another kind than its default: a word where a number belongs, a number for yes or no."""
    if isinstance(default, bool):
        fine, remedy = isinstance(value, bool), "write true or false"
    elif isinstance(default, Real):
        fine, remedy = isinstance(value, Real) and not isinstance(value, bool), "write a number"
    elif isinstance(default, tuple):
        fine, remedy = isinstance(value, list | tuple), "write a list [a, b]"
    else:
        fine, remedy = not isinstance(default, str) or isinstance(value, str), "write a word"
    if not fine:
        raise BadNumber(field, value, remedy)


@contextmanager
def parsing(field: str, problem: str, remedy: str) -> Iterator[None]:
    """Whatever a parser of others raises inside is the fault of its text, and told so.

    Parsers raise more than errors of their own: PyYAML a ValueError for 30 February and for thousands of digits, a
    KeyError for `!!bool maybe`, a RecursionError for thousands of brackets.
    """
    try:
        yield
    except Exception as error:
        raise InvalidInput(field, f"{problem} ({fault(error)})", remedy) from error


def fault(error: Exception) -> str:
    """What a parser found wrong, and where if it says so, on one line."""
    if isinstance(error, RecursionError):
        return "too much stands inside of each other"
    if isinstance(error, LookupError | AttributeError | ArithmeticError | TypeError):
        return "a value is not what its tag or its form says"
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or not problem:
        return " ".join(str(error).split())[:200]
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}"


def finite_array(field: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the array if all of it is finite."""
    if not np.isfinite(values).all():
        raise BadNumber(field, "an array with NaN or infinity")
    return values


def clip(value: float, low: float, high: float) -> float:
    """The value, or the nearer end of [low, high]."""
    return min(max(value, low), high)
