"""Kubernetes quantities ("500m", "3Gi") as plain floats in the kind's base unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from slackwater.errors import InvalidInput
from slackwater.resources import CPU, Resources
from slackwater_cluster.objects.interning import SharedValues

# A cluster uses a few hundred distinct quantities, and parsing one through Decimal costs microseconds.
_REMEMBERED = 16_384
# No quantity that Kubernetes writes is longer than this; what users write into annotations may be.
_LONGEST = 64
# Kubernetes counts no more than 64 bits of a quantity: one that is larger is valid, and counts as this.
MOST = 2**63
_MEBIBYTE = 1024.0**2
_MOST_WRITTEN = math.nextafter(MOST, 0)  # of the numbers we have, the last below it


def parse_quantity(text: str) -> float:
    """The value of one quantity, as far as Kubernetes counts. No request or capacity can be negative or infinite."""
    if len(text) > _LONGEST:  # before the cache, which would keep it
        raise InvalidInput("quantity", f"{text[:_LONGEST]!r}… is too long", "write it like 500m, 2 or 3Gi")
    return _quantity(text)


@lru_cache(maxsize=_REMEMBERED)
def _quantity(text: str) -> float:
    # Here, not above: the client library takes most of the start of a command, and not every command reads a quantity.
    from kubernetes.utils.quantity import parse_quantity as parse_exactly  # noqa: PLC0415

    try:
        value = parse_exactly(text)  # type: ignore[no-untyped-call] # the client library has no types
    except (ValueError, ArithmeticError) as problem:
        raise InvalidInput("quantity", f"{text!r} is not a Kubernetes quantity", "write it like 500m, 2 or 3Gi") from (
            problem
        )
    if not value.is_finite() or value < 0:
        raise InvalidInput("quantity", f"{text!r} is negative or no number", "write it like 500m, 2 or 3Gi")
    return float(min(value, MOST))


def as_quantity(kind: str, value: float, *, mebibytes: bool = False) -> str:
    """An amount as Kubernetes writes it: cpu in cores or milli, the rest in whole units, or rounded up to mebibytes.

    A sum that is beyond what it counts is written as the most that it does.
    """
    value = min(value, _MOST_WRITTEN)
    if kind != CPU:
        return f"{math.ceil(value / _MEBIBYTE - 1e-9)}Mi" if mebibytes else str(round(value))
    milli = round(value * 1000)
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def resources(quantities: Mapping[str, str] | None) -> Resources:
    """A whole list of quantities, kind by kind."""
    if not quantities:
        return Resources()
    return _RESOURCES.one(tuple(quantities.items()))


def _resources(items: tuple[tuple[str, str], ...]) -> Resources:
    return Resources({kind: parse_quantity(text) for kind, text in items})


_RESOURCES: SharedValues[Resources] = SharedValues(_resources)
