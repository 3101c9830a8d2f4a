"""Urgency: which stage of a job goes first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.ordering.stageurgency import Stage, stage_urgencies, urgency
from support.builders.oracles import Oracle, rows

counts = st.integers(1, 1000)


@rows("HST-05")
def test_maps_and_reduces(row: Oracle) -> None:
    """Occupancy below, above and equal to the progress of the maps; and the zero rule."""
    found = [urgency(*stages(*case)) for case in row.inputs["cases"]]
    assert [u.leading for u in found] == row.near(row.expected["U_m"])
    assert [u.waiting for u in found] == row.near(row.expected["U_r"])


@given(assigned=counts, total=counts, reduces=counts, maps=counts, size=st.floats(0.1, 10))
def test_reduces_outrank_maps_exactly_while_they_hold_less_than_the_maps_progressed(
    assigned: int, total: int, reduces: int, maps: int, size: float
) -> None:
    """Rule (iii) of the authors."""
    lead = Stage(total=max(total, assigned), assigned=assigned, occupying=maps, size=size)
    wait = Stage(total=reduces, assigned=reduces, occupying=reduces, size=1.0)
    found = urgency(lead, [wait])
    occupancy = reduces / (maps * size + reduces)
    if abs(occupancy - lead.progress) > 1e-9:
        assert (found.waiting > found.leading) == (occupancy < lead.progress)


def test_a_map_only_job_is_never_urgent() -> None:
    """No stage waits, so nothing is held up."""
    assert urgency(Stage(10, 5, 5, 1.0), []) == (0.0, 0.0)


def test_reduces_without_maps_count_as_fully_progressed() -> None:
    """A stage without tasks has progress 1."""
    assert urgency(Stage(0, 0, 0, 1.0), [Stage(2, 2, 2, 3.0)]) == (6.0, 6.0)


def test_of_many_stages_the_earliest_unfinished_leads() -> None:
    """Finished stages get 0, later ones wait."""
    done = Stage(total=4, assigned=4, occupying=0, size=1.0, finished=4)
    lead = Stage(total=10, assigned=6, occupying=3, size=2.0)
    wait = Stage(total=4, assigned=2, occupying=2, size=3.0)
    assert stage_urgencies([done, lead, wait]) == pytest.approx((0.0, 3.6, 4.32))


@pytest.mark.parametrize("given_", [[], [Stage(1, 1, 0, 1.0, finished=1)]], ids=["no-stage", "all-finished"])
def test_a_job_with_nothing_left_is_not_urgent(given_: list[Stage]) -> None:
    """One zero for each stage."""
    assert stage_urgencies(given_) == (0.0,) * len(given_)


def test_a_bad_counter_is_refused_by_name() -> None:
    """NaN never reaches a comparison."""
    with pytest.raises(BadNumber, match=r"stage\.occupying"):
        Stage(1, 1, float("nan"), 1.0)


def stages(
    map_assigned: int, maps: int, assigned: int, on_maps: int, on_reduces: int, map_size: float, size: float
) -> tuple[Stage, list[Stage]]:
    """The oracle's columns as two stages."""
    return Stage(maps, map_assigned, on_maps, map_size), [Stage(assigned, assigned, on_reduces, size)]
