"""What pods that end leave in the measured use of their nodes."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.roles import Role
from support.builders.measuring import measure

NODES = 20


def filled(risk: float | None) -> Ledger:
    """Nodes of 64 GiB, each with a driver that asks for 32 and ten tasks that ask for 4 each."""
    ledger = Ledger(LedgerConfig(risk=risk, horizon=60.0, steady=True))
    for n in range(NODES):
        ledger.upsert_node(NodeSpec(f"n{n}", (16.0, 64.0), (16.0, 64.0)))
        ledger.put(PodClaim(f"d{n}", f"n{n}", (2.0, 32.0), (2.0, 32.0), Role.DRIVER, "x", ClaimState.RUNNING, 0.0))
        for at in range(10):
            size = (1.0, 4.0)
            ledger.put(PodClaim(f"t{at}-{n}", f"n{n}", size, size, Role.TASK, "x", ClaimState.RUNNING, 0.0))
    return ledger


def sample(ledger: Ledger, now: float, used: float) -> None:
    """36 GiB are used on each node, on the first one so much; no use of a pod is read, though all are seen."""
    nodes = {f"n{n}": Sample(now, (8.0, 36.0 if n else used)) for n in range(NODES)}
    measure(ledger, now, nodes, {}, [claim.uid for claim in ledger.claims()])


@pytest.mark.parametrize("risk", [None, 0.05])
@pytest.mark.parametrize("driver", [1.0, 20.0])
def test_what_a_driver_was_taken_to_use_is_not_given_out_when_it_ends(risk: float | None, driver: float) -> None:
    """It was never read, and others may have used it: the next sample tells, and nothing of it is left behind."""
    ledger = filled(risk)
    for now in np.arange(5.0, 405.0, 5.0):
        sample(ledger, now, 36.0)
    before = ledger.explain("n0", 400.0)["memory"]
    assert before.used == 4.0
    ledger.remove("d0")
    line = ledger.explain("n0", 400.0)["memory"]
    assert line.used == 36.0
    assert line.room <= max(before.room, line.requested) + 1e-9
    sample(ledger, 405.0, 36.0 - driver)
    after = ledger.explain("n0", 405.0)["memory"]
    assert after.used == 36.0 - driver
    assert after.learned <= max(before.learned, after.used)


@pytest.mark.parametrize("started", [None, 6.0])
def test_a_driver_that_no_sample_saw_leaves_nothing(started: float | None) -> None:
    """It did not run, or only since: nothing was taken to be its use, and that of another driver stays what it is."""
    ledger = filled(None)
    sample(ledger, 5.0, 36.0)
    ledger.put(PodClaim("late", "n0", (2.0, 8.0), (2.0, 8.0), Role.DRIVER, "x", ClaimState.BOUND, None))
    if started is not None:
        ledger.start("late", started)
    ledger.remove("late")
    assert ledger.explain("n0", 5.0)["memory"].used == 4.0
