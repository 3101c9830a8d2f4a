"""Certificates by cert-manager: what the chart asks for, mounts and registers fits together.

Nobody of cert-manager runs here. What it does with the chart's objects is done by openssl
(`support/fakes/certmanager.py`), and the programs' ends of a connection shake hands with what came of it.
"""

from __future__ import annotations

import base64
import shutil
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from support.fakes.certmanager import KEYS, CertManager
from support.handshakes import serving, shake_hands
from support.lab.chart import CHART, Object, call, named, pod_specs

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")

HOUSE = "tls.certManager.issuerRef.name=house,tls.certManager.issuerRef.kind=ClusterIssuer"
# Who signs, and the namespace of the release.
CASES = {
    "authority of ours": ("", "slackwater-system"),
    "issuer of the cluster": (HOUSE, "slackwater-system"),
    "another namespace": ("tls.clientName=caller,clusterDomain=cluster.example", "elsewhere"),
}
MADE: dict[str, list[Object]] = {}


@pytest.fixture(params=CASES)
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> CertManager:
    """Cert-manager, and a release that relies on it."""
    return CertManager(tmp_path, rendered(request.param), outside=("house",))


def rendered(name: str) -> list[Object]:
    """The objects of a case on a cluster whose pods are changed by the webhook."""
    if name not in MADE:
        more, namespace = CASES[name]
        values = f"tls.mode=certManager,policy.spec.mode=enforce,{more}".rstrip(",")
        line = ("slackwater", str(CHART), "--namespace", namespace, "--kube-version", "1.34.4", f"--set={values}")
        done = call("template", *line)
        assert done.returncode == 0, done.stderr
        MADE[name] = [each for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]
    return MADE[name]


def mounted(manager: CertManager, who: str) -> Path:
    """The folder that a program has under /tls."""
    volumes = pod_specs(manager.items)[f"Deployment/slackwater-{who}"]["volumes"]
    (secret,) = [each["secret"] for each in volumes if each["name"] == "tls"]
    assert {each["key"] for each in secret.get("items", [])} <= KEYS
    return manager.secret(secret["secretName"])


def test_every_secret_that_is_mounted_is_asked_for(manager: CertManager) -> None:
    """By one Certificate in the pods' own namespace; a pod would else wait for its volume for ever."""
    asked = {
        (each["metadata"]["namespace"], each["spec"]["secretName"])
        for each in manager.items
        if each["kind"] == "Certificate"
    }
    used = {
        (each["metadata"]["namespace"], volume["secret"]["secretName"])
        for each in manager.items
        if each["kind"] == "Deployment"
        for volume in each["spec"]["template"]["spec"].get("volumes") or []
        if "secret" in volume
    }
    assert len(used) == 3
    assert used <= asked
    assert not [each for each in manager.items if each["kind"] == "Secret"]


def test_api_servers_believe_the_webhook(manager: CertManager) -> None:
    """By the Service's name that they call, and the authority that is written into the registration later."""
    for hook in manager.injected("slackwater-pods"):
        called, bundle = hook["clientConfig"]["service"], hook["clientConfig"]["caBundle"]
        service = named(manager.items, "Service", called["name"])
        assert service["metadata"]["namespace"] == called["namespace"]
        assert behind(manager, service) == ["slackwater-webhook"]
        believing = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
        name = f"{called['name']}.{called['namespace']}.svc"
        shake_hands(serving(mounted(manager, "webhook")), believing, name)


def behind(manager: CertManager, service: Object) -> list[str]:
    """The Deployments whose pods a Service chooses."""
    wanted = service["spec"]["selector"].items()
    return [
        each["metadata"]["name"]
        for each in manager.items
        if each["kind"] == "Deployment" and wanted <= each["spec"]["template"]["metadata"]["labels"].items()
    ]


def test_an_upgrade_leaves_the_written_authority_where_it_is() -> None:
    """The registration names none: helm would own the field and empty it each time, until somebody writes it again."""
    for name in CASES:
        hooks = named(rendered(name), "MutatingWebhookConfiguration", "slackwater-pods")["webhooks"]
        assert [set(each["clientConfig"]) for each in hooks] == [{"service"}] * 2


def test_scheduler_and_extender_believe_each_other(manager: CertManager) -> None:
    """The name in the scheduler's configuration, and the client whom the extender expects."""
    (block,) = yaml.safe_load(configured(manager, "scheduler"))["extenders"]
    expected = yaml.safe_load(configured(manager, "extender"))["tls"]["client_names"]
    pair, own = mounted(manager, "scheduler"), mounted(manager, "extender")
    client = ssl.create_default_context(cafile=str(pair / "ca.crt"))
    client.load_cert_chain(pair / "tls.crt", pair / "tls.key")
    seen = shake_hands(serving(own, own / "ca.crt"), client, block["tlsConfig"]["serverName"]).getpeercert()
    assert seen
    assert (("commonName", expected[0]),) in seen["subject"]
    assert urlsplit(block["urlPrefix"]).hostname == block["tlsConfig"]["serverName"]


def configured(manager: CertManager, who: str) -> str:
    """The file that a program is started with."""
    text: str = named(manager.items, "ConfigMap", f"slackwater-{who}")["data"][f"{who}.yaml"]
    return text


def test_the_operator_believes_the_extender(manager: CertManager) -> None:
    """It has the authority alone, and calls by the address in its settings."""
    container = pod_specs(manager.items)["Deployment/slackwater-operator"]["containers"][0]
    address = {each["name"]: each.get("value") for each in container["env"]}["SLACKWATER_OPERATOR_EXTENDER_URL"]
    client = ssl.create_default_context(cafile=str(mounted(manager, "operator") / "ca.crt"))
    shake_hands(serving(mounted(manager, "extender")), client, str(urlsplit(address).hostname))


def test_a_servers_certificate_proves_no_caller(manager: CertManager) -> None:
    """What is good for servers is not good for clients: a stolen one of the webhook asks the extender nothing."""
    own, stolen = mounted(manager, "extender"), mounted(manager, "webhook")
    client = ssl.create_default_context(cafile=str(own / "ca.crt"))
    client.load_cert_chain(stolen / "tls.crt", stolen / "tls.key")
    with pytest.raises(ssl.SSLError, match=r"certificate.verify.failed: un\w+ certificate purpose"):
        shake_hands(serving(own, own / "ca.crt"), client, "slackwater-extender")
