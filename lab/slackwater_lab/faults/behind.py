"""A program of a lab behind the proxy: it gets the proxy's address in place of the API server's, and its own token."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from slackwater_lab.controlplane import access, services
from slackwater_lab.faults.proxy import FaultProxy
from slackwater_lab.lab import Lab


class Behind:
    """One of our programs in a lab, started behind a proxy. Whoever kills it starts it again."""

    def __init__(self, lab: Lab, name: str, proxy: FaultProxy, settings: Mapping[str, str]) -> None:
        self.lab, self.name, self.proxy, self.settings = lab, name, proxy, settings

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        started = self.lab.processes.find(self.name)
        return started is not None and started.alive

    def start(self) -> None:
        """Start it, and wait until it serves."""
        with self.lab.api() as api:
            usual = services.kubeconfig(self.lab.site, self.name, api)
        kind = services.kind(self.name).upper()
        self.lab.restart(
            self.name, {**self.settings, f"SLACKWATER_{kind}_KUBECONFIG": str(detour(usual, self.name, self.proxy.url))}
        )


def detour(usual: Path, name: str, url: str) -> Path:
    """A kubeconfig with the same token that leads to another address."""
    config = yaml.safe_load(usual.read_text())
    config["clusters"][0]["cluster"] = {"server": url}
    path = usual.with_name(f"{name}-behind.kubeconfig")
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))
    return path


@contextmanager
def behind(lab: Lab, name: str, settings: Mapping[str, str] | None = None) -> Iterator[Behind]:
    """One of our programs behind a proxy, with other settings if wanted; afterwards it runs as usual."""
    where = access.endpoint(lab.site)
    with FaultProxy(where, lambda: lab.processes.kill(name)) as proxy:
        program = Behind(lab, name, proxy, settings or {})
        lab.processes.kill(name)
        try:
            program.start()
            yield program
        finally:
            lab.processes.kill(name)
            lab.restart(name)
