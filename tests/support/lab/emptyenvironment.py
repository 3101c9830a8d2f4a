"""The wheel in an environment of its own, as someone has it who typed `pip install slackwater`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Installed:
    """A virtual environment with the wheel and what it needs, and a person without any configuration in it."""

    folder: Path
    home: Path
    seconds: float

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of ours but the wheel's programs; an 80-column terminal; no cluster."""
        path = f"{self.folder / 'bin'}:/usr/bin:/bin"
        return {"PATH": path, "HOME": str(self.home), "COLUMNS": "80", "LANG": "C.UTF-8"}

    def start(self, line: Sequence[str], **extra: str) -> subprocess.Popen[str]:
        """Begin a command of the wheel."""
        return subprocess.Popen(
            [str(self.folder / "bin" / line[0]), *line[1:]],
            cwd=self.home,
            env=self.environment | extra,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def types(self, *line: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Type a command of the wheel and wait for its end."""
        with self.start(line, **extra) as process:
            out, errors = process.communicate(timeout=200)
        return subprocess.CompletedProcess(line, process.returncode, out, errors)
