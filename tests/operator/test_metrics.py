"""What the operator tells Prometheus, at whatever moment it is asked."""

from __future__ import annotations

from collections.abc import ItemsView
from typing import Any

from slackwater_operator.metrics import Metrics

KEY = ("batch", "no-room")


class Scraped(dict[tuple[str, ...], float]):
    """Values that somebody scrapes while they are set."""

    def __init__(self, metrics: Metrics, values: dict[tuple[str, ...], float]) -> None:
        super().__init__(values)
        self.metrics = metrics
        self.seen: list[set[str]] = []

    def items(self) -> ItemsView[tuple[str, ...], float]:
        """The values, after a scrape."""
        self.seen.append(queues(self.metrics))
        return super().items()


def queues(metrics: Metrics) -> set[str]:
    """Of which held pods are told."""
    families: Any = metrics.held.collect()
    return {sample.labels["queue"] for family in families for sample in family.samples}


def test_a_scrape_in_the_middle_finds_every_series_that_stays() -> None:
    """A gauge that is emptied and filled anew has gaps, and alerts that look for absence fire."""
    metrics = Metrics()
    metrics.set_all(metrics.held, {KEY: 3.0, ("old", "no-room"): 1.0})
    values = Scraped(metrics, {KEY: 4.0, ("new", "no-room"): 2.0})
    metrics.set_all(metrics.held, values)
    assert values.seen == [{"batch"}]


def test_what_is_gone_does_not_stay() -> None:
    """A queue that was deleted is told of no more, and comes back when it does."""
    metrics = Metrics()
    metrics.set_all(metrics.held, {KEY: 3.0})
    metrics.set_all(metrics.held, {})
    assert queues(metrics) == set()
    metrics.set_all(metrics.held, {KEY: 5.0})
    assert (
        metrics.registry.get_sample_value(
            "slackwater_operator_held_pods", dict(zip(("queue", "reason"), KEY, strict=True))
        )
        == 5.0
    )
