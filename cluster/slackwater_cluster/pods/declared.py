"""D, the request a pod's owner declared, from the annotations that the admission policy sealed.

    D = clamp(annotation, N, N × c)    c from the annotation `slackwater.io/shrunk`, so that a later change of the
                                       ceiling alters nothing; without it c = 1, and D = N

Kinds other than cpu and memory are never shrunk: D = N.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from slackwater.errors import InvalidInput
from slackwater.resources import CPU, MEMORY, Resources
from slackwater.validation import clip
from slackwater_cluster import names
from slackwater_cluster.pods.metadata import count
from slackwater_cluster.pods.quantities import parse_quantity

# The largest ceilings that a SlackPolicy may state; no pod was shrunk by more, whatever its annotation says.
MOST_CPU_PERCENT = 1000
MOST_MEMORY_PERCENT = 400


def declared(native: Resources, annotations: Mapping[str, str]) -> Resources:
    """The declared request; a missing or unreadable annotation leaves the native one (never less is charged)."""
    cpu, memory = annotations.get(names.DECLARED_CPU, ""), annotations.get(names.DECLARED_MEMORY, "")
    if not cpu and not memory:
        return native
    return _declared(native, cpu, memory, annotations.get(names.SHRUNK, ""))


@lru_cache(maxsize=8192)
def _declared(native: Resources, cpu: str, memory: str, shrunk: str) -> Resources:
    ceilings = ceiling(shrunk)
    asked = {CPU: cpu, MEMORY: memory}
    clamped = {
        kind: clip(_value(text, native[kind]), native[kind], native[kind] * ceilings[kind])
        for kind, text in asked.items()
        if text
    }
    result = Resources({**native, **clamped})
    return native if result == native else result


def ceiling(shrunk: str) -> Mapping[str, float]:
    """The ceiling c per kind from "200/150" (percent, cpu/memory). Unreadable, or not a SlackPolicy's, means 1."""
    cpu, _, memory = shrunk.partition("/")
    return {CPU: _factor(cpu, MOST_CPU_PERCENT), MEMORY: _factor(memory, MOST_MEMORY_PERCENT)}


def _factor(percent: str, most: int) -> float:
    stated = count(percent)
    return stated / 100 if stated is not None and 100 <= stated <= most else 1.0


def _value(text: str, otherwise: float) -> float:
    try:
        return parse_quantity(text)
    except InvalidInput:
        return otherwise
