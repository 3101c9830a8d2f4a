"""Options that several commands share, declared once: a dataclass whose fields are options, taken whole by a command.

    @grouped
    def command(output: Output = Format.TABLE, *, reach: Reach) -> None: ...

Typer sees the fields of `Reach` in place of `reach`; the command gets them together.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer shall see it: each group's options stand where the group stands."""
    whole = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {}
    for name, each in whole.parameters.items():
        if is_dataclass(each.annotation):
            groups[name] = each.annotation

    @wraps(command)
    def taken_apart(**given: Any) -> None:
        parts = {
            name: group(**{each.name: given.pop(each.name) for each in fields(group)}) for name, group in groups.items()
        }
        command(**given, **parts)

    parameters = list(_parameters(whole, groups))
    taken_apart.__signature__ = whole.replace(parameters=parameters)  # type: ignore[attr-defined]
    taken_apart.__annotations__ = {each.name: each.annotation for each in parameters}
    return taken_apart


def _parameters(whole: inspect.Signature, groups: dict[str, Any]) -> Iterator[inspect.Parameter]:
    for name, each in whole.parameters.items():
        if name not in groups:
            yield each
            continue
        for option in inspect.signature(groups[name], eval_str=True).parameters.values():
            yield option.replace(kind=each.kind)
