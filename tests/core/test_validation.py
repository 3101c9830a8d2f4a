"""Guards at the door: bad numbers become errors that name their field."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import process_time
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from slackwater.errors import BadNumber, InvalidInput
from slackwater.validation import (
    amount,
    clip,
    finite,
    finite_array,
    fraction,
    once,
    parsing,
    positive,
    probability,
    processes,
    refusal,
)

Guard = Callable[[str, float], float]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf], ids=str)
@pytest.mark.parametrize("guard", [finite, amount, positive, fraction], ids=lambda guard: guard.__name__)
def test_no_guard_lets_a_non_number_pass(guard: Guard, bad: float) -> None:
    """Whatever else it allows."""
    with pytest.raises(BadNumber) as caught:
        guard("alpha", bad)
    assert caught.value.field == "alpha"


@pytest.mark.parametrize(
    ("guard", "good", "bad"),
    [(amount, 0.0, -1e-9), (positive, 1e-9, 0.0), (fraction, 1.0, 1.0 + 1e-9), (fraction, 0.0, -1e-9)],
    ids=["amount", "positive", "fraction above", "fraction below"],
)
def test_each_guard_draws_its_line(guard: Guard, good: float, bad: float) -> None:
    """On one side the value comes back, on the other an error says what to write."""
    assert guard("x", good) == good
    with pytest.raises(BadNumber, match=r"x: .* is not usable; give a"):
        guard("x", bad)


def test_arrays_are_finite_as_a_whole() -> None:
    """One NaN is enough."""
    good = np.array([1.0, 2.0])
    assert finite_array("room", good) is good
    with pytest.raises(BadNumber, match=r"^room"):
        finite_array("room", np.array([1.0, np.nan]))


def test_clip() -> None:
    """The nearer end."""
    assert [clip(value, 0.0, 1.0) for value in (-1.0, 0.5, 2.0)] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(("text", "value"), [("1%", 0.01), (" 0.05 ", 0.05), ("0.1 %", 0.001)])
def test_a_probability_may_be_a_share_or_a_percentage(text: str, value: float) -> None:
    """As people write it."""
    assert probability("risk", text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["0", "100%", "often", "", "nan"])
def test_what_is_no_probability_is_refused(text: str) -> None:
    """With what to write."""
    with pytest.raises(InvalidInput, match=r"risk: .* write for example 1% or 0.01"):
        probability("risk", text)


def test_what_stands_in_a_list_twice_is_refused() -> None:
    """By its name; the order does not matter."""
    once("policies", ["fifo", "fair"])
    with pytest.raises(InvalidInput, match="policies: fifo is there twice; name it once"):
        once("policies", iter(("fifo", "fair", "fifo")))


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (ValueError("day is out\n of range"), "day is out of range"),
        (KeyError("maybe"), "a value is not what its tag or its form says"),
        (RecursionError(), "too much stands inside of each other"),
    ],
    ids=["value", "key", "depth"],
)
def test_whatever_a_parser_raises_is_the_fault_of_its_text(raised: Exception, said: str) -> None:
    """In one line, with the field and what to write instead."""
    with pytest.raises(InvalidInput) as caught, parsing("option x", "'y' cannot be read", "write a number"):
        raise raised
    assert str(caught.value) == f"option x: 'y' cannot be read ({said}); write a number"


def test_no_process_plays_nothing() -> None:
    """-1 stands for every core, as joblib has it."""
    assert [processes("jobs", number) for number in (1, 4, -1)] == [1, 4, -1]
    with pytest.raises(InvalidInput, match="jobs: 0 processes play nothing; give a number from 1 on"):
        processes("jobs", 0)


class Entry(BaseModel):
    """A file with fields of many kinds."""

    model_config = ConfigDict(extra="forbid")
    count: int = Field(1, ge=1, le=9)
    share: float = Field(0.5, gt=0.0, lt=1.0)
    word: Literal["one", "two"] = "one"
    names: list[str] = Field(["a"], min_length=1)
    either: int | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = 1
    inside: dict[str, bool] = {}


@pytest.mark.parametrize(
    ("given", "place", "told"),
    [
        ({"count": 0}, "count", "0 is below 1"),
        ({"count": 12}, "count", "12 is above 9"),
        ({"count": "many"}, "count", "'many' is not a whole number"),
        ({"count": None}, "count", "it is empty"),
        ({"share": 1.0}, "share", "1.0 is not below 1"),
        ({"share": -1}, "share", "-1 is not above 0"),
        ({"share": []}, "share", "a list is not a number"),
        ({"word": "three"}, "word", "'three' is not one of 'one' or 'two'"),
        ({"names": []}, "names", "it has 0 entries, which are too few"),
        ({"names": "a" * 100}, "names", f"'{'a' * 59}… is not a list"),
        ({"either": [1, -1]}, "either.1", "-1 is below 0"),
        ({"either": {}}, "either", "an object is of a kind that is not read here"),
        ({"count": -(16**5000)}, "count", "a number of thousands of digits is below 1"),
        ({"inside": {"a": "perhaps"}}, "inside.a", "'perhaps' is neither true nor false"),
        ({"inside": {"is-team": "perhaps"}}, "inside.is-team", "'perhaps' is neither true nor false"),
        ({"inside": {"function-x": None}}, "inside.function-x", "it is empty"),
        ({"inside": {"int": "perhaps"}}, "inside.int", "'perhaps' is neither true nor false"),
        ({"extra": 1}, "extra", "it is not known here"),
        ({"extra": None}, "extra", "it is not known here"),
        ([], "", "a list is not an object"),
    ],
)
def test_what_a_model_refuses_is_told_in_plain_words(given: object, place: str, told: str) -> None:
    """The field as it stands in the file, what was given, and the limit: no word of the library that checks it."""
    with pytest.raises(ValidationError) as caught:
        Entry.model_validate(given)
    assert refusal(caught.value.errors()) == (place, told)


class Reached(BaseModel):
    """Settings with secrets in them."""

    url: AnyHttpUrl | None = None
    headers: dict[str, SecretStr] = {}


@pytest.mark.parametrize(
    ("given", "place", "told"),
    [
        ({"headers": "X-Key: 5ecret"}, "headers", "its value is not an object"),
        ("{url: http://host, headers: {X-Key: 5ecret}}", "", "its value is not an object"),
        ({"headers": {"X-Key": 5}}, "headers.X-Key", "its value is not text"),
        ({"headers": ["X-Key: 5ecret"]}, "headers", "its value is not an object"),
        ([{"headers": {"X-Key": "5ecret"}}], "", "a list is not an object"),
        ({"url": "s://me:5ecret@host"}, "url", "'s://…@host' is not usable: URL scheme should be 'http' or 'https'"),
        ({"url": "me:5ecret@host"}, "url", "'…@host' is not usable: URL scheme should be 'http' or 'https'"),
    ],
)
def test_no_secret_is_quoted(given: object, place: str, told: str) -> None:
    """What a program could not read of its settings stands in its log."""
    with pytest.raises(ValidationError) as caught:
        Reached.model_validate(given)
    assert refusal(caught.value.errors()) == (place, told)


@pytest.mark.parametrize("text", ["x" * 20_000, "@" * 20_000, "s://" * 5_000])
def test_a_long_value_that_is_refused_is_quoted_in_no_time(text: str) -> None:
    """Users were looked for from each letter on: the operator stood still, for 11 minutes at 250 kB."""
    began = process_time()
    with pytest.raises(ValidationError) as caught:
        Reached.model_validate({"url": text})
    assert refusal(caught.value.errors())[1]
    assert process_time() - began < 0.5
