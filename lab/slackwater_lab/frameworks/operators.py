"""The operators of the frameworks as processes of the lab, with the custom resources that they serve."""

import base64
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from slackwater.errors import Unavailable, UnknownName
from slackwater_cluster.api.client import ApiClient
from slackwater_lab.controlplane import certificates
from slackwater_lab.frameworks import layers, sparkoperator
from slackwater_lab.lab import Lab
from slackwater_lab.nodes import clusternet, network
from slackwater_lab.processes.command import run
from slackwater_lab.processes.ports import free
from slackwater_lab.processes.waiting import until, until_serving
from slackwater_lab.programs.build import Report, built, cache, go
from slackwater_lab.programs.programs import MODULES, program

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOLDERS = {  # where a module keeps its custom resources
    "kuberay": "config/crd/bases",
    "jobset": "config/components/crd/bases",
    "argo": "manifests/base/crds/minimal",
    "spark-operator": "config/crd/bases",
    "mpi-operator": "manifests/base",
    "trainer": "manifests/base/crds",
}
WEBHOOKS = {  # of those whose webhooks the API server calls on this machine
    "jobset": "config/components/webhook/manifests.yaml",
    "trainer": "manifests/base/webhook/manifests.yaml",
}
ARGO_NAMESPACE, MPI_NAMESPACE = "argo", "mpi-operator"
# Argo's own settings: no port for metrics, because the lab's Prometheus does not ask for them.
ARGO_SETTINGS = {"metricsConfig": "enabled: false\n", "telemetryConfig": "enabled: false\n"}
OF_JOBSET = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}


