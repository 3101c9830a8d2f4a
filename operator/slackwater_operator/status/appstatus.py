"""What is said of each app after a round: phase, reason, sentence, position, wait. A round's result in, words out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from slackwater.cycle.appverdicts import Verdict, WaitReason
from slackwater.cycle.cycle import Round
from slackwater.pools.pools import Category
from slackwater.pools.startforecast import StartInterval
from slackwater.resources import CPU, MEMORY, NOTHING, Resources, total
from slackwater_cluster.apps.size import AppSize
from slackwater_cluster.customresources import Mode, TrackedAppStatus
from slackwater_cluster.customresources.base import MOST_KINDS
from slackwater_cluster.customresources.trackedapp import Category as Shown
from slackwater_cluster.customresources.trackedapp import Learned, Phase, PodCounts, Start
from slackwater_cluster.pods.quantities import as_quantity
from slackwater_cluster.timestamps import stamp
from slackwater_operator.cache.apps.apphistory import AppHistory
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.roundresult import RoundResult

UNSETTLED = "its owners are being looked up"
GONE = "its pods are gone"
UNPLACED = "placement found no node for it a moment ago ({why}); it is tried again"
HOLDING = "nothing is released while {why}"
SLOW_WRITES = "writes to pods of its namespace take long (an admission webhook?); those before it are written first"
FREE = "the policy's mode is {mode}: nothing is held here"
WOULD = "the policy's mode is {mode}: nothing is held here; in enforce: {sentence}"


@dataclass(frozen=True, slots=True)
class AppStatus:
    """One app in words."""

    app: str  # namespace/id
    phase: Phase
    reason: str
    sentence: str
    position: int | None = None
    wait: float | None = None
    expected: StartInterval | str = ""  # when it starts, or why that is not known; "" where it does not wait to
    at: float = 0.0  # when that was found, in Unix seconds; 0 where there is nothing to count from
    held: int = 0
    queue: str = ""
    name: str = ""  # what people call it


def account(
    each: AppView,
    verdict: Verdict | None,
    cache: OperatorCache,
    result: RoundResult,
    no_node: str = "",
    supposed: Round | None = None,
    expected: StartInterval | str = "",
    now: float = 0.0,
) -> AppStatus:
    """What is said about one app."""
    queue = cache.governing.queue_of(each.namespace)
    mode = cache.governing.mode(each.namespace)
    if mode is Mode.ENFORCE:
        reason, sentence = _reason(each, verdict, result, no_node)
        if each.namespace in cache.backed_up and each.counts.held + each.counts.parked and not result.holding:
            reason, sentence = WaitReason.WINDOW.value, SLOW_WRITES
    else:
        reason, sentence = _would(supposed.verdicts.get(each.id) if supposed else None, mode)
    waits = verdict is not None and not each.started and each.counts.held + each.counts.parked > 0
    starts = waits and verdict is not None and not verdict.refused
    return AppStatus(
        app=each.id,
        phase=_phase(each, verdict),
        reason=reason,
        sentence="; ".join([sentence, *each.problems[:3]]),
        position=verdict.position if waits and verdict and verdict.position else None,
        wait=_wait(verdict, expected) if waits and verdict else None,
        expected=expected if starts else "",
        at=now if starts and expected else 0.0,
        held=each.counts.held + each.counts.parked,
        queue=queue,
        name=each.name,
    )


def _wait(verdict: Verdict, expected: StartInterval | str) -> float | None:
    """The middle of the interval, else the bare forecast."""
    return expected.middle if isinstance(expected, StartInterval) else verdict.wait


def _would(verdict: Verdict | None, mode: Mode) -> tuple[str, str]:
    """What enforce would have done, for the modes that do nothing."""
    if verdict is None or verdict.reason is WaitReason.COMPLETE:
        return WaitReason.COMPLETE.value, FREE.format(mode=mode.value)
    return verdict.reason.value, WOULD.format(mode=mode.value, sentence=verdict.sentence)


def _reason(each: AppView, verdict: Verdict | None, result: RoundResult, no_node: str) -> tuple[str, str]:
    waiting = each.counts.held + each.counts.parked
    if result.holding and waiting:
        return WaitReason.ROOM.value, HOLDING.format(why=result.holding)
    if waiting and not each.settled:
        return WaitReason.DRIVER.value, UNSETTLED
    if verdict is None:
        return WaitReason.COMPLETE.value, "no pod of this app is held"
    if verdict.reason is WaitReason.RELEASED and no_node and waiting and not each.counts.released:
        # The round let it go and placement then found no node: what is said is what came of it.
        return WaitReason.UNPLACED.value, UNPLACED.format(why=no_node)
    if verdict.reason in (WaitReason.FRAGMENTED, WaitReason.UNPLACED) and no_node:
        return verdict.reason.value, f"{verdict.sentence} ({no_node})"
    return verdict.reason.value, verdict.sentence


def _phase(each: AppView, verdict: Verdict | None) -> Phase:
    if each.over:
        return Phase.FINISHED
    if each.counts.bound and any(group.running and not group.driver for group in each.groups):
        return Phase.RUNNING
    if each.counts.bound or each.counts.released:
        return Phase.STARTED
    if verdict is not None and verdict.refused:
        return Phase.REFUSED
    return Phase.RUNNING if each.started else Phase.WAITING


def status(
    each: AppView, said: AppStatus, cache: OperatorCache, result: RoundResult, wait_error: float | None
) -> TrackedAppStatus:
    """The status of the app's TrackedApp."""
    kind = cache.views.histories.category(each.id)
    budget = result.round.budgets.get(said.queue)
    counts = each.counts
    declared = total(group.request * group.running for group in each.groups)
    used = cache.learning.used(each)
    return TrackedAppStatus(
        phase=said.phase,
        category=None if kind is None else Shown.SMALL if kind is Category.SMALL else Shown.LARGE,
        position=said.position,
        reason=said.reason,
        message=said.sentence[:1024],
        wait_seconds=None if said.wait is None else round(said.wait, 1),
        wait_error_seconds=None if wait_error is None or said.wait is None else round(wait_error, 1),
        start=said_start(said.expected, said.at),
        pods=PodCounts(
            held=counts.held + counts.blocked,
            released=counts.released + counts.stranded,
            parked=counts.parked,
            bound=counts.bound,
            finished=counts.done,
        ),
        declared=written(declared),
        used=written(used),
        efficiency=round(used.share(declared), 3) if used and declared else None,
        reservation=written(budget.reserved, budget.capacity) if budget else {},
        budget=written(budget.left, budget.capacity) if budget else {},
        assembled=_assembled(each, cache.views.histories.of(each.id)),
        learned=_learned(each, cache.views.runs.learned(each)),
    )


