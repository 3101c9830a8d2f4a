"""Runs a kubelet that sees another machine size; a script for use inside the namespace of the real nodes.

A kubelet reads the number of CPUs from /sys/devices/system/node and the memory from /proc/meminfo. Files mounted
over both, seen by this one process only, let a small machine stand for a large node. Limits and measured use stay
real. Every pretended socket repeats the real CPU numbers, because the kubelet writes them into cgroups, and the
kernel refuses numbers of CPUs that it does not have.
"""

import os
import re
import subprocess
import sys
from pathlib import Path


def sockets(cpus: int, real: int) -> list[int]:
    """How many CPUs each pretended socket gets, so that none has more than the machine."""
    return [min(real, cpus - start) for start in range(0, cpus, real)]


def write_machine(folder: Path, cpus: int, mebibytes: int, real: int) -> None:
    """Write the files that describe the machine."""
    sizes = sockets(cpus, real)
    for number, size in enumerate(sizes):
        node = folder / "node" / f"node{number}"
        (node / "hugepages").mkdir(parents=True, exist_ok=True)
        for cpu in range(size):
            topology = node / f"cpu{cpu}" / "topology"
            topology.mkdir(parents=True, exist_ok=True)
            (topology / "core_id").write_text(f"{cpu}\n")
            (topology / "physical_package_id").write_text(f"{number}\n")
        (node / "meminfo").write_text(f"Node {number} MemTotal: {mebibytes * 1024 // len(sizes)} kB\n")
    total = re.sub(r"(?m)^MemTotal:.*$", f"MemTotal: {mebibytes * 1024} kB", Path("/proc/meminfo").read_text())
    (folder / "meminfo").write_text(total)


def main(folder: Path, cpus: int, mebibytes: int, command: list[str]) -> None:
    """Put the files in place for this process alone and become the kubelet."""
    write_machine(folder, cpus, mebibytes, os.cpu_count() or 1)
    for arguments in (
        ["--make-rprivate", "/sys"],
        ["--make-rprivate", "/proc"],
        ["--bind", str(folder / "node"), "/sys/devices/system/node"],
        ["--bind", str(folder / "meminfo"), "/proc/meminfo"],
    ):
        subprocess.run(["mount", *arguments], check=True)  # noqa: S603, S607 - the system's own mount
    os.execv(command[0], command)  # noqa: S606 - replaces this process on purpose


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
