"""The real kube-scheduler and extender run with the chart's own settings, roles and certificates.

Only what a container would bring is replaced: the folders of mounted files, and the address of the Service.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.lab.chart import CHART, NAMESPACE

pytestmark = pytest.mark.lab

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "placed"},
    "spec": {
        "schedulerName": "slackwater",
        "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where mounted files lie."""
    return tmp_path_factory.mktemp("mounts")


@pytest.fixture(scope="module")
def running(lab: Any, folder: Path) -> Iterator[str]:
    """Extender and scheduler as the chart describes them; yields the extender's URL."""
    from slackwater_lab.programs.build import built  # noqa: PLC0415 - needs the lab
    from support.lab.chart import call  # noqa: PLC0415
    from support.lab.hooks import account, eventually  # noqa: PLC0415
    from support.lab.session import Kube  # noqa: PLC0415

    where = ("--namespace", NAMESPACE, "--kubeconfig", str(lab.site.kubeconfig))
    done = call("install", "slackwater", str(CHART), *where, "--create-namespace", "--no-hooks", seconds=120)
    assert done.returncode == 0, done.stderr
    url = lab.site.url("extender", "https")
    with Kube(lab.site) as kube:
        for name in ("extender", "scheduler"):
            secret(kube, name, folder / f"{name}-tls")
        settings = file(kube, "extender", folder)
        settings["server"] = {"host": "127.0.0.1", "port": lab.site.ports["extender"]}
        settings["tls"] |= {
            key: str(folder / "extender-tls" / Path(value).name)
            for key, value in settings["tls"].items()
            if key != "client_names"
        }
        settings["kubeconfig"] = str(account(lab.site, kube, "slackwater-extender", folder))
        (folder / "extender.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        lab.processes.start(
            "extender", [sys.executable, "-m", "slackwater_extender.main", "--config", str(folder / "extender.yaml")]
        )
        eventually(lambda: ready(url, folder), 30, lambda: lab.processes.tail("extender", 20))

        config = file(kube, "scheduler", folder)
        config["clientConnection"]["kubeconfig"] = str(account(lab.site, kube, "slackwater-scheduler", folder))
        block = config["extenders"][0]
        block["urlPrefix"] = url
        block["httpTimeout"] = "5s"  # two cores shared with a whole cluster
        block["tlsConfig"] |= {
            key: str(folder / "scheduler-tls" / Path(block["tlsConfig"][key]).name)
            for key in ("caFile", "certFile", "keyFile")
        }
        (folder / "scheduler.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        deployment = kube.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/slackwater-scheduler").body
        command = deployment["spec"]["template"]["spec"]["containers"][0]["command"]
        swapped = {
            "--config=/etc/slackwater/scheduler.yaml": f"--config={folder / 'scheduler.yaml'}",
            "--secure-port=10259": f"--secure-port={lab.site.ports['slackwater-scheduler']}",
        }
        lab.processes.start(
            "slackwater-scheduler",
            [built("kube-scheduler"), *(swapped.get(word, word) for word in command[1:]), "--bind-address=127.0.0.1"],
        )
        eventually(
            lambda: kube.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/slackwater-scheduler").ok,
            30,
            lambda: lab.processes.tail("slackwater-scheduler", 20),
        )
    yield url
    lab.processes.stop("slackwater-scheduler")
    lab.processes.stop("extender")
    call("uninstall", "slackwater", *where, "--no-hooks", seconds=120)


def secret(kube: Any, name: str, folder: Path) -> None:
    """Mount a Secret of the chart."""
    data = kube.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/slackwater-{name}-tls").body["data"]
    folder.mkdir()
    for key, value in data.items():
        (folder / key).write_bytes(base64.b64decode(value))


def file(kube: Any, name: str, folder: Path) -> dict[str, Any]:
    """The settings file in one of the chart's ConfigMaps."""
    data = kube.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/slackwater-{name}").body["data"]
    found: dict[str, Any] = yaml.safe_load(data[f"{name}.yaml"])
    return found


