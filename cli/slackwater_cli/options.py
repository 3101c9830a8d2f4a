"""Settings given as name=value on the command line."""

from __future__ import annotations

import yaml

from slackwater.errors import InvalidInput


def parse_settings(pairs: list[str]) -> dict[str, object]:
    """`node_heartbeat=0.1` becomes a number, `drf=true` a truth value, anything else text: YAML's reading."""
    return dict(_pair(text) for text in pairs)


def _pair(text: str) -> tuple[str, object]:
    name, found, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not found or not name.isidentifier():
        raise InvalidInput("--set", f"{text!r} is not a setting", "write name=value, for example node_heartbeat=0.1")
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise InvalidInput(
            f"--set {name}", f"{value!r} cannot be read", "write a number, a word or a list [a, b]"
        ) from error
