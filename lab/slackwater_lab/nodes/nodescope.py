"""Runs a program of a real node in that node's own cgroup, which the program then takes for the whole machine.

A kubelet measures the root cgroup as the use of its node, and several real nodes share one machine. In a cgroup
namespace the node's group is the root: the kubelet counts its own pods, its runtime and itself, as on a machine of
its own, so nodes may be as small as a test wants. Containerd must see the same root, because the kubelet tells it the
paths of its pods' groups.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
UNIFIED = "unified"
NAMED = ("systemd",)  # hierarchies without a controller are mounted by their name
INSIDE = "--inside"


def inside(group: str, command: list[str]) -> list[str]:
    """The command line that runs a command in the group, seen as the root."""
    return [sys.executable, __file__, group, *command]


def hierarchies(root: Path = ROOT) -> list[str]:
    """The mounted hierarchies; a link is another name for one of them."""
    return sorted(path.name for path in root.iterdir() if path.is_dir() and not path.is_symlink())


def mounting(name: str) -> list[str]:
    """How a hierarchy is mounted."""
    if name == UNIFIED:
        return ["-t", "cgroup2", "cgroup2"]
    return ["-t", "cgroup", "-o", f"none,name={name}" if name in NAMED else name, "cgroup"]


def _join(group: str, command: list[str]) -> None:
    """Move this process into the group of every hierarchy, and start over in namespaces of its own."""
    for name in hierarchies():
        folder = ROOT / name / group
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.procs").write_text(str(os.getpid()))
    unshare = ["unshare", "--mount", "--cgroup", "--propagation=unchanged"]
    os.execvp(unshare[0], [*unshare, sys.executable, __file__, INSIDE, *command])  # noqa: S606


def _mount_and_run(command: list[str]) -> None:
    """Mount the hierarchies anew, so that their root is the group, and become the program."""
    subprocess.run(["mount", "--make-rprivate", "/sys"], check=True)  # noqa: S607 - the system's own mount
    for name in hierarchies():
        path = str(ROOT / name)
        subprocess.run(["umount", "--lazy", path], check=True)  # noqa: S603, S607 - as above
        subprocess.run(["mount", *mounting(name), path], check=True)  # noqa: S603, S607 - as above
    os.execv(shutil.which(command[0]) or command[0], command)  # noqa: S606 - replaces this process on purpose


if __name__ == "__main__":
    if sys.argv[1] == INSIDE:
        _mount_and_run(sys.argv[2:])
    else:
        _join(sys.argv[1], sys.argv[2:])
