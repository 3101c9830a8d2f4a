"""The words in which the extender tells its numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slackwater.ledger.riskreserve import NodePromise
from slackwater.ledger.room import RoomLine
from slackwater_extender.scheduling.explain import risk

TERMS = ("capacity", "allocatable", "allowed", "real", "used", "learned", "residual", "reserved", "known", "estimate")
PROMISE = NodePromise(asked=0.05, realised=0.04, compared=500.0, centre=3.0, spread=0.5, factor=2.0, peak=4.0)
LINE = RoomLine(
    **dict.fromkeys((*TERMS, "declared", "drivers", "native", "room"), 0.0), stale=False, crowded=True, promise=PROMISE
)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param(LINE, True, id="full"),
        pytest.param(replace(LINE, crowded=False), False, id="idle"),
        pytest.param(replace(LINE, stale=True), False, id="stale"),
        pytest.param(replace(LINE, margin=1.0), False, id="kept back"),
    ],
)
def test_it_is_told_that_no_promise_gives_room_where_more_is_in_use_than_allowed(line: RoomLine, told: bool) -> None:
    """And not of a node on which there is simply nothing to keep back."""
    assert ("(more is in use than allowed: no promise gives room)" in risk(line)) == told
