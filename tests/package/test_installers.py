"""Upload to an index, as a release does; then `pipx install slackwater`, or `uv tool install`, and away again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from slackwater import __version__
from support.fakes.packageindex import packageindex
from support.lab.chart import ROOT

pytestmark = [pytest.mark.package, pytest.mark.timeout(900)]
CONSTRAINTS = str(ROOT / "constraints.txt")


@dataclass(frozen=True, slots=True)
class Home:
    """A person who has an installer, and nothing else."""

    folder: Path
    inherited: dict[str, str]

    @property
    def programs(self) -> Path:
        """Where both put what can be typed."""
        return self.folder / "bin"

    def types(self, *line: str) -> str:
        """Type a line that must succeed; what it printed."""
        environment = {
            **self.inherited,
            "HOME": str(self.folder),
            "PIPX_HOME": str(self.folder / "tools"),
            "PIPX_BIN_DIR": str(self.programs),
            "UV_TOOL_DIR": str(self.folder / "tools"),
            "UV_TOOL_BIN_DIR": str(self.programs),
        }
        done = subprocess.run(line, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty one; the way to the index is that of this machine."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return Home(tmp_path, dict(os.environ))


@pytest.fixture(scope="module")
def index(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An index that has what twine uploaded: the wheel and the source archive."""
    folder = tmp_path_factory.mktemp("index")
    with packageindex(folder) as address:
        line = [sys.executable, "-m", "twine", "upload", "--non-interactive", "--disable-progress-bar"]
        line += ["--repository-url", f"{address}/legacy/", "--username", "somebody", "--password", "word"]
        files = sorted(wheel.parent.iterdir())
        done = subprocess.run([*line, *map(str, files)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert {path.name: path.read_bytes() for path in files} == {
            path.name: path.read_bytes() for path in folder.iterdir()
        }
        yield f"{address}/simple/"


def pipx(index: str) -> list[str]:
    """The line of pipx; the versions are those of constraints.txt."""
    pip = f"--pip-args=--extra-index-url={index} --constraint={CONSTRAINTS}"
    return ["install", "--python", sys.executable, pip]


def uv(index: str) -> list[str]:
    """The line of uv, likewise."""
    return ["tool", "install", "--python", sys.executable, "--index", index, "--constraints", CONSTRAINTS]


@pytest.mark.parametrize(("install", "uninstall"), [(pipx, ["uninstall"]), (uv, ["tool", "uninstall"])])
def test_one_line_brings_the_commands_and_one_takes_them_away(
    install: Callable[[str], list[str]], uninstall: list[str], index: str, home: Home
) -> None:
    """All of them are on the path afterwards; a simulation runs; nothing that can be typed is left."""
    installer = Path(sysconfig.get_path("scripts"), install.__name__)
    if not installer.exists():
        pytest.skip(f"{install.__name__} is not installed; it comes with the extra release (make package)")
    home.types(str(installer), *install(index), "slackwater")
    assert {"slackwater", "kubectl-slackwater", "slackwater-monitor"} <= {path.name for path in home.programs.iterdir()}
    slackwater = str(home.programs / "slackwater")
    assert home.types(slackwater, "--version") == f"slackwater {__version__}\n"
    found = json.loads(home.types(slackwater, "simulate", "gen:hour?apps=2", "-p", "slackwater", "-o", "json"))
    assert [each["finished"] for each in found] == [2]
    home.types(str(installer), *uninstall, "slackwater")
    assert not any(home.programs.iterdir())
    assert not list((home.folder / "tools").glob("**/slackwater*"))
