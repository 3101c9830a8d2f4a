"""Where to begin: what is given back at once by task pods, told apart from what their drivers would have to lower."""

from __future__ import annotations

from slackwater.estimation.efficiency import Usage
from slackwater_monitor.assessment.owners import Member
from slackwater_monitor.assessment.savings import places
from slackwater_monitor.assessment.usage import UsageStatistics

HOUR = 3600


def idle(asked: float) -> UsageStatistics:
    """A container that asks for so much for an hour and uses nothing of it."""
    return UsageStatistics(0.0, 0.0, 0.0, asked, HOUR, Usage(0.0, asked), (0.0,) * 5)


def test_what_drivers_ask_for_is_not_promised_at_once() -> None:
    """One app, two places: its tasks by a label, its driver by lower requests; the sum is what both leave idle."""
    figures = {("batch", "etl-driver", "main"): idle(1.0)} | {
        ("batch", f"etl-{at}", "main"): idle(2.0) for at in range(3)
    }
    members = {key[:2]: Member("etl", "driver" if "driver" in key[1] else "task", "", "", "n0") for key in figures}
    tasks, driver = places({"cpu": figures}, members, {"cpu": 64.0}, float(HOUR))
    assert (tasks.app, tasks.pods, tasks.tasks, tasks.cpu) == ("etl", 3, True, 6.0)
    assert (driver.app, driver.pods, driver.tasks, driver.cpu) == ("etl", 1, False, 1.0)
    assert "label the namespace" in tasks.sentence
    assert "lower their requests" in driver.sentence
