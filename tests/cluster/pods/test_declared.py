"""Declared requests: sealed annotations, clamped to what the ceiling at creation allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.pods.declared import ceiling, declared
from support.builders.objects import declared as sealed

NATIVE = Resources(cpu=1, memory=100, gpu=2)


@pytest.mark.parametrize(
    ("given_annotations", "cpu", "memory"),
    [
        pytest.param({}, 1, 100, id="no-annotation-means-native"),
        pytest.param(sealed("2", "150"), 2, 150, id="as-declared"),
        pytest.param(sealed("9", "900"), 2, 150, id="above-ceiling-clamped"),
        pytest.param(sealed("100m", "1"), 1, 100, id="below-native-raised"),
        pytest.param(sealed("2", "150", shrunk=""), 1, 100, id="unsealed-means-no-shrink"),
        pytest.param(sealed("2", "150", shrunk="x/y"), 1, 100, id="nonsense-seal"),
        pytest.param(sealed("much", "150"), 1, 150, id="nonsense-quantity"),
        pytest.param(sealed("-2", "150"), 1, 150, id="negative-quantity"),
    ],
)
def test_declared_request(given_annotations: dict[str, str], cpu: float, memory: float) -> None:
    """Clamped to native..native × ceiling; kinds that are never shrunk stay native."""
    assert declared(NATIVE, given_annotations) == Resources(cpu=cpu, memory=memory, gpu=2)


@pytest.mark.parametrize(
    ("text", "cpu", "memory"),
    [("200/150", 2, 1.5), ("50/100", 1, 1), ("", 1, 1), ("1e9/²", 1, 1), ("9999999/100", 1, 1)],
    ids=["percent", "below-100", "empty", "not-digits", "absurd"],
)
def test_ceiling_reads_percent(text: str, cpu: float, memory: float) -> None:
    """The sealed annotation holds whole percents; anything else means no shrink."""
    assert ceiling(text) == {"cpu": cpu, "memory": memory}


@given(st.dictionaries(st.sampled_from(list(sealed("1", "1"))), st.text(max_size=12)))
def test_any_annotation_stays_within_native_and_ceiling(anything: dict[str, str]) -> None:
    """Whatever a tenant writes, the charge is at least native and never more than ten thousand times it."""
    result = declared(NATIVE, anything)
    assert all(NATIVE[kind] <= result[kind] <= NATIVE[kind] * 10_000 for kind in NATIVE)


@pytest.mark.parametrize("shrunk", ["99900/99900", "1001/401", "999999999999/1", "50/50"])
def test_a_ceiling_that_no_policy_can_state_is_not_believed(shrunk: str) -> None:
    """A forged one let a pod of 10m claim 500 cores."""
    native = Resources(cpu=0.01, memory=2.0**20)
    assert declared(native, {names.DECLARED_CPU: "500", names.DECLARED_MEMORY: "500Gi", names.SHRUNK: shrunk}) == native
