"""How long pods wait for others that have not come yet."""

import pytest

from slackwater.admission.awaitedpods import GRACE, awaited, driver_awaited


def test_whoever_was_never_seen_is_waited_for_one_grace_period() -> None:
    """And not a second longer."""
    assert awaited(100.0, 99.0 + GRACE)
    assert not awaited(100.0, 100.0 + GRACE)


@pytest.mark.parametrize(
    ("seen", "first_task", "waits"),
    [(False, 100.0, False), (False, 190.0, True), (True, 100.0, True), (False, None, True)],
    ids=["never came", "may still come", "was there", "nobody waits"],
)
def test_a_driver_is_waited_for_while_it_may_come(seen: bool, first_task: float | None, waits: bool) -> None:
    """One that was there comes back; one that never was does not."""
    assert driver_awaited(seen=seen, first_task=first_task, now=100.0 + GRACE) is waits
