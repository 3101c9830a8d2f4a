"""One sentence about the room of a node, in which every `=` can be computed anew from the numbers told."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slackwater.estimation.calibration import Kept
from slackwater.estimation.mode import Mode
from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import Basis, ClaimState, LedgerConfig, NodePromise, NodeSpec, PodClaim, RoomLine, Sample
from slackwater.roles import Role
from slackwater_cluster.roomsentence import read, sentence
from slackwater_simulator.charts.amounts import amount
from support.builders.measuring import measure

GIB = 2.0**30
EMPTY = RoomLine(
    capacity=16.0,
    allocatable=16.0,
    allowed=16.0,
    real=16.0,
    used=0.0,
    learned=0.0,
    residual=0.0,
    reserved=0.0,
    known=0.0,
    estimate=0.0,
    declared=0.0,
    drivers=0.0,
    native=0.0,
    room=16.0,
    stale=False,
    requested=16.0,
    uncovered=0.0,
)
PROMISE = NodePromise(asked=0.05, realised=0.04, compared=500.0, centre=3.0, spread=0.5, factor=2.0, peak=4.0)
TOKEN = re.compile(r"(?:min|max)\(|[()+−×]|, |(?:[<>] )?-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?:e[+-][0-9]+)?")
PYTHON = {"−": "-", "×": "*"}


def equations(text: str) -> Iterator[tuple[float, float, float]]:
    """Of every `=`: what stands before it, what the other side comes to, and the size of the numbers there."""
    for clause in text.split("; "):
        left, sign, right = clause.partition(" = ")
        if sign:
            tokens = list(terms(right))
            large = [{"-": "+", "min(": "max("}.get(token, token.lstrip("-")) for token in tokens]
            before = [number(token) for token in TOKEN.findall(left) if token[-1].isdigit()]
            yield float(before[-1]), computed(tokens), computed(large)


def terms(text: str) -> Iterator[str]:
    """Numbers and signs, up to the first comma outside all brackets."""
    depth = 0
    for token in TOKEN.findall(text):
        depth += token.endswith("(") - (token == ")")
        if token == ", " and not depth:
            return
        yield number(token) if token[-1].isdigit() else PYTHON.get(token, token)


def number(token: str) -> str:
    """A number as Python writes it; one so small that it is only told to be smaller is none."""
    return "0" if token[0] in "<>" else token.replace(",", "")


def computed(tokens: list[str]) -> float:
    """What they come to: numbers and signs, by TOKEN."""
    return float(eval(" ".join(tokens), {"min": min, "max": max}))


def adds_up(text: str, share: float) -> int:
    """How many sums the text has; each comes out as told, where every number was rounded by this share of it."""
    found = list(equations(text))
    for told, sum_of_terms, size in found:
        assert told == pytest.approx(sum_of_terms, abs=2 * share * max(size, abs(told)) + 0.002), text
    return len(found)


def ledger(
    pods: list[tuple[float, float, float]], system: float, score: float | None, *, driver: bool, mode: Mode
) -> Ledger:
    """A node of 16 cores and 64 GiB with pods of so many cores and GiB that use such a share of them for long."""
    made = Ledger(LedgerConfig(mode=mode, risk=None if score is None else 0.01))
    made.upsert_node(NodeSpec("n", (16.0, 64 * GIB), (16.0, 65 * GIB)))
    for number, (cores, memory, _) in enumerate(pods):
        role = Role.DRIVER if driver and not number else Role.TASK
        size = (cores, memory * GIB)
        made.put(PodClaim(f"p{number}", "n", size, size, role, f"app{number % 2}", ClaimState.RUNNING, 0.0))
    for calibration in made.risks().values() if score is not None else ():
        calibration.restore(np.full(1000, score), Kept(1000.0, 4.0), {})
    uses = {f"p{number}": (cores * share, memory * share * GIB) for number, (cores, memory, share) in enumerate(pods)}
    whole = tuple(float(part) for part in np.sum([(system / 4, system * GIB), *uses.values()], axis=0))
    for stamp in (10.0, 400.0, 800.0, 1200.0):
        measure(made, stamp, {"n": Sample(stamp, whole)}, uses)
    return made


@given(
    pods=st.lists(st.tuples(st.floats(0.5, 6.0), st.floats(1.0, 24.0), st.floats(0.1, 2.0)), max_size=4),
    system=st.floats(0.0, 20.0),
    score=st.sampled_from([None, -1e6, -2.0, 0.0, 3.0, 1e3, 1e6]),
    driver=st.booleans(),
    mode=st.sampled_from(list(Mode)),
    stale=st.booleans(),
    ended=st.booleans(),
)
@example([(6.0, 24.0, 2.0)] * 2, 20.0, 3.0, False, Mode.CAPPED, True, True)
@example([(4.0, 8.0, 0.25)] * 4, 2.0, 1e3, True, Mode.CAPPED, False, False)
@example([(4.0, 8.0, 0.25)] * 4, 2.0, -1e6, True, Mode.CAPPED, False, False)
def test_every_sum_comes_out_as_told(
    pods: list[tuple[float, float, float]],
    system: float,
    score: float | None,
    driver: bool,
    mode: Mode,
    stale: bool,
    ended: bool,
) -> None:
    """Whatever decided: for programs with six digits, for people with three; and over JSON it is the same sentence."""
    made = ledger(pods, system, score, driver=driver, mode=mode)
    if ended and pods:
        made.remove("p0")
    for kind, line in made.explain("n", 9000.0 if stale else 1200.0).items():
        plain = sentence(line, "{:.6g}".format)
        assert adds_up(plain, 5e-6 if score is None else 1e-3) >= (line.basis is not Basis.BOUND)
        adds_up(sentence(line, partial(amount, kind)), 5e-3)
        assert sentence(read(json.loads(json.dumps(line.told()))), "{:.6g}".format) == plain


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        pytest.param(
            {"estimate": 7.0, "learned": 4.0, "residual": 3.0, "known": 9.0, "room": 9.0},
            "estimate 7 = min(learned 4 + believed of requests 3, max(known of its apps 9 + covered by no request 0",
            id="learned",
        ),
        pytest.param(
            {"estimate": 2.0, "learned": -1.0, "extra": 2.0, "known": 9.0, "room": 14.0},
            "estimate 2 = min(max(learned -1 + believed of requests 0, 0) + to come of young pods 2, max(",
            id="young pods",
        ),
        pytest.param(
            {"estimate": 5.0, "used": 5.0, "reserved": 4.0, "learned": 6.0, "stale": True, "room": 11.0},
            "used 5)), reserved 4), as samples are stale",
            id="stale",
        ),
        pytest.param(
            {"estimate": 4.5, "used": 9.0, "reserved": 4.0, "learned": 9.0, "stale": True, "room": 11.5},
            "samples are stale, and the estimate is at least what was reserved (4)",
            id="stale, and pods have ended since",
        ),
        pytest.param({"declared": 4.0, "requested": 4.0}, "its pods ask for 12, those that are managed for 4", id="D"),
        pytest.param({"declared": 12.0, "requested": 4.0}, "its pods ask for 12", id="all are managed"),
    ],
)
def test_what_stands_behind_the_estimate_is_told(terms: dict[str, float], told: str) -> None:
    """The term that decided it is among those told, and what pods of others ask for is not left out."""
    assert told in sentence(replace(EMPTY, **terms), "{:g}".format)  # type: ignore[arg-type]  # of one type each


@pytest.mark.parametrize(
    ("promise", "told"),
    [
        pytest.param({}, "at a risk of 5% its pods use at most 4 = expected 3 + 2 × spread 0.5, of all", id="expected"),
        pytest.param(
            {"peak": 3.5}, "3.5, the most for what they ask for or use now and less than expected 3 + 2 × ", id="cut"
        ),
        pytest.param(
            {"peak": 5.0, "least": 5.0}, "5, the least for what they use now and more than expected 3 + ", id="least"
        ),
        pytest.param(
            {"factor": -4e6, "spread": 5e-7, "peak": 1.0}, "1 = expected 3 − 2, as use does not vary, of", id="steady"
        ),
        pytest.param({"factor": math.inf}, "too few promises were compared yet: no margin", id="young"),
    ],
)
def test_a_promise_tells_which_term_decided(promise: dict[str, float], told: str) -> None:
    """Only where the promise is what is expected of the pods it is told as a sum."""
    assert told in sentence(replace(EMPTY, promise=replace(PROMISE, **promise)), "{:g}".format)


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        pytest.param({"crowded": True}, True, id="full"),
        pytest.param({"crowded": False}, False, id="idle"),
        pytest.param({"crowded": True, "stale": True}, False, id="stale"),
        pytest.param({"crowded": True, "margin": 1.0, "room": 15.0}, False, id="kept back"),
    ],
)
def test_it_is_told_that_no_promise_gives_room_where_more_is_in_use_than_allowed(
    terms: dict[str, float], told: bool
) -> None:
    """And not of a node on which there is simply nothing to keep back."""
    line = replace(EMPTY, promise=PROMISE, **terms)  # type: ignore[arg-type]  # of one type each
    say: Callable[[float], str] = "{:g}".format
    assert ("more is in use than allowed: no promise gives room" in sentence(line, say)) == told
