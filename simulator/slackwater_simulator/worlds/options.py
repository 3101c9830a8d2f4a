"""Options of a run are named once and shared out: the world takes its settings, what is left is the policy's."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from slackwater.validation import alike

T = TypeVar("T")


def split(settings: type[T], options: dict[str, Any]) -> tuple[T, dict[str, Any]]:
    """The settings of that class, each of its default's kind, and what is left for others."""
    own = {field.name: field.default for field in fields(settings)}  # type: ignore[arg-type]  # a dataclass
    chosen = {name: value for name, value in options.items() if name in own}
    for name, value in chosen.items():
        alike(name, value, own[name])
    return settings(**chosen), {name: value for name, value in options.items() if name not in own}
