"""What the settings of our programs have in common: where they come from, and how a mistake in them is told."""

from __future__ import annotations

import re
import sys
from argparse import Action, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_settings import BaseSettings, CliSettingsSource, SettingsConfigDict, SettingsError

from slackwater.errors import InvalidInput, SlackwaterError
from slackwater.validation import refusal


class Section(BaseModel):
    """A group of settings; a misspelt key is an error, not a silent default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def bare(host: str) -> str:
    """A host as sockets take it: an IPv6 address without brackets."""
    return host.strip("[]")


def address(host: str, port: int) -> str:
    """Host and port in one text; an IPv6 address needs brackets there."""
    return f"[{bare(host)}]:{port}" if ":" in host else f"{host}:{port}"


def program(name: str, *, nested: str | None = None) -> SettingsConfigDict:
    """Flags in kebab case, and SLACKWATER_NAME_… in the environment.

    A misspelt flag, or name in a file, is an error, not a default. A misspelt variable is no error, because Kubernetes
    itself may set some that begin alike (of a Service `slackwater-extender`): so the chart's schema knows the names.

    `nested` joins the parts of a name in the environment, where there are parts.
    """
    return SettingsConfigDict(
        env_prefix=f"SLACKWATER_{name.upper()}_",
        env_nested_delimiter=nested,
        extra="forbid",
        frozen=True,
        cli_prog_name=f"slackwater-{name}",
        cli_kebab_case=True,
        cli_hide_none_type=True,
        cli_avoid_json=True,
        cli_implicit_flags=True,
    )


class PlainHelp(RawDescriptionHelpFormatter):
    """What `--help` shows, in words for people: no type of Python, and no default where there is none."""

    KINDS = (
        (r"dict\[[^\]]*\]", "<name=value,…>"),
        (r"tuple\[[^\]]*\]", "<text,…>"),
        (r"(?<!\S)Path\b", "<path>"),
        (r"(?<!\S)AnyHttpUrl\b", "<url>"),
        (r"(?<!\S)(?:str|Preset)\b", "<text>"),
        (r"(?<!\S)(?:int|float)\b", "<number>"),
    )
    NOTHING = re.compile(r" \((?:default: (?:None|\[\]|\{\}|\(\))?|default factory: \w+)\)$")

    def _format_args(self, action: Action, default_metavar: str) -> str:
        shown = super()._format_args(action, default_metavar)
        for kind, words in self.KINDS:
            shown = re.sub(kind, words, shown)
        return shown

    def _expand_help(self, action: Action) -> str:
        return self.NOTHING.sub("", super()._expand_help(action))


def flags(model: type[BaseSettings], arguments: Sequence[str] | None) -> CliSettingsSource[Any]:
    """The flags of a program, read; None: they are not read, only described."""
    return CliSettingsSource(
        model, cli_parse_args=False if arguments is None else list(arguments), formatter_class=PlainHelp
    )


@contextmanager
def refusing(name: str, *others: type[Exception]) -> Iterator[None]:
    """Tell the first mistake with its field, and where one finds what to write; `others` are mistakes in files."""
    remedy = f"see slackwater-{name} --help"
    mistakes: tuple[type[Exception], ...] = (SettingsError, *others)
    try:
        yield
    except ValidationError as problem:
        place, wrong = refusal(problem.errors())
        raise InvalidInput(place or "settings", wrong, remedy) from problem
    except mistakes as problem:
        raise InvalidInput("settings", str(problem), remedy) from problem


@contextmanager
def last_word() -> Iterator[None]:
    """A problem inside is told in its sentence, and ends the program with exit code 2."""
    try:
        yield
    except SlackwaterError as problem:
        print(problem, file=sys.stderr)  # noqa: T201 - there may be no log yet
        sys.exit(2)