def trusted(folder: Path) -> ssl.SSLContext:
    """Verifies the extender as the chart's programs do, but for the name: the test asks by address."""
    made = ssl.create_default_context(cafile=str(folder / "extender-tls" / "ca.crt"))
    made.check_hostname = False
    return made


def ask(url: str, context: ssl.SSLContext, body: Any = None, token: str = "") -> tuple[int, Any]:
    """Status and answer."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    data = None if body is None else json.dumps(body).encode()
    try:
        request = urllib.request.Request(url, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=5, context=context) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


def ready(url: str, folder: Path) -> bool:
    """Whether the extender says it is ready."""
    try:
        return ask(f"{url}/readyz", trusted(folder))[0] == 200
    except OSError:
        return False


def decisions(url: str, folder: Path, namespace: str) -> list[dict[str, Any]]:
    """What the extender decided about pods of a namespace."""
    found: list[dict[str, Any]] = ask(f"{url}/v1/decisions?namespace={namespace}", trusted(folder))[1]["decisions"]
    return found


def test_a_pod_is_placed_through_the_chart_s_own_scheduler(lab: Any, kube: Any, running: str, folder: Path) -> None:
    """Scheduler and extender trust each other's certificates, and both accounts have the rights they need."""
    from support.lab.hooks import eventually  # noqa: PLC0415 - needs the lab

    namespace = kube.namespace("placing", slackwater_io__managed="true")
    pods = f"/api/v1/namespaces/{namespace}/pods"
    assert kube.post(pods, POD).ok
    eventually(
        lambda: bool(kube.get(f"{pods}/placed").body["spec"].get("nodeName")),
        30,
        lambda: lab.processes.tail("slackwater-scheduler", 20),
    )
    assert "placed" in {each["pod"] for each in decisions(running, folder, namespace)}
    for program in ("extender", "slackwater-scheduler"):
        log = lab.processes.log(program).read_text(encoding="utf-8")
        assert "forbidden" not in log.lower(), [line for line in log.splitlines() if "orbidden" in line][:3]


def test_strangers_are_turned_away(running: str, folder: Path) -> None:
    """Without certificate and token a question is not answered."""
    assert ask(f"{running}/filter", trusted(folder), {})[0] == 401


def test_a_certificate_of_another_name_is_turned_away(running: str, folder: Path) -> None:
    """The extender's own certificate is signed by the same authority, and still no way in."""
    context = trusted(folder)
    context.load_cert_chain(folder / "extender-tls" / "tls.crt", folder / "extender-tls" / "tls.key")
    assert ask(f"{running}/filter", context, {})[0] == 401


@pytest.mark.parametrize(
    ("account", "audiences", "status"),
    [
        ("slackwater-operator", ["slackwater-extender"], 200),
        ("slackwater-operator", [], 401),
        ("slackwater-scheduler", ["slackwater-extender"], 401),
    ],
    ids=["the operator", "a token for the API server", "another account"],
)
def test_tokens_are_looked_at(
    kube: Any, running: str, folder: Path, account: str, audiences: list[str], status: int
) -> None:
    """Only the operator's token, and only one made for the extender."""
    spec = {"expirationSeconds": 3600, **({"audiences": audiences} if audiences else {})}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    granted = kube.post(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token", body).body
    token = granted["status"]["token"]
    assert ask(f"{running}/v1/unreserve", trusted(folder), {"uids": []}, token)[0] == status


def test_the_script_of_helm_test_is_content(running: str, folder: Path) -> None:
    """It runs as shipped, but for the name in the certificate: here it must ask by address."""
    spec = importlib.util.spec_from_file_location("probe", CHART / "files" / "hooks" / "probe.py")
    assert spec
    assert spec.loader
    probe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(probe)
    assert probe.problems(running, trusted(folder)) == []
    assert "does not answer" in probe.problems(running, ssl.create_default_context())[0]
