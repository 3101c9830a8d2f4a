"""Someone who has a fresh clone, the README and a cluster, and nothing else."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from slackwater_cluster.api.client import ApiClient
from slackwater_lab.lab import Lab
from slackwater_lab.programs.build import built
from support.lab.chart import ROOT
from support.lab.testnamespace import Ground


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A person at a terminal in the clone, with kubectl at the lab."""

    lab: Lab
    api: ApiClient
    folder: Path
    clone: Path
    environment: dict[str, str]
    batch: Ground

    def types(self, block: str) -> subprocess.CompletedProcess[str]:
        """Type a block of commands; an error in the middle stops it."""
        return subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", block],
            cwd=self.clone,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    def done(self, block: str) -> str:
        """Type a block that must succeed; what it printed."""
        result = self.types(block)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


def newcomer(lab: Lab, api: ApiClient, folder: Path) -> Newcomer:
    """Clone the project; what `make demo` will install there is on the path, and so are helm and kubectl."""
    clone, path = folder / "slackwater", folder / "bin"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    path.mkdir()
    for name in ("helm", "kubectl"):
        (path / name).symlink_to(built(name))
    environment = _environment(lab, f"{path}:{clone / '.venv' / 'bin'}")
    return Newcomer(lab, api, folder, clone, environment, Ground(api, "batch", []))


def _environment(lab: Lab, path: str) -> dict[str, str]:
    """What a Service would resolve is told by address."""
    site = lab.site
    return {
        **os.environ,
        "PATH": f"{path}:{os.environ['PATH']}",
        "KUBECONFIG": str(site.kubeconfig),
        "PROMETHEUS_URL": site.url("prometheus"),
        "PROMETHEUS_IN_CLUSTER": site.url("prometheus"),
        "REGISTRY": "",
        "SLACKWATER_EXTENDER_URL": site.url("extender"),
        "SLACKWATER_MONITOR_EXTENDER_URL": site.url("extender"),
        "SLACKWATER_MONITOR_PORT": str(site.ports["operator-2"]),
        "SLACKWATER_MONITOR_INTERVAL": "2",
        "COLUMNS": "100",
    }
