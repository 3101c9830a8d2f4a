"""YAML that people write, read so that whatever is wrong with it is told in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from slackwater.errors import InvalidInput
from slackwater.validation import parsing


def documents(path: Path, field: str, remedy: str) -> list[Any]:
    """All documents of a file; `field` and `remedy` are what the error names and advises."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(field, f"{str(path)!r} cannot be read ({error.strerror})", remedy) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(field, f"{str(path)!r} is not text in UTF-8 ({error.reason})", remedy) from error
    with parsing(field, f"{str(path)!r} is not YAML", remedy):
        return list(yaml.safe_load_all(text))


def document(path: Path, field: str, remedy: str) -> Any:
    """The only document of a file; None where it is empty."""
    found = documents(path, field, remedy)
    if len(found) > 1:
        raise InvalidInput(field, f"{str(path)!r} holds {len(found)} documents", f"{remedy}, without ---")
    return found[0] if found else None


def value(text: str, field: str) -> Any:
    """A value of an option, as a person writes it in one line."""
    with parsing(field, f"{text[:200]!r} cannot be read", "write a number, a word or a list [a, b]"):
        return yaml.safe_load(text)
