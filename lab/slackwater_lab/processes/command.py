"""Runs a program to its end and turns a failure into an error that holds its last words."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from slackwater.errors import Unavailable


def run(command: Sequence[str], folder: Path | None = None, environment: Mapping[str, str] | None = None) -> str:
    """What the program printed."""
    done = subprocess.run(  # noqa: S603 - every command line is put together in this package, without a shell
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise Unavailable(f"{Path(command[0]).name} {command[1]} ended with {done.returncode}: {said}")
    return done.stdout
