"""One replica of the operator: what its probe tells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from slackwater_operator.program import FIRST_ROUND, Program
from slackwater_operator.settings import Settings

if TYPE_CHECKING:
    from slackwater_operator.release.loop import ReleaseLoop
    from slackwater_operator.steadyclock import SteadyClock


@pytest.mark.parametrize(
    ("beat", "seconds", "healthy"),
    [
        pytest.param(None, 10_000, True, id="waits for leadership"),
        pytest.param(0.0, FIRST_ROUND, True, id="reads its first lists"),
        pytest.param(0.0, 2 * FIRST_ROUND, False, id="never finished its first lists"),
        pytest.param(1_000.0, 30, True, id="turns"),
        pytest.param(1_000.0, 2 * FIRST_ROUND, False, id="turns no more"),
    ],
)
def test_a_leader_without_rounds_is_not_healthy(beat: float | None, seconds: float, *, healthy: bool) -> None:
    """A missing right or definition: it would keep the Lease, and release nothing, for ever."""
    program = Program(Settings(lead_alone=True))
    program.leads_since = 1_000.0
    program.clock = cast("SteadyClock", lambda: 1_000.0 + seconds)
    if beat is not None:
        program.cycle = cast("ReleaseLoop", SimpleNamespace(beat=beat))
    assert program.healthy is healthy
