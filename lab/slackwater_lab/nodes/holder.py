"""Body of the process that keeps the mount namespace of the real nodes; run as a script inside `unshare -m`.

containerd and kubelet mount a great deal and expect fixed paths. In a namespace of their own none of it reaches
the machine, and all of it is gone with the last process. What they would write to the kernel's settings goes to
plain files mounted over them, so the machine keeps its values.
"""

import os
import subprocess
import sys
from pathlib import Path

# What kubelet and the bridge plugin set, and the values they want to find.
SETTINGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
    "net/ipv4/ip_forward": "1",
}
PRIVATE = ("/var/lib/kubelet", "/var/lib/cni", "/var/log/containers", "/run/containerd", "/run/netns")


def mount(*arguments: str) -> None:
    """Mount something; the arguments are those of the command."""
    subprocess.run(["mount", *arguments], check=True)  # noqa: S603, S607 - fixed arguments, the system's own mount


def main(folder: Path) -> None:
    """Set the namespace up, say so, and become a process that does nothing."""
    mount("--make-rshared", "/")
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in SETTINGS.items():
        setting, shadow = Path("/proc/sys") / name, folder / name.replace("/", ".")
        if setting.exists():
            shadow.write_text(f"{value}\n")
            mount("--bind", str(shadow), str(setting))
    for path in PRIVATE:
        Path(path).mkdir(parents=True, exist_ok=True)
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", path)
    (folder / "ready").touch()
    os.execvp("sleep", ["sleep", "infinity"])  # noqa: S606, S607 - replaces this process on purpose


if __name__ == "__main__":
    main(Path(sys.argv[1]))
