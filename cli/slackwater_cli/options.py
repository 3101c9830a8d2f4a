"""Policies, and settings given as name=value, on the command line; and options that would be left unread there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import typer

from slackwater.errors import InvalidInput, UnknownName

REMEDY = "write name=value, for example node_heartbeat=0.1 or capacity.user_limit_factor=2"


RESERVED = ("seed", "world", "progress", "policy", "workload", "cluster")


def refuse_unread(context: typer.Context, unread: Callable[[str], bool], problem: str, remedy: str = "") -> None:
    """Refuse options of the command line that would silently be left out; `remedy` is what else one may do."""
    for each in context.command.params:
        name = each.name or ""
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and unread(name):
            option = next(way for way in each.opts if way.startswith("--"))
            raise InvalidInput(option, problem, f"{remedy}leave {option} out")


def policy_names(given: list[str]) -> list[str]:
    """The policies of `--policy a,b --policy c`, in the order given."""
    names = [name.strip() for text in given for name in _listed(text) if name.strip()]
    if not names:
        raise InvalidInput(
            "--policy", f"{', '.join(given)!r} names no policy", "name at least one, for example --policy fifo,fair"
        )
    return names


def _listed(text: str) -> Iterator[str]:
    """What commas part; a comma inside brackets belongs to an option's value, `estimation?allowance=[1,0.5]`."""
    begin = depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth <= 0:
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]


def parse_settings(pairs: list[str], policies: list[str]) -> dict[str, dict[str, object]]:
    """Settings of each policy's run.

    `node_heartbeat=0.1` goes to every run, `capacity.user_limit_factor=2` only to that policy's. Values are read as
    YAML: numbers, `true`, lists and text.
    """
    chosen: dict[str, dict[str, object]] = {policy: {} for policy in policies}
    for text in pairs:
        name, value = _pair(text)
        policy, found, own = name.partition(".")
        targets = [spec for spec in policies if not found or spec.partition("?")[0] == policy]
        if not targets:
            raise UnknownName(f"--set {name}", policy, policies)
        for target in targets:
            chosen[target][_identifier(text, own if found else name)] = value
    return chosen


def _pair(text: str) -> tuple[str, object]:
    name, found, given = text.partition("=")
    if not found:
        raise InvalidInput("--set", f"{text!r} is not a setting", REMEDY)
    from slackwater_simulator.workload.yamlfile import value

    return name.strip(), value(given, f"--set {name}")


def _identifier(text: str, name: str) -> str:
    plain = name.replace("-", "_")
    if not plain.isidentifier():
        raise InvalidInput("--set", f"{text!r} is not a setting", REMEDY)
    if plain in RESERVED:
        raise InvalidInput("--set", f"{plain} is not a setting", f"use the option --{plain} or the argument instead")
    return plain
