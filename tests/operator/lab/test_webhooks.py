"""A mutating webhook that injects a sidecar runs after our policy: what that means, on a real API server."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytestmark = pytest.mark.lab

NAMESPACE = "meshed"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
SIDECAR = {"name": "proxy", "image": "none", "resources": {"requests": {"cpu": "500m", "memory": "128Mi"}}}


class Injector(BaseHTTPRequestHandler):
    """Adds one container to every pod, as service meshes do."""

    def do_POST(self) -> None:
        """Answer an AdmissionReview with a JSON patch."""
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        patch = json.dumps([{"op": "add", "path": "/spec/containers/-", "value": SIDECAR}]).encode()
        response = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch"}
        response["patch"] = base64.b64encode(patch).decode()
        body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def injector(lab: Any, kube: Any) -> Iterator[None]:
    """A webhook server that the API server trusts, registered for one namespace."""
    from slackwater_lab.controlplane.certificates import serving  # noqa: PLC0415 - needs the lab

    folder = lab.site.certificates
    serving(folder, "webhook", "IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "webhook.crt", folder / "webhook.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Injector)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    assert kube.apply(registration(server.server_address[1], (folder / "ca.crt").read_bytes()), CONFIGURATIONS).ok
    yield
    kube.delete(f"{CONFIGURATIONS}/injector")
    server.shutdown()
    server.server_close()
    thread.join()


def registration(port: int, authority: bytes) -> dict[str, Any]:
    """The webhook's registration."""
    client = {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(authority).decode()}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "injector"},
        "webhooks": [
            {
                "name": "injector.example.com",
                "clientConfig": client,
                "rules": rules,
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
            }
        ],
    }


@pytest.mark.usefixtures("injector")
def test_injected_sidecars_are_neither_declared_nor_shrunk(kube: Any) -> None:
    """The sidecar keeps its request and is missing in the annotation; D is clamped to at least N when it is read."""
    from support.lab.session import until  # noqa: PLC0415 - needs the lab

    policy = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy", "metadata": {"name": "meshed"}}
    assert kube.apply({**policy, "spec": {"mode": "enforce"}}, "/apis/slackwater.io/v1alpha1/slackpolicies").ok
    kube.namespace(NAMESPACE, slackwater_io__managed="true", slackwater_io__policy="meshed")
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "task", "labels": {"slackwater.io/role": "task"}},
        "spec": {"containers": [{"name": "m", "image": "none", "resources": {"requests": {"cpu": "2"}}}]},
    }
    where = f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All"

    def both_acted() -> bool:
        spec = kube.post(where, body).body["spec"]
        return bool(spec.get("schedulingGates")) and len(spec["containers"]) == 2

    until(both_acted)
    stored = kube.post(where, body).body
    asked = {each["name"]: each["resources"]["requests"]["cpu"] for each in stored["spec"]["containers"]}
    assert asked == {"m": "1", "proxy": "500m"}
    assert stored["metadata"]["annotations"]["slackwater.io/declared-cpu"] == "2000m"
