"""Starts programs in the background and stops exactly those.

A process is remembered by its id and the moment it was born, so that another one that later gets the same id
is never touched.
"""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from slackwater.errors import Unavailable
from slackwater_lab.processes import records


@dataclass(frozen=True, slots=True)
class Started:
    """One process of ours: its name in the lab, its id, and when it was born."""

    name: str
    pid: int
    born: str
    command: tuple[str, ...]

    @property
    def alive(self) -> bool:
        """Whether this very process still runs; a zombie does not."""
        return birth(self.pid) == self.born


def birth(pid: int) -> str | None:
    """When the process was born, unique over reboots; None when it is gone or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the program's name may hold spaces: count from its bracket
    state, ticks = fields[0], fields[19]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return None if state in "ZX" else f"{boot}:{ticks}"


def _lingers(started: Started) -> bool:
    """Whether it runs or still ends: while threads of a killed process remain, so do its open ports."""
    born = birth(started.pid)
    return born == started.born or (born is None and _threads(started.pid) > 1)


def _threads(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/task").iterdir()))
    except (FileNotFoundError, ProcessLookupError):
        return 0


class Processes:
    """The processes of one lab: one log and one record each, in the lab's folder."""

    def __init__(self, folder: Path) -> None:
        self._records = folder / "pids"
        self._logs = folder / "logs"

    def log(self, name: str) -> Path:
        """Where a process writes what it says."""
        return self._logs / f"{name}.log"

    def _record(self, name: str) -> Path:
        return self._records / f"{name}.json"

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Started:
        """Start a program unless it runs already. It gets a session of its own and outlives us."""
        running = self.find(name)
        if running and running.alive:
            return running
        for folder in (self._records, self._logs):
            folder.mkdir(parents=True, exist_ok=True)
        pid = _spawn(command, self.log(name), {**os.environ, **(environment or {})})
        # A process that dies at once is recorded too: whoever waits for it reads its log.
        started = Started(name, pid, birth(pid) or "never", tuple(command))
        records.write(self._record(name), asdict(started))
        return started

    def find(self, name: str) -> Started | None:
        """The process last started under this name, running or not."""
        record = records.read(self._record(name))
        return Started(record["name"], record["pid"], record["born"], tuple(record["command"])) if record else None

    def all(self) -> list[Started]:
        """Every process on record, in the order of their start."""
        paths = sorted(self._records.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        return [found for path in paths if (found := self.find(path.stem))]

    def stop(self, name: str, grace: float = 10.0) -> None:
        """Ask a process and its group to end; after the grace time (seconds) make them."""
        started = self.find(name)
        if started is None:
            return
        for word, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
            if started.alive:
                _tell_group(started.pid, word)
                _wait_end(started, patience)
        if started.alive:
            raise Unavailable(f"{name} (process {started.pid}) does not end; see {self.log(name)}")
        _reap(started.pid)
        self._record(name).unlink(missing_ok=True)

    def kill(self, name: str) -> None:
        """End a process without warning, as a crash would; its record stays, so that `start` brings it back."""
        started = self.find(name)
        if started and started.alive:
            _tell_group(started.pid, signal.SIGKILL)
            _wait_end(started, 20.0)
            _reap(started.pid)

    def freeze(self, name: str) -> None:
        """Let a process hang: it keeps its ports and connections, and answers nothing."""
        self._tell(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a frozen process go on."""
        self._tell(name, signal.SIGCONT)

    def _tell(self, name: str, word: signal.Signals) -> None:
        started = self.find(name)
        if started and started.alive:
            _tell_group(started.pid, word)

    def tail(self, name: str, lines: int = 8) -> str:
        """The last lines a process wrote, for an error message."""
        path = self.log(name)
        text = path.read_text(errors="replace") if path.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def _spawn(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    wanted = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), wanted, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawnp(command[0], list(command), environment, file_actions=actions, setsid=True)


def _tell_group(pid: int, word: signal.Signals) -> None:
    try:
        os.killpg(pid, word)
    except ProcessLookupError:
        return


def _wait_end(started: Started, patience: float) -> None:
    limit = time.monotonic() + patience
    while _lingers(started) and time.monotonic() < limit:
        time.sleep(0.02)


def _reap(pid: int) -> None:
    # Only a child of this very Python process can be reaped; init does it for all others.
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
