"""What the kernel says of the memory of a real node's pods: its limit, who was killed, and who would be next."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slackwater_lab.lab import Lab

MEMORY = Path("/sys/fs/cgroup/memory")
MIB = 2**20
KILLED = re.compile(r"oom_memcg=(?P<full>\S+?),task_memcg=\S*/pod(?P<uid>[0-9a-f-]{36})/")
SCORED = re.compile(r"Killed process \d+ .* anon-rss:(?P<rss>\d+)kB.* oom_score_adj:(?P<adj>-?\d+)")


@dataclass(frozen=True, slots=True)
class Kill:
    """One process that the kernel killed for want of memory."""

    uid: str  # of its pod
    full: str  # the cgroup that had no memory left
    mebibytes: int
    adj: int


@dataclass(frozen=True, slots=True)
class PodsMemory:
    """The cgroup of all pods of a node, in MiB."""

    limit: int
    most: int  # ever used
    refused: int  # how often the limit was met


def kills() -> list[Kill]:
    """Every kill in a pod that the kernel's log still tells of, oldest first."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout.splitlines()
    found: list[Kill] = []
    for number, line in enumerate(log):
        said = KILLED.search(line)
        scored = next(filter(None, map(SCORED.search, log[number : number + 3])), None) if said else None
        if said and scored:
            found.append(Kill(said["uid"], said["full"], int(scored["rss"]) // 1024, int(scored["adj"])))
    return found


def pods_memory(lab: Lab, number: int) -> PodsMemory:
    """Of the node of that number."""
    folder = MEMORY / lab.real.node(number).cgroup / "kubepods"
    limit, most, refused = (
        int((folder / f"memory.{name}").read_text()) for name in ("limit_in_bytes", "max_usage_in_bytes", "failcnt")
    )
    return PodsMemory(limit // MIB, most // MIB, refused)


def container(lab: Lab, pod: dict[str, Any]) -> Path:
    """The cgroup of a running pod's only container."""
    node = lab.real.node(int(pod["spec"]["nodeName"].rpartition("-")[2]))
    identity = pod["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
    (found,) = (MEMORY / node.cgroup).glob(f"**/pod{pod['metadata']['uid']}/{identity}")
    return found


def own_kills(lab: Lab, pod: dict[str, Any]) -> int:
    """How many processes the kernel killed in a running pod's container."""
    return int((container(lab, pod) / "memory.oom_control").read_text().split()[-1])


def adjustment(lab: Lab, pod: dict[str, Any]) -> int:
    """The oom_score_adj that the kubelet gave a running pod's process."""
    (process,) = (container(lab, pod) / "cgroup.procs").read_text().split()
    return int(Path(f"/proc/{process}/oom_score_adj").read_text())
