"""The project's own programs in the lab: extender and operator, each as its own service account."""

import shutil
import sys
from pathlib import Path

from slackwater_lab.access import write_kubeconfig
from slackwater_lab.api import Api
from slackwater_lab.chart import NAMESPACE
from slackwater_lab.site import Site
from slackwater_lab.waiting import answers

HEALTH = {"extender": ("extender", "/healthz"), "operator": ("operator-health", "/healthz")}


def script(name: str) -> str | None:
    """The console script of a program, if it is installed beside this Python or on the path."""
    beside = Path(sys.executable).with_name(f"slackwater-{name}")
    return str(beside) if beside.exists() else shutil.which(f"slackwater-{name}")


def available(name: str) -> bool:
    """Whether the program can be started."""
    return script(name) is not None


def command(name: str) -> list[str]:
    """Its command line; everything else it learns from its environment."""
    return [script(name) or f"slackwater-{name}"]


def environment(site: Site, name: str, api: Api) -> dict[str, str]:
    """The settings of a program in this lab; each reads those under its own prefix."""
    settings = {
        "KUBECONFIG": str(_kubeconfig(site, name, api)),
        "SERVER__HOST": "127.0.0.1",
        "SERVER__PORT": str(site.ports[name]),
        "PROMETHEUS__URL": site.url("prometheus"),
        "EXTENDER__URL": site.url("extender"),
        "HEALTH__PORT": str(site.ports["operator-health"]),
        "LOG_FORMAT": "console",
    }
    prefix = f"SLACKWATER_{name.upper()}_"
    return {"KUBECONFIG": settings["KUBECONFIG"]} | {f"{prefix}{key}": value for key, value in settings.items()}


def healthy(site: Site, name: str) -> bool:
    """Whether the program says that it is well."""
    port, path = HEALTH[name]
    return answers(f"{site.url(port)}{path}")


def _kubeconfig(site: Site, name: str, api: Api) -> Path:
    # With the chart installed, the program gets a token of its own account, so that its role is put to the test.
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/slackwater-{name}"
    if api.get(account) is None:
        return site.kubeconfig
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}}
    granted = api.create(f"{account}/token", request) or {}
    path = site.folder / "config" / f"{name}.kubeconfig"
    write_kubeconfig(site, path, granted["status"]["token"])
    return path
