"""What is kept back of each kind: a share of the node, and a margin on what pods are known to use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.estimation.margins import fixed, left_of
from slackwater.resources import CPU, MEMORY

KINDS = (CPU, MEMORY, "nvidia.com/gpu")


def test_a_doubt_counts_once() -> None:
    """An eighth of a node covers nearly all of the 15 % on peaks of memory; of CPU nothing is kept, and they count."""
    cpu, memory, gpu = fixed(KINDS, {CPU, MEMORY}, 0.875, 0.15)
    assert (cpu.allowance, memory.allowance, gpu.allowance) == (1.0, 0.875, 1.0)
    assert (cpu.peak, memory.peak, gpu.peak) == pytest.approx((0.15, 1.15 * 0.875 - 1, 0.15))


def test_a_share_larger_than_the_margin_charges_nobody_less_than_their_peak() -> None:
    """Half of a node kept back is no discount on what pods are known to use."""
    assert left_of(0.15, 0.5) == 0.0


def test_where_requests_are_believed_there_is_no_margin() -> None:
    """None stays None, whatever is kept back."""
    assert left_of(None, 0.875) is None


@given(st.floats(0.0, 10.0), st.floats(0.01, 1.0))
def test_pods_that_fill_a_node_may_all_outgrow_their_peaks_by_the_margin(margin: float, allowance: float) -> None:
    """Peaks as large as the allowance lets in, and the margin on each of them, are no more than the node."""
    beyond = left_of(margin, allowance)
    assert beyond is not None
    peaks = allowance / (1.0 + beyond)
    assert peaks * (1.0 + margin) <= 1.0 + 1e-9