def said_start(expected: StartInterval | str, at: float = 0.0, digits: int = 3) -> Start | None:
    """The interval of a start, or why there is none, as a status holds it; few digits make few writes."""
    when = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else None
    if isinstance(expected, StartInterval):
        low, middle, high = (float(f"{each:.{digits}g}") for each in (expected.low, expected.middle, expected.high))
        return Start(at=when, low_seconds=low, middle_seconds=middle, high_seconds=high, source=expected.source.value)
    return Start(at=when, unknown=expected) if expected else None


def _assembled(each: AppView, history: AppHistory) -> str | None:
    return stamp(history.latest) if each.gang and history.assembled and history.latest is not None else None


def _learned(each: AppView, size: AppSize | None) -> Learned | None:
    if size is None or not each.series:
        return None
    return Learned(series=each.series, tasks=size.tasks, request=written(size.request))


def ended() -> TrackedAppStatus:
    """The status of an app whose last pod is gone; what was learned of it stays."""
    return TrackedAppStatus(phase=Phase.FINISHED, reason=WaitReason.COMPLETE.value, message=GONE)


def written(amounts: Resources, of: Resources = NOTHING) -> Mapping[str, int | str]:
    """Amounts as quantities: cpu in milli, the rest in whole units; nothing below 0.

    Every kind in `of` is written, at 0 where there is none left: what is not written is not known to its readers.
    Of more kinds than a custom resource may hold, CPU, memory and the first by name are written.
    """
    kinds = sorted({*amounts, *of}, key=lambda kind: (kind not in (CPU, MEMORY), kind))
    return {kind: as_quantity(kind, max(0.0, amounts[kind])) for kind in sorted(kinds[:MOST_KINDS])}
