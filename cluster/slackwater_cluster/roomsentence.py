"""How the room of a node comes about, in one sentence: the same for the extender, the command line and the dashboard.

Every `=` can be computed anew from the numbers beside it, up to their rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from slackwater.ledger.types import Basis, NodePromise, RoomLine

CLOSE = 1e-6  # of what is allocatable: sums that were formed in another order

Say = Callable[[float], str]  # an amount of the kind that the sentence is about, in words


def read(told: Mapping[str, Any]) -> RoomLine:
    """The line of which `RoomLine.told` told this; KeyError where an extender of another version left something out."""
    terms = {each.name: told[each.name] for each in fields(RoomLine)}
    if terms["bound"] is None:
        terms["bound"] = math.inf
    if terms["promise"] is not None:
        promise = {each.name: terms["promise"][each.name] for each in fields(NodePromise)}
        terms["promise"] = NodePromise(**{**promise, "factor": _or_infinite(promise["factor"])})
    return RoomLine(**terms)


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else value


def sentence(line: RoomLine, say: Say, unit: str = "") -> str:
    """Room = max(min(AR, NC) − E − drivers − margin, floor) in numbers, then those behind E and margin."""
    parts = (_room(line, say, unit), _estimate(line, say), _promise(line, say), _requests(line, say))
    return "; ".join(part for part in parts if part)


def _room(line: RoomLine, say: Say, unit: str) -> str:
    room, whole, left = f"room {say(line.room)}{unit}", say(line.allocatable), _left(line, say)
    match line.basis:
        case Basis.BOUND:
            return (
                f"{room} of {whole}: with more on the node, memory could run out while no task is the first that the "
                f"kernel kills; a pod that was not lowered asks for {say(line.largest)}"
            )
        case Basis.FLOOR:
            floor = f"asked for {say(line.requests)}, as requests are a floor"
        case Basis.KNOWN:
            floor = f"what its pods are known to use {say(line.known)} − drivers {say(line.drivers)}, which is a floor"
        case _:
            return f"{room} = {left}"
    return f"{room} = allocatable {whole} − {floor}; measurement leaves {say(line.left)} = {left}"


def _left(line: RoomLine, say: Say) -> str:
    """What measurement leaves, as a sum; with a margin where a stated risk makes one."""
    margin = f" − margin {say(line.margin)}" if line.promise is not None and math.isfinite(line.promise.factor) else ""
    return (
        f"min(allowed {say(line.allowed)}, real {say(line.real)}) − estimate {say(line.estimate)}"
        f" − drivers {say(line.drivers)}{margin}"
    )


def _estimate(line: RoomLine, say: Say) -> str:
    """How E comes about; where pods have ended since samples stopped, only what it is at least."""
    ways = _ways(line, say) if line.uncovered is not None else {}
    if line.stale:
        ways = {
            f"max({way}, reserved {say(line.reserved)}), as samples are stale": max(value, line.reserved)
            for way, value in ways.items()
        }
    close = CLOSE * max(1.0, line.allocatable)
    found = next((way for way, value in ways.items() if abs(value - line.estimate) <= close), "")
    if found:
        return f"estimate {say(line.estimate)} = {found}"
    if line.stale:
        return f"samples are stale, and the estimate is at least what was reserved ({say(line.reserved)})"
    return f"used {say(line.used)}"


def _ways(line: RoomLine, say: Say) -> dict[str, float]:
    """How E is reckoned while samples come: in capped mode, and as the paper prints it."""
    raw, words = (
        line.learned + line.residual,
        f"learned {say(line.learned)} + believed of requests {say(line.residual)}",
    )
    if raw < 0:
        raw, words = 0.0, f"max({words}, 0)"
    if line.extra:
        raw, words = raw + line.extra, f"{words} + to come of young pods {say(line.extra)}"
    uncovered = line.uncovered or 0.0
    known = f"known of its apps {say(line.known)} + covered by no request {say(uncovered)}"
    most = max(line.known + uncovered, line.used)
    return {f"min({words}, max({known}, used {say(line.used)}))": min(raw, most), words: raw}


def _promise(line: RoomLine, say: Say) -> str:
    """What a stated risk keeps back, and how that came about; nothing where none is stated."""
    promise = line.promise
    if promise is None:
        return ""
    risk = f"a risk of {_percent(promise.asked)}"
    if not math.isfinite(promise.factor):
        return f"{risk} is asked for, and too few promises were compared yet: no margin"
    if line.stale:
        return f"{risk} is asked for, and samples are stale: no margin"
    full = "; more is in use than allowed: no promise gives room" if line.withheld else ""
    return (
        f"at {risk} its pods use at most {say(promise.peak)}{_peak(promise, say)}, of all that is allocatable{full};"
        f" {_percent(promise.realised)} of {promise.compared:.0f} promises for such machines were exceeded of late"
    )


def _peak(promise: NodePromise, say: Say) -> str:
    sign = "−" if promise.factor < 0 else "+"
    beyond = f"{abs(promise.factor):.4g} × spread {say(promise.spread)}"
    if promise.steady:
        beyond = f"{say(abs(promise.beyond))}, as use does not vary"
    expected = f"expected {say(promise.centre)} {sign} {beyond}"
    if promise.cut:
        return f", the most for what they ask for or use now and less than {expected}"
    if promise.present:
        return f", the least for what they use now and more than {expected}"
    return f" = {expected}"


def _requests(line: RoomLine, say: Say) -> str:
    """What all pods of the node ask for, and those that are managed."""
    managed = "" if math.isclose(line.requests, line.declared) else f", those that are managed for {say(line.declared)}"
    return f"its pods ask for {say(line.requests)}{managed}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
