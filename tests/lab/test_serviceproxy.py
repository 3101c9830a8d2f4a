"""The address of a Service leads to the pods behind it."""

from itertools import pairwise
from typing import Any

from slackwater_lab.nodes.network import SERVICES, of
from slackwater_lab.nodes.nodescope import mounting
from slackwater_lab.nodes.serviceproxy import routes
from slackwater_lab.processes.ports import FIRST, LAST, SIZE, Ports

API = ("127.0.0.1", 20_002)


def _service(name: str, address: str, *ports: dict[str, Any], namespace: str = "team") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"clusterIP": address, "ports": list(ports)}}


def _slice(service: str, port: dict[str, Any], *endpoints: dict[str, Any]) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": service}
    return {"metadata": {"namespace": "team", "labels": labels}, "ports": [port], "endpoints": list(endpoints)}


def test_a_port_leads_to_the_pods_that_are_ready() -> None:
    """By the port's name, which the pod may offer under another number."""
    service = _service("head", "10.208.0.7", {"name": "client", "port": 10_001})
    ready = {"addresses": ["10.200.0.5"], "conditions": {"ready": True}}
    starting = {"addresses": ["10.200.0.6"], "conditions": {"ready": False}}
    slices = [
        _slice("head", {"name": "client", "port": 20_001}, ready, starting),
        _slice("head", {"name": "other", "port": 1}, ready),
        _slice("another", {"name": "client", "port": 1}, ready),
    ]
    assert routes([service], slices, API) == {("10.208.0.7", 10_001): [("10.200.0.5", 20_001)]}


def test_the_service_of_the_api_server_leads_to_it() -> None:
    """No pod is behind it."""
    service = _service("kubernetes", "10.208.0.1", {"name": "https", "port": 443}, namespace="default")
    assert routes([service], [], API) == {("10.208.0.1", 443): [API]}


def test_a_service_without_a_ready_pod_refuses_connections() -> None:
    """As kube-proxy does: a client that is let in and cut off would give up instead of trying again."""
    service = _service("head", "10.208.0.7", {"name": "client", "port": 10_001})
    assert routes([service], [], API) == {}


def test_services_without_an_address_and_other_protocols_are_left_alone() -> None:
    """Names of headless Services lead to their pods by themselves."""
    headless = _service("workers", "None", {"port": 80})
    names = _service("dns", "10.208.0.9", {"port": 53, "protocol": "UDP"})
    assert routes([headless, names], [], API) == {}


def test_every_lab_has_service_addresses_of_its_own() -> None:
    """Labs that run side by side share no address."""
    networks = [of(Ports(base)) for base in range(FIRST, LAST, SIZE)]
    ranges = [each.services for each in networks]
    assert len(set(ranges)) == len(ranges)
    assert all(each.subnet_of(SERVICES) for each in ranges)
    assert all(not first.overlaps(second) for first, second in pairwise(ranges))
    assert networks[0].api == "10.208.0.1"


def test_hierarchies_are_mounted_as_the_machine_has_them() -> None:
    """A controller, a named one without controllers, and version 2."""
    assert mounting("memory") == ["-t", "cgroup", "-o", "memory", "cgroup"]
    assert mounting("systemd") == ["-t", "cgroup", "-o", "none,name=systemd", "cgroup"]
    assert mounting("unified") == ["-t", "cgroup2", "cgroup2"]
