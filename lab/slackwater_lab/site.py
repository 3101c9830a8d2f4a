"""Where one lab lives: its name, its folder and its ports."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from slackwater.errors import InvalidInput
from slackwater_lab.processes.ports import Ports, claim

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Site:
    """The folder holds everything a lab writes: data, certificates, logs, process records, kubeconfig."""

    name: str
    folder: Path
    ports: Ports

    @property
    def kubeconfig(self) -> Path:
        """The administrator's way in."""
        return self.folder / "kubeconfig"

    @property
    def certificates(self) -> Path:
        """Keys and certificates of this lab's own authority."""
        return self.folder / "certs"

    def url(self, port: str, scheme: str = "http") -> str:
        """The address of one of the lab's servers."""
        return f"{scheme}://127.0.0.1:{self.ports[port]}"

    def write(self, name: str, text: str) -> str:
        """Write a configuration file of the lab and return its path for a command line."""
        path = self.folder / "config" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def read(self, name: str) -> str | None:
        """A configuration file as it was last written."""
        path = self.folder / "config" / name
        return path.read_text() if path.exists() else None


def home(name: str | None = None) -> Path:
    """The folder of the named lab; the name defaults to $SLACKWATER_LAB, else `main`."""
    chosen = name or os.environ.get("SLACKWATER_LAB") or "main"
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,30}", chosen):
        raise InvalidInput("lab name", f"{chosen!r} is not usable", "use lower-case letters, digits and dashes")
    return Path(os.environ.get("SLACKWATER_LAB_HOME") or PROJECT / ".lab") / chosen


def open_site(name: str | None = None) -> Site:
    """The site of the named lab, with ports claimed for it."""
    folder = home(name)
    return Site(folder.name, folder, claim(folder))
