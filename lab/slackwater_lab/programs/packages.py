"""What the lab takes from Debian: Prometheus, and for real nodes the container runtime. Nothing is left running."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from slackwater.errors import Unavailable
from slackwater_lab.processes.command import run

# A file whose presence shows that the package is there.
PACKAGES = {
    "openssl": "/usr/bin/openssl",
    "prometheus": "/usr/bin/prometheus",
    "containerd": "/usr/bin/containerd",
    "runc": "/usr/sbin/runc",
    "containernetworking-plugins": "/usr/lib/cni/bridge",
    "busybox-static": "/bin/busybox",
    "iproute2": "/sbin/ip",
    "debootstrap": "/usr/sbin/debootstrap",
}
# What tests of pages and of measured use need of Debian, beside what the lab needs.
TESTING = {
    "chromium-headless-shell": "/usr/bin/chromium-headless-shell",
    "prometheus": "/usr/bin/prometheus",
    "openssl": "/usr/bin/openssl",
}
POLICY = Path("/usr/sbin/policy-rc.d")


def missing(packages: Mapping[str, str] = PACKAGES) -> list[str]:
    """The packages that are not installed."""
    return [package for package, file in packages.items() if not Path(file).exists()]


def install(packages: Mapping[str, str] = PACKAGES) -> list[str]:
    """Install what is missing; returns their names."""
    wanted = missing(packages)
    if not wanted:
        return []
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise Unavailable(f"not installed: {', '.join(wanted)}; install them by hand, or run this as root on Debian")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    with _nothing_starts():
        run(["apt-get", "update", "-q"], environment=quiet)
        run(["apt-get", "install", "-q", "-y", "--no-install-recommends", *wanted], environment=quiet)
    return wanted


@contextmanager
def _nothing_starts() -> Iterator[None]:
    # Debian starts the servers it installs unless this script forbids it; one that is there already is kept.
    ours = not POLICY.exists()
    if ours:
        POLICY.write_text("#!/bin/sh\nexit 101\n")
        POLICY.chmod(0o755)
    try:
        yield
    finally:
        if ours:
            POLICY.unlink()
