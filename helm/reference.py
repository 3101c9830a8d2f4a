"""Writes docs/reference/values.md from the comments in values.yaml: `python helm/reference.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHART = Path(__file__).parent / "slackwater"
TARGET = Path(__file__).parents[1] / "docs" / "reference" / "values.md"
HEAD = """# Values of the chart

Generated from the comments in `helm/slackwater/values.yaml` by `python helm/reference.py`. A name that is not here is
refused by `values.schema.json`, and so is a wrong type.
"""


@dataclass(frozen=True)
class Value:
    """A name, what it is set to, and what stands above it."""

    path: tuple[str, ...]
    default: str
    about: str


def values(text: str) -> Iterator[Value]:
    """Every name of the file, with the comment right above it. Lists and what is in braces stay in one piece."""
    path: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("#"):
            comment.append(bare.lstrip("# "))
        elif bare and not bare.startswith("- "):
            name, _, default = bare.partition(":")
            depth = (len(line) - len(line.lstrip())) // 2
            path[depth:] = [name]
            yield Value(tuple(path), default.strip(), " ".join(comment))
            comment = []
        else:
            comment = []


def page(text: str) -> str:
    """One section for each top-level name."""
    lines = [HEAD]
    for value in values(text):
        if len(value.path) == 1:
            lines += [f"\n## {value.path[0]}\n", *([value.about, ""] if value.about else [])]
            lines += ["| Value | Default | Meaning |", "|---|---|---|"]
        about = value.about if len(value.path) > 1 else ""
        if value.default or about:
            cells = (".".join(value.path), value.default, about)
            name, default, meaning = (cell.replace("|", "\\|") for cell in cells)
            lines.append(f"| `{name}` | {f'`{default}`' if default else ''} | {meaning} |")
    return "\n".join(lines) + "\n"


def content() -> str:
    """The file's content."""
    return page((CHART / "values.yaml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    TARGET.write_text(content(), encoding="utf-8")
