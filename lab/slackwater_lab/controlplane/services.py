"""The project's own programs in the lab, each with the token of its own service account.

Extender, operator, and the webhook where the API server has no MutatingAdmissionPolicy.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_lab.controlplane.access import write_kubeconfig
from slackwater_lab.controlplane.chart import NAMESPACE, WEBHOOK
from slackwater_lab.controlplane.prometheus import seconds
from slackwater_lab.processes.waiting import answers
from slackwater_lab.site import Site

OPERATORS = ("operator", "operator-2")  # the second waits for the first to fall
EXTENDERS = ("extender", "extender-2")  # the second is there in an upgrade
SERVICES = (*EXTENDERS, *OPERATORS, WEBHOOK)


def command(name: str) -> list[str]:
    """The command line of a program: its console script, or its module where the scripts were not made anew."""
    if name == WEBHOOK:
        return [sys.executable, "-m", "slackwater_operator.webhook"]
    script = Path(sys.executable).with_name(f"slackwater-{kind(name)}")
    return [str(script)] if script.exists() else [sys.executable, "-m", f"slackwater_{kind(name)}.main"]


def available(name: str) -> bool:
    """Whether the program can be started."""
    package = f"slackwater_{'operator' if name == WEBHOOK else kind(name)}"
    return find_spec(package) is not None and find_spec(f"{package}.main") is not None


def environment(site: Site, name: str, kubeconfig: Path, measured: bool, scrape: str = "2s") -> dict[str, str]:
    """The settings of a program in this lab; `measured` says whether there is a Prometheus to ask.

    Rates are taken over five scrapes: a pod that has ended is still in them for as long.
    """
    program = kind(name)
    settings = {"KUBECONFIG": str(kubeconfig), "LOG_FORMAT": "console"}
    if program == WEBHOOK:
        files = {ending: str(site.certificates / f"{WEBHOOK}.{ending}") for ending in ("crt", "key")}
        settings |= {"PORT": str(site.ports[name]), "CERTIFICATE": files["crt"], "KEY": files["key"]}
    elif program == "extender":
        settings |= {"SERVER__HOST": "127.0.0.1", "SERVER__PORT": str(site.ports[name])}
        window = str(5 * seconds(scrape))
        settings |= {"PROMETHEUS__URL": site.url("prometheus"), "PROMETHEUS__WINDOW": window} if measured else {}
    else:
        settings |= {
            "HOST": "127.0.0.1",
            "METRICS_PORT": str(site.ports[name]),
            "HEALTH_PORT": str(site.ports[f"{name}-health"]),
            "EXTENDER_URL": site.url("extender"),
            "NAMESPACE": NAMESPACE,
            "IDENTITY": name,
        }
    return {f"SLACKWATER_{program.upper()}_{key}": value for key, value in settings.items()}


def healthy(site: Site, name: str) -> bool:
    """Whether the program can do its work: the extender has its lists, the operator is alive."""
    if name in EXTENDERS:
        return answers(f"{site.url(name)}/readyz")
    if name == WEBHOOK:
        return answers(f"{site.url(name, 'https')}/readyz")
    return answers(f"{site.url(f'{name}-health')}/healthz")


def kubeconfig(site: Site, name: str, api: ApiClient) -> Path:
    """A way in for the service account that the chart made for a program, so that its role is put to the test.

    Without the chart there is no such account, and the program gets the administrator's.
    """
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/slackwater-{kind(name)}"
    if api.find(account) is None:
        return site.kubeconfig
    path = site.folder / "config" / f"{name}.kubeconfig"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_kubeconfig(site, path, _token(api, account))
    return path


def _token(api: ApiClient, account: str) -> str:
    day = {"expirationSeconds": 86_400}
    granted = api.create(
        f"{account}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": day}
    )
    if granted is None:
        raise Unavailable(f"the API server gave no token for {account}")
    return str(granted["status"]["token"])


def kind(name: str) -> str:
    """Which of our programs it is."""
    return "operator" if name in OPERATORS else "extender" if name in EXTENDERS else name
