"""Ports on 127.0.0.1: each lab owns a block of them, so that several labs run side by side.

Blocks lie below the range from which the kernel picks ports for outgoing connections. A claim is a file that names the
lab's folder; it stands from the first start to `down`, so that a server that is away for a moment finds its port again.
Ports belong to the machine: claims are kept in one place, whatever cache a lab uses for its programs.
"""

import os
import socket
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from slackwater.errors import Unavailable, UnknownName
from slackwater_lab.processes import records
from slackwater_lab.programs.build import locked

FIRST, LAST, SIZE = 20_000, 31_960, 40
NAMES = (
    "etcd",
    "etcd-peer",
    "apiserver",
    "controller-manager",
    "scheduler",
    "slackwater-scheduler",
    "kwok",
    "prometheus",
    "state-metrics",
    "state-metrics-telemetry",
    "extender",
    "operator",
    "operator-health",
    "operator-2",
    "operator-2-health",
    "monitor",
    "dns",
    "kuberay",
    "kuberay-health",
    "jobset",
    "webhook",
    "extender-2",
    "spark-webhook",
    "trainer",
)
RECORD = "ports.json"
KUBELETS = 24  # from here on in the block: two ports for each real node
REAL_NODES = (SIZE - KUBELETS) // 2


class Ports:
    """The block of ports of one lab."""

    def __init__(self, base: int) -> None:
        self.base = base

    def __getitem__(self, name: str) -> int:
        if name not in NAMES:
            raise UnknownName("port", name, NAMES)
        return self.base + NAMES.index(name)

    def kubelet(self, number: int) -> int:
        """The API port of a real node; its health port is the next one."""
        return self.base + KUBELETS + 2 * (number - 1)

    def peer(self, number: int) -> int:
        """The ports of other schedulers, from 0: those of real nodes, which a lab that plays schedulers has not."""
        return self.base + KUBELETS + number


def claim(folder: Path) -> Ports:
    """The block this lab had before, else the first free one."""
    if (base := _own(folder)) is not None:
        return Ports(base)
    with locked(claims() / "lock"):
        for base in _candidates(str(folder)):
            if not _taken(base) and all(free(port) for port in range(base, base + SIZE)):
                folder.mkdir(parents=True, exist_ok=True)
                records.write(folder / RECORD, {"base": base})
                _claim_file(base).write_text(str(folder))
                return Ports(base)
    raise Unavailable(f"no {SIZE} free ports in a row between {FIRST} and {LAST}; stop a lab that is not needed")


def release(folder: Path) -> None:
    """Let others have the block of this lab."""
    if (base := _own(folder)) is not None:
        _give_back(base, folder)
    (folder / RECORD).unlink(missing_ok=True)


def claims() -> Path:
    """Where the claims of all labs of this machine are."""
    return Path(tempfile.gettempdir()) / f"slackwater-lab-ports-{os.getuid()}"


def _candidates(seed: str) -> Iterator[int]:
    # Start at a place that depends on the folder, so that labs started at once rarely look at the same block.
    count = (LAST - FIRST) // SIZE
    start = zlib.crc32(seed.encode()) % count
    return (FIRST + SIZE * ((start + step) % count) for step in range(count))


def _claim_file(base: int) -> Path:
    return claims() / str(base)


def _taken(base: int) -> bool:
    # A claim counts only while the lab it names still says so itself: folders that were deleted hold nothing.
    path = _claim_file(base)
    return path.exists() and _own(Path(path.read_text())) == base


def _own(folder: Path) -> int | None:
    """The block that a lab has, by its own record."""
    record = records.read(folder / RECORD)
    return int(record["base"]) if record else None


def _give_back(base: int, folder: Path) -> None:
    path = _claim_file(base)
    if path.exists() and path.read_text() == str(folder):
        path.unlink(missing_ok=True)


def free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
