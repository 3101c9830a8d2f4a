"""The cgroup under which a real node keeps its pods: made before the kubelet starts, emptied and removed after."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd")
TRACKING = "unified"  # holds no controller on such a machine, but runc files its containers there too
# Every process of the machine's root group competes with the node at weight 1024; a busy machine would starve it.
WEIGHT = "4096"


def supported() -> bool:
    """Whether the machine has the cgroup layout (version 1 or hybrid) that the real nodes were tried on."""
    return all((ROOT / name / "tasks").exists() for name in ("cpu", "cpuset", "memory"))


def create(name: str) -> None:
    """Make the group in every controller; a kubelet refuses a root that does not exist."""
    for folder in _folders(name):
        folder.mkdir(exist_ok=True)
    (ROOT / "cpu" / name / "cpu.shares").write_text(WEIGHT)
    for kind in ("cpus", "mems"):
        inherited = (ROOT / "cpuset" / f"cpuset.{kind}").read_text()
        (ROOT / "cpuset" / name / f"cpuset.{kind}").write_text(inherited)


def remove(name: str, patience: float = 5.0) -> None:
    """Kill every process in the group, then remove it; the group is ours, so is everything in it."""
    limit = time.monotonic() + patience
    while pids := _pids(name):
        for pid in pids:
            kill(pid)
        if time.monotonic() > limit:
            break
        time.sleep(0.05)
    for folder in (*_folders(name), ROOT / TRACKING / name):
        _remove_tree(folder)


def _folders(name: str) -> Iterator[Path]:
    return (ROOT / controller / name for controller in CONTROLLERS if (ROOT / controller).is_dir())


def _pids(name: str) -> list[int]:
    found: list[int] = []
    for path in (ROOT / "memory" / name).rglob("cgroup.procs"):
        try:
            found += [int(line) for line in path.read_text().split()]
        except OSError:  # the group went away while it was being read
            continue
    return found


def kill(pid: int) -> None:
    """End a process at once; one that is gone already is fine."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _remove_tree(folder: Path) -> None:
    # rmdir, not rmtree: the files in a cgroup are the kernel's and go with their folder.
    for current, _, _ in os.walk(folder, topdown=False):
        try:
            Path(current).rmdir()
        except OSError:  # a process that is still dying; the empty group does no harm
            continue
