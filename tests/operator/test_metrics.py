"""What the operator tells Prometheus, at whatever moment it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slackwater_operator.metrics import Metrics

KEY = ("batch", "no-room")


class Scraped(Mapping[tuple[str, ...], float]):
    """Values that somebody scrapes while they are set."""

    def __init__(self, metrics: Metrics, values: dict[tuple[str, ...], float]) -> None:
        self.metrics, self.values_set = metrics, values
        self.seen: list[set[str]] = []

    def __getitem__(self, labels: tuple[str, ...]) -> float:
        self.seen.append(queues(self.metrics))
        return self.values_set[labels]

    def __contains__(self, labels: object) -> bool:
        return labels in self.values_set

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.values_set)

    def __len__(self) -> int:
        return len(self.values_set)


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
    assert all("batch" in seen and "old" not in seen for seen in values.seen)
    assert values.seen


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
