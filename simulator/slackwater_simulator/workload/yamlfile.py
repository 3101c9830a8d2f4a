"""YAML files that people write, read so that whatever is wrong with one is told in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from slackwater.errors import InvalidInput


def documents(path: Path, field: str, remedy: str) -> list[Any]:
    """All documents of a file; `field` and `remedy` are what the error names and advises."""
    try:
        return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InvalidInput(field, f"{str(path)!r} cannot be read ({error.strerror})", remedy) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(field, f"{str(path)!r} is not text in UTF-8 ({error.reason})", remedy) from error
    except yaml.YAMLError as error:
        raise InvalidInput(field, f"{str(path)!r} is not YAML ({fault(error)})", remedy) from error


def document(path: Path, field: str, remedy: str) -> Any:
    """The only document of a file; None where it is empty."""
    found = documents(path, field, remedy)
    if len(found) > 1:
        raise InvalidInput(field, f"{str(path)!r} holds {len(found)} documents", f"{remedy}, without ---")
    return found[0] if found else None


def fault(error: yaml.YAMLError) -> str:
    """What is wrong and where, on one line."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or not problem:
        return " ".join(str(error).split())
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}"