def start(lab: Lab, name: str, report: Report) -> None:
    """Start an operator, with its custom resources in place."""
    if name not in _COMMANDS:
        raise UnknownName("operator", name, list(_COMMANDS))
    with lab.api() as api:
        define(api, definitions(name))
        if name == "argo":
            _configure_argo(api)
        if name == "mpi-operator":  # where it elects its leader
            create(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": MPI_NAMESPACE}})
    environment = {"KUBECONFIG": str(lab.site.kubeconfig), "LEADER_ELECTION_DISABLE": "true"}  # the second is Argo's
    if name == "spark-operator":
        environment |= sparkoperator.environment(lab.site)
    if name == "trainer":  # where it looks for its certificate, in a folder that has a fixed name
        environment["TMPDIR"] = str(lab.site.folder / "trainer")
    lab.processes.start(name, _COMMANDS[name](lab), environment)
    if name in WEBHOOKS:
        _register_webhooks(lab, name)
    if name == "spark-operator":
        _start_spark_webhook(lab, environment)
    report(f"operator {name} {version(name)}")


def define(api: ApiClient, bodies: Iterable[Mapping[str, Any]]) -> None:
    """Create custom resource definitions, and wait until each is served."""
    for body in bodies:
        api.create(DEFINITIONS, body)
        until(f"{body['metadata']['name']} is served", partial(_served, api, body["spec"]), 60.0)


def _served(api: ApiClient, spec: Mapping[str, Any]) -> bool:
    """Whether each version is stored and discovered: a controller that does not find a kind at its start gives up."""
    plural = spec["names"]["plural"]
    bases = [f"/apis/{spec['group']}/{version['name']}" for version in spec["versions"] if version["served"]]
    try:
        return all(plural in _kinds(api, base) and api.find(f"{base}/{plural}") is not None for base in bases)
    except Unavailable:  # its storage is being set up
        return False


def _kinds(api: ApiClient, base: str) -> set[str]:
    return {each["name"] for each in (api.find(base) or {}).get("resources", [])}


def version(name: str) -> str:
    """The version that runs."""
    return layers.DASK_OPERATOR if name == "dask-operator" else program(name).version


def definitions(name: str) -> list[dict[str, Any]]:
    """The custom resources of an operator, from its own source."""
    folder = _dask_folder() if name == "dask-operator" else module(name) / FOLDERS[name]
    found = []
    for path in sorted(folder.glob("*.yaml")):
        found += [body for body in yaml.safe_load_all(path.read_text()) if _defines(body)]
    return [_accepting(body) for body in found] if name == "dask-operator" else found


def _defines(body: object) -> bool:
    """Whether this is a definition, and no patch or other object that stands beside it."""
    return isinstance(body, dict) and body.get("kind") == "CustomResourceDefinition"


def _accepting(body: dict[str, Any]) -> dict[str, Any]:
    """Dask's source refers to schemas elsewhere, which only its releases fill in; here every field is accepted."""
    for version in body["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return body


def module(name: str) -> Path:
    """Where Go keeps the source of a program's module."""
    item = program(name)
    return Path(run([go(), "list", "-m", "-f", "{{.Dir}}", item.module], MODULES / item.folder).strip())


def _kuberay(lab: Lab) -> list[str]:
    """It asks Ray's heads how jobs fare through the API server: names of Services are not known on this machine."""
    return [
        built("kuberay"),
        f"-metrics-addr=127.0.0.1:{lab.site.ports['kuberay']}",
        f"-health-probe-bind-address=127.0.0.1:{lab.site.ports['kuberay-health']}",
        "-enable-leader-election=false",
        "-use-kubernetes-proxy=true",
    ]


def _jobset(lab: Lab) -> list[str]:
    """Its webhooks listen on this machine."""
    folder = lab.site.folder / "jobset"
    _certify(lab, "jobset", folder)
    config = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": lab.site.ports["jobset"], "certDir": str(folder)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }
    return [built("jobset"), f"--config={lab.site.write('jobset.yaml', yaml.safe_dump(config))}"]


def _trainer(lab: Lab) -> list[str]:
    """It makes JobSets, so JobSet must run before it; its webhooks listen on this machine."""
    _certify(lab, "trainer", lab.site.folder / "trainer" / "k8s-webhook-server" / "serving-certs")
    config = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": lab.site.ports["trainer"]},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }
    return [built("trainer"), f"--config={lab.site.write('trainer.yaml', yaml.safe_dump(config))}"]


def _certify(lab: Lab, name: str, folder: Path) -> None:
    """A certificate of the lab's authority for webhooks on this machine, in files as controllers look for them."""
    folder.mkdir(parents=True, exist_ok=True)
    certificates.serving(lab.site.certificates, name, "IP:127.0.0.1")
    for ending in ("key", "crt"):
        shutil.copy(lab.site.certificates / f"{name}.{ending}", folder / f"tls.{ending}")


def _argo(lab: Lab) -> list[str]:
    """Simulated nodes run no container, so its executor's image need not exist."""
    access = [f"--kubeconfig={lab.site.kubeconfig}", f"--namespace={ARGO_NAMESPACE}"]
    return [built("argo"), *access, "--executor-image=none"]


def _configure_argo(api: ApiClient) -> None:
    """It wants its settings in a ConfigMap, and reads them before anything else."""
    settings = {"name": "workflow-controller-configmap", "namespace": ARGO_NAMESPACE}
    create(
        api,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ARGO_NAMESPACE}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": settings, "data": ARGO_SETTINGS},
    )


def _register_webhooks(lab: Lab, name: str) -> None:
    """Let the API server call the process; pods of others are none of its business."""
    port = lab.site.ports[name]
    until_serving(lab.processes, name, lambda: not free(port))
    authority = base64.b64encode((lab.site.certificates / "ca.crt").read_bytes()).decode()
    written = (module(name) / WEBHOOKS[name]).read_text()
    with lab.api() as api:
        for body in filter(None, yaml.safe_load_all(written)):
            body["metadata"]["name"] = f"{name}-{body['metadata']['name']}"
            for hook in body["webhooks"]:
                path = hook["clientConfig"]["service"]["path"]
                hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": authority}
                if "pod" in path:
                    hook["objectSelector"] = OF_JOBSET
            create(api, body)


def _mpi(lab: Lab) -> list[str]:
    """All namespaces; its health port, 8080, cannot be chosen."""
    del lab
    return [built("mpi-operator"), "-namespace=", f"-lock-namespace={MPI_NAMESPACE}"]


def _spark(lab: Lab) -> list[str]:
    del lab
    return sparkoperator.controller()


def _start_spark_webhook(lab: Lab, environment: Mapping[str, str]) -> None:
    """It is a process of its own; without it pods lack what only the webhook puts into them."""
    with lab.api() as api:
        create(api, *sparkoperator.objects(lab.site, module("spark-operator")))
        lab.processes.start(sparkoperator.SERVICE, sparkoperator.webhook(lab.site), environment)
        until_serving(lab.processes, sparkoperator.SERVICE, lambda: sparkoperator.trusted(api))


def _dask(lab: Lab) -> list[str]:
    """For adaptive clusters it asks Dask's scheduler by the name of its Service."""
    python = _dask_environment() / "bin" / "python"
    names = clusternet.resolving(lab.site, network.of(lab.site.ports))
    return [*names, str(python), "-m", "kopf", "run", "-A", "--standalone", "-m", "dask_kubernetes.operator.controller"]


def _dask_environment() -> Path:
    """A virtual environment of its own: the operator's packages are none of ours."""
    folder = cache() / "frameworks" / f"dask-operator-{layers.DASK_OPERATOR}"
    if not (folder / "complete").exists():
        run([sys.executable, "-m", "venv", "--clear", str(folder)])
        run([str(folder / "bin" / "python"), "-m", "pip", "-q", "install", f"dask-kubernetes=={layers.DASK_OPERATOR}"])
        (folder / "complete").touch()
    return folder


def _dask_folder() -> Path:
    [found] = _dask_environment().glob("lib/python*/site-packages/dask_kubernetes/operator/customresources")
    return found


_COMMANDS: dict[str, Callable[[Lab], list[str]]] = {
    "kuberay": _kuberay,
    "dask-operator": _dask,
    "jobset": _jobset,
    "argo": _argo,
    "spark-operator": _spark,
    "mpi-operator": _mpi,
    "trainer": _trainer,
}


def create(api: ApiClient, *bodies: Mapping[str, object]) -> None:
    """Create objects of the kinds that the suite uses."""
    for body in bodies:
        api.create(_path(body), body)


def _path(body: Mapping[str, object]) -> str:
    metadata = body["metadata"]
    assert isinstance(metadata, dict)  # noqa: S101 - every object has it
    version, kind = str(body["apiVersion"]), str(body["kind"])
    base = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    space = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{base}{space}/{kind.lower()}s"
