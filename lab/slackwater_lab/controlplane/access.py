"""Who may talk to the API server: the administrator's token and client, and kubeconfig files for others."""

import secrets
import ssl
from pathlib import Path

import yaml

from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_lab.site import Site

ADMINISTRATOR = "lab-admin"
# Seconds for one answer: a control plane that has just begun, on a small machine.
TIMEOUT = 30.0


def ensure(site: Site) -> None:
    """Make the administrator's token and kubeconfig if they are not there."""
    tokens = site.folder / "tokens.csv"
    if not tokens.exists():
        tokens.touch(mode=0o600)
        tokens.write_text(f"{secrets.token_urlsafe(24)},{ADMINISTRATOR},{ADMINISTRATOR},system:masters\n")
    write_kubeconfig(site, site.kubeconfig, administrator_token(site))


def administrator_token(site: Site) -> str:
    """The token that may do everything."""
    return (site.folder / "tokens.csv").read_text().partition(",")[0]


def endpoint(site: Site) -> Endpoint:
    """Where the lab's API server is, and its administrator's token."""
    trusted = ssl.create_default_context(cafile=str(site.certificates / "ca.crt"))
    headers = {"Authorization": f"Bearer {administrator_token(site)}"}
    return Endpoint(site.url("apiserver", "https"), trusted, lambda: headers)


def client(site: Site) -> ApiClient:
    """The API server as its administrator sees it."""
    return ApiClient(endpoint(site), timeout=TIMEOUT)


def write_kubeconfig(site: Site, path: Path, token: str) -> None:
    """A kubeconfig for one bearer of a token."""
    name = f"slackwater-lab-{site.name}"
    cluster = {
        "server": site.url("apiserver", "https"),
        "certificate-authority": str(site.certificates / "ca.crt"),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.touch(mode=0o600)
    text = yaml.safe_dump(config, sort_keys=False)
    if path.read_text() != text:  # some programs watch the file and start over when it is written to
        path.write_text(text)
