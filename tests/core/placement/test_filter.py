"""The filter: which nodes serve a pod, and why the others do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.nodetable import NodeRow
from slackwater.placement.batch import fit_one
from slackwater.placement.filter import judge_one
from slackwater.placement.reasons import BY_CODE, FilterReason
from slackwater.resources import CPU, MEMORY
from slackwater.roles import Role
from support.builders.measuring import measure
from support.builders.nodes import ask, node_table
from support.builders.oracles import Oracle, rows


@rows("CMP-03")
@pytest.mark.parametrize(
    ("kind", "left", "reason"), [(MEMORY, 4.0, FilterReason.MEMORY), (CPU, 10 - 4 * 1.15, FilterReason.NATIVE)]
)
def test_a_driver_takes_no_room_that_another_one_asked_for(
    row: Oracle, kind: str, left: float, reason: FilterReason
) -> None:
    """Use leaves 6, the driver's request only 4: one of 5 is refused.

    Memory is charged in full; CPU by use and its margin, but drivers are not lowered, so native requests refuse it.
    """
    total, used, held = ((float(row.inputs[name]),) for name in ("AR", "E_total", "sum_requests_drivers"))
    ledger = Ledger(LedgerConfig(kinds=(kind,), allowance=1.0))
    ledger.upsert_node(NodeSpec("n", total, total))
    ledger.put(PodClaim("driver", "n", held, held, Role.DRIVER, state=ClaimState.RUNNING, started=0.0))
    for stamp in range(1, 300, 5):
        measure(ledger, float(stamp), {"n": Sample(float(stamp), used)}, {"driver": used})
    table = ledger.table(300.0)
    assert table.room.tolist() == [[pytest.approx(left)]]
    fit = fit_one(table, ask("another", row.inputs["new_driver_request"], driver=True))
    assert (bool(fit.fits[0]), fit.reason(0)) == (row.expected["fits"], reason)


@pytest.mark.parametrize(
    ("room", "native", "options", "reason"),
    [
        pytest.param([2, 2], [2, 2], {}, None, id="fits"),
        pytest.param([0.5, 2], [2, 2], {}, FilterReason.CPU, id="cpu"),
        pytest.param([2, 0.5], [2, 2], {}, FilterReason.MEMORY, id="memory"),
        pytest.param([-1, -1], [2, 2], {}, FilterReason.MEMORY, id="both"),
        pytest.param([2, 2], [2, 0.5], {}, FilterReason.NATIVE, id="native"),
        pytest.param([2, 2], [2, 2], {"closed": [0]}, FilterReason.NOT_READY, id="not-ready"),
        pytest.param([2, 2], [2, 2], {"stale": [0]}, None, id="stale-but-room"),
        pytest.param([0.5, 2], [2, 2], {"stale": [0]}, FilterReason.STALE, id="stale-and-short"),
    ],
)
def test_every_refusal_has_its_reason(
    room: list[float], native: list[float], options: dict[str, list[int]], reason: FilterReason | None
) -> None:
    """One core and one unit of memory, declared and native."""
    table = node_table([room], total=[[4, 4]], native=[native], **options)  # type: ignore[arg-type] # builder
    assert fit_one(table, ask("pod", 1, 1)).reason(0) == reason


def test_only_the_kind_without_samples_is_called_stale() -> None:
    """Where memory is not measured, a want of CPU is a want of CPU; both ways of asking say so."""
    table = replace(node_table([[0.5, 2]], total=[[4, 4]], native=[[2, 2]]), stale=np.array([[False, True]]))
    few_cores, much_memory = ask("pod", 1, 1), ask("pod", 0.25, 3)
    assert fit_one(table, few_cores).reason(0) == FilterReason.CPU
    assert fit_one(table, replace(much_memory, native=(0.0, 0.0))).reason(0) == FilterReason.STALE
    spot = NodeRow([0.5, 2.0], [2.0, 2.0], [4.0, 4.0], open=True, stale=[False, True])
    assert judge_one(spot, few_cores, table.kinds) == FilterReason.CPU


def test_other_kinds_share_one_reason() -> None:
    """Extended resources are many, reasons are few."""
    table = node_table([[4, 4, 0]], kinds=("cpu", "memory", "nvidia.com/gpu"))
    assert fit_one(table, ask("pod", 1, 1, 1)).reason(0) == FilterReason.ROOM


def test_a_node_not_allowed_for_the_pod_is_refused() -> None:
    """Selectors and tolerations arrive as a mask."""
    fit = fit_one(node_table([[4, 4], [4, 4]]), ask("pod", 1, 1, allowed=np.array([False, True])))
    assert (fit.reason(0), fit.reason(1)) == (FilterReason.NOT_ALLOWED, None)
    assert fit.counts() == {FilterReason.NOT_ALLOWED: 1}


def test_a_kind_without_capacity_serves_no_demand_for_it() -> None:
    """Whatever its residual claims."""
    assert fit_one(node_table([[4, 4]], total=[[4, 0]]), ask("pod", 1, 1)).reason(0) == FilterReason.MEMORY


def test_reasons_are_few_constant_and_coded() -> None:
    """Every one names us, and codes and reasons map one to one."""
    assert all(reason.startswith("slackwater: ") for reason in FilterReason)
    assert [BY_CODE[reason.code] for reason in FilterReason] == list(FilterReason)
    assert 0 not in BY_CODE
