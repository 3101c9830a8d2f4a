"""Writes generated Kubernetes objects as YAML files that a person can read and a test can compare."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

Manifest = Mapping[str, Any]

HEADER = "# Generated: change the source it names and run its command again.\n# {command}\n"


class _Dumper(yaml.SafeDumper):
    """Long strings as blocks, no aliases: what is repeated is written twice rather than pointed at."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def render(objects: Iterable[Manifest], command: str) -> str:
    """The objects as one YAML stream under a header that tells how it was made."""
    body = yaml.dump_all(
        [dict(each) for each in objects],
        Dumper=_Dumper,
        sort_keys=False,
        width=120,
        explicit_start=True,
        allow_unicode=True,
    )
    return HEADER.format(command=command) + body


def command(said: str | None, line: str, files: Callable[[], Mapping[str, str]]) -> None:
    """Write files into the folder that is given, else into the one of the command's usual line."""
    parser = argparse.ArgumentParser(description=said)
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(line.rsplit(maxsplit=1)[-1]), help="default: %(default)s"
    )
    write(parser.parse_args().folder, files())


def write(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write the files into the folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in sorted(files)]
    for path in paths:
        path.write_text(files[path.name], encoding="utf-8")
    return paths
