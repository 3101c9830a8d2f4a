"""Passes connections to a Service's address on to one of its pods, for TCP; a process of the lab.

The addresses are added to the lab's bridge, so pods reach them by their default route and the machine itself directly
(an API server calls webhooks that way). The Service `kubernetes` leads to the API server.
"""

import asyncio
import random
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_lab.controlplane import access
from slackwater_lab.nodes import network
from slackwater_lab.processes.command import run
from slackwater_lab.processes.streams import pass_on
from slackwater_lab.programs.build import installed
from slackwater_lab.site import Site, open_site

Address = tuple[str, int]
Object = Mapping[str, Any]
Routes = dict[Address, list[Address]]
PERIOD = 1.0
HEADLESS = ("", "None")
SERVICE = "kubernetes.io/service-name"


def routes(services: Iterable[Object], slices: Iterable[Object], api: Address) -> Routes:
    """Each Service address and port, with the pods behind it that are ready; without any it refuses connections."""
    behind: dict[tuple[str, str], list[Object]] = {}
    for each in slices:
        metadata = each["metadata"]
        name = metadata.get("labels", {}).get(SERVICE, "")
        behind.setdefault((metadata["namespace"], name), []).append(each)
    found: Routes = {}
    for service in services:
        address = service["spec"].get("clusterIP", "")
        if address in HEADLESS:
            continue
        key = (service["metadata"]["namespace"], service["metadata"]["name"])
        for port in service["spec"].get("ports", ()):
            if port.get("protocol", "TCP") == "TCP":
                targets = [api] if key == ("default", "kubernetes") else _targets(port, behind.get(key, ()))
                found[address, port["port"]] = targets
    return {place: targets for place, targets in found.items() if targets}


def _targets(port: Object, slices: Iterable[Object]) -> list[Address]:
    return [
        (address, offered["port"])
        for each in slices
        for offered in each.get("ports") or ()
        if (offered.get("name") or "") == (port.get("name") or "")
        for endpoint in each.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        for address in endpoint["addresses"]
    ]


class ServiceProxy:
    """One listener for each port of each Service."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._bridge = network.of(site.ports).bridge
        self._routes: Routes = {}
        self._servers: dict[Address, asyncio.Server] = {}

    async def run(self) -> None:
        """Follow the Services until stopped; while the API server is away everything stays as it is."""
        with access.client(self._site) as api:
            while True:
                try:
                    await self._follow(await asyncio.to_thread(self._read, api))
                except (Unavailable, OSError) as problem:
                    print(f"services are not followed now: {problem}", flush=True)  # noqa: T201 - the process's log
                await asyncio.sleep(PERIOD)

    def _read(self, api: ApiClient) -> Routes:
        services = api.find("/api/v1/services", {"resourceVersion": "0"}) or {"items": []}
        slices = api.find("/apis/discovery.k8s.io/v1/endpointslices", {"resourceVersion": "0"}) or {"items": []}
        return routes(services["items"], slices["items"], ("127.0.0.1", self._site.ports["apiserver"]))

    async def _follow(self, wanted: Routes) -> None:
        self._routes = wanted
        for gone in self._servers.keys() - wanted.keys():
            self._servers.pop(gone).close()
            if not any(address == gone[0] for address, _ in wanted):
                self._ip("delete", gone[0])
        for new in wanted.keys() - self._servers.keys():
            if not any(address == new[0] for address, _ in self._servers):
                self._ip("replace", new[0])
            self._servers[new] = await asyncio.start_server(self._serve_at(new), *new)

    def _ip(self, verb: str, address: str) -> None:
        run([installed("ip", "iproute2"), "address", verb, f"{address}/32", "dev", self._bridge])

    def _serve_at(self, place: Address) -> Any:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            targets = self._routes.get(place)
            if not targets:
                writer.close()
                return
            try:
                pod = await asyncio.open_connection(*random.choice(targets))  # noqa: S311 - any of them will do
            except OSError:
                writer.close()
                return
            await asyncio.gather(pass_on(reader, pod[1]), pass_on(pod[0], writer))

        return serve


if __name__ == "__main__":
    asyncio.run(ServiceProxy(open_site(sys.argv[1])).run())
