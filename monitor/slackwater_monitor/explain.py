"""An explanation in words for a terminal, put in the order in which things decide."""

from __future__ import annotations

from typing import Any

from slackwater.placement.reasons import tallied
from slackwater_monitor.sources.explanation import Explanation, arithmetic
from slackwater_monitor.sources.views import Amounts, App, Pool, Queue
from slackwater_simulator.charts.amounts import amount, count, percent, seconds

SHOWN = 3  # best nodes and last decisions, where not all are asked for


def node_lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """A node's whole arithmetic as (what, words): each resource, then the pods charged there, largest first."""
    state = "open" if found["open"] else "cordoned" if found.get("cordoned") else "not ready"
    made = [("node", found["name"]), ("state", state)]
    made += [(kind, arithmetic(kind, line)) for kind, line in found["resources"].items()]
    pods = sorted(found["pods"], key=lambda pod: (-float(pod["declared"].get("cpu", 0.0)), pod["pod"]))
    made += [
        ("pod", f"{pod['pod'] or pod['uid']} ({pod['role']}, {pod['state']}): {_told(pod['declared'])}") for pod in pods
    ]
    return made


def lines(found: Explanation, shown: int | None = SHOWN) -> list[tuple[str, str]]:
    """The explanation as (what, words), in the order in which things decide; `shown` nodes and decisions, None: all."""
    made = [("pod", found.pod), ("", found.sentence), ("phase", found.phase)]
    made += [("node", found.node)] if found.node else [("nominated", found.nominated or "–")]
    made += [("gates", ", ".join(found.gates))] if found.gates else []
    if found.app is not None:
        made += _app_lines(found.app, found.waits)
    if found.queue is not None:
        made.append(("queue", _queue_line(found.queue)))
    if found.pool is not None and found.pool.delta is not None:
        made.append(("pool", _pool_line(found.pool)))
    made += _ledger_lines(found.ledger or {}, shown)
    made += [("since then", found.since)] if found.since else []
    made += list(found.resources.items())
    return made + [("missing", each) for each in found.problems]


def _app_lines(app: App, waits: bool) -> list[tuple[str, str]]:
    states = ", ".join(f"{count} {state}" for state, count in app.pods.items() if count)
    made = [("app", f"{app.name} ({app.phase}{f', {app.category}' if app.category else ''}): {states or 'no pods'}")]
    if app.position:
        told = app.wait is not None and app.start is None  # by an operator that forecasts no intervals
        wait = f", about {seconds(app.wait)} to go" if told else ""
        made.append(("place", f"number {app.position} in queue {app.queue}{wait}"))
    if app.start is not None:
        error = f"; the newest forecasts were {seconds(app.wait_error)} off (median)" if app.wait_error else ""
        made.append(("starts", f"{app.start.sentence}{error if app.start.known else ''}"))
    elif waits and app.unforecast:
        made.append(("starts", f"its app {app.unforecast}"))
    if app.reason:
        made.append(("reason", f"{app.reason}: {app.message}"))
    if app.efficiency is not None:
        made.append(("uses", f"{percent(app.efficiency)} of what it asked for"))
    return made


def _queue_line(queue: Queue) -> str:
    run = count(queue.drivers_running, "driver runs", "drivers run")
    return (
        f"{queue.name} ({queue.state}): capacity {_told(queue.capacity)}, kept for tasks {_told(queue.reservation)}, "
        f"left for drivers {_told(queue.budget)}; {run}, {queue.drivers_waiting} waiting"
    )


def _pool_line(pool: Pool) -> str:
    return (
        f"{pool.name}: {pool.border} for small jobs; "
        f"small {pool.small.occupied:.1f} taken, {pool.small.available:.1f} free; "
        f"large {pool.large.occupied:.1f} taken, {pool.large.available:.1f} free"
    )


def _ledger_lines(ledger: dict[str, Any], shown: int | None) -> list[tuple[str, str]]:
    if not ledger:
        return []
    made = [("asks for", f"{_told(ledger.get('declared') or {})} (native {_told(ledger.get('native') or {})})")]
    if ledger.get("refusal"):
        made.append(("refused", str(ledger["refusal"])))
    now = ledger.get("now")
    if now:
        counts = tallied(now["counts"])
        served = f"{now['fitting']} of the {now['nodes']} it can use would serve it"
        made.append(("nodes", f"{served}{f'; {counts}' if counts else ''}"))
        away = tallied(now.get("out_of_reach") or {})
        made += [("not for it", away)] if away else []
        best = ", ".join(
            each["node"] + ("" if each["score"] is None else f" (score {each['score']})")
            for each in now["best"][:shown]
        )
        made += [("best", best)] if best else []
    for each in (ledger.get("decisions") or [])[:shown]:
        words = f"{each['verb']}: {each['result']} {each['node'] or ''} {each['reason'] or ''}".strip()
        own = f"; your score: {each['own']}" if each.get("own") else ""
        made.append(("decided", " ".join(words.split()) + own))
    return made


def _told(found: Amounts) -> str:
    return " and ".join(amount(kind, float(value), unit=True) for kind, value in found.items()) or "nothing"
