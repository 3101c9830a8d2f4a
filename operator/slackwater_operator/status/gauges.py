"""The gauges after a round: what is held and why, apps and drivers, amounts of queues, pools and their forecasts."""

from __future__ import annotations

from collections.abc import Iterable

from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.roundresult import RoundResult
from slackwater_operator.metrics import Metrics
from slackwater_operator.status.appstatus import AppStatus

Values = dict[tuple[str, ...], float]


def measure(metrics: Metrics, cache: OperatorCache, accounts: Iterable[AppStatus], result: RoundResult) -> None:
    """Bring every gauge up to date."""
    _apps(metrics, accounts)
    metrics.flying.set(len(cache.in_flight))
    metrics.parked.set(sum(each.counts.parked for each in cache.views.values()))
    _queues(metrics, result)
    _pools(metrics, cache, result)
    _drivers(metrics, result)


def _apps(metrics: Metrics, accounts: Iterable[AppStatus]) -> None:
    held: Values = {}
    phases: Values = {}
    for said in accounts:
        _add(phases, 1, said.queue, said.phase.value)
        if said.held:
            _add(held, said.held, said.queue, said.reason)
    metrics.set_all(metrics.held, held)
    metrics.set_all(metrics.apps, phases)


def _queues(metrics: Metrics, result: RoundResult) -> None:
    budgets = result.round.budgets
    for gauge, amounts in (
        (metrics.capacity, {queue.name: queue.capacity for queue in result.snapshot.queues}),
        (metrics.reservation, {name: each.reserved for name, each in budgets.items()}),
        (metrics.budget, {name: each.left for name, each in budgets.items()}),
    ):
        values: Values = {(name, kind): max(0.0, each) for name, some in amounts.items() for kind, each in some.items()}
        metrics.set_all(gauge, values)


def _pools(metrics: Metrics, cache: OperatorCache, result: RoundResult) -> None:
    delta: Values = {}
    total: Values = {}
    error: Values = {}
    for pool in result.snapshot.pools:
        state = cache.queues.pool_states.get(pool.name)
        if state is None or pool.name not in cache.governing.pools:  # deleted since the round
            continue
        delta[pool.name,], total[pool.name,], error[pool.name,] = state.delta, pool.tot, state.accuracy.mean
    metrics.set_all(metrics.delta, delta)
    metrics.set_all(metrics.pool_total, total)
    metrics.set_all(metrics.forecast_error, error)


def _drivers(metrics: Metrics, result: RoundResult) -> None:
    counts: Values = {}
    for app in result.snapshot.apps:
        for group in app.groups:
            if group.driver:
                _add(counts, group.charged, app.queue, "running")
                _add(counts, len(group.held), app.queue, "waiting")
    metrics.set_all(metrics.drivers, counts)


def _add(values: Values, amount: float, *labels: str) -> None:
    values[labels] = values.get(labels, 0.0) + amount
