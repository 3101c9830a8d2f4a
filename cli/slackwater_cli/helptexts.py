"""How `--help` names what a command takes, so that it reads well in 80 columns: nothing after a flag, else one word.

Typer's own words are those of Python: `--live <bool>` seems to ask for a value, and `<list[str]>` and `<int range>`
leave half of the width to the sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer import BadParameter
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter

SEVERAL = "<str>..."


class Command(TyperCommand):
    """A command with such a help text, which refuses a bad value in our words."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """The arguments; Typer tells what is wrong with one in the words of pydantic."""
        try:
            return super().parse_args(ctx, args)
        except BadParameter as error:
            errors: Any = getattr(error.__cause__, "errors", None)
            if errors is not None:
                from slackwater.validation import refusal  # it imports numpy, which is slow

                error.message = refusal(errors())[1]
            raise

    def get_params(self, ctx: Context) -> list[Parameter]:
        """All parameters, in these words."""
        return _in_words(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands with such a help text."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """All parameters, in these words."""
        return _in_words(super().get_params(ctx))


def _in_words(parameters: list[Parameter]) -> list[Parameter]:
    for each in parameters:
        if each.metavar is None:
            each.metavar = _value(each) if isinstance(each, TyperOption) else str(each.name).upper()
        if isinstance(each, TyperArgument) and each.type_descriptor.is_list:
            each.display_type_rich = _several  # type: ignore[method-assign]  # Typer has no setting for it
    return parameters


def _several(ctx: Context) -> str:  # noqa: ARG001 - named so by Typer
    return SEVERAL


def _value(option: TyperOption) -> str | None:
    """What stands behind the option's name: nothing, one word, or None where Typer's own word is short."""
    kind = option.type_descriptor
    if option.is_flag:
        return ""
    if kind.is_list:
        return SEVERAL
    return f"<{kind.ranged_type_name}>" if kind.is_ranged else None
