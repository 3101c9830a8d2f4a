"""The lab's API server through the client that commands use, as its administrator; what does not exist is None."""

import ssl
from collections.abc import Mapping
from typing import Any, Self

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.session import STRATEGIC
from slackwater_lab.controlplane.access import administrator_token
from slackwater_lab.site import Site

Object = dict[str, Any]
# Seconds for one answer: a control plane that has just begun, on a small machine.
TIMEOUT = 30.0


def endpoint(site: Site) -> Endpoint:
    """Where the lab's API server is, and its administrator's token."""
    trusted = ssl.create_default_context(cafile=str(site.certificates / "ca.crt"))
    headers = {"Authorization": f"Bearer {administrator_token(site)}"}
    return Endpoint(site.url("apiserver", "https"), trusted, lambda: headers)


class Api:
    """A session with an API server: the lab's, or the one given."""

    def __init__(self, site: Site | Endpoint) -> None:
        self._client = ApiClient(endpoint(site) if isinstance(site, Site) else site, timeout=TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str, **query: str) -> Object | None:
        """An object or a list; None when it does not exist."""
        return self._client.find(path, query)

    def text(self, path: str, **query: str) -> str:
        """What is not JSON: the log of a pod; nothing where there is none."""
        try:
            return self._client.text(path, query)
        except Unavailable:
            return ""

    def create(self, path: str, body: Mapping[str, Any]) -> Object | None:
        """Create an object; None when one of that name exists already."""
        return self._client.create(path, dict(body))

    def patch(self, path: str, body: Mapping[str, Any], kind: str = STRATEGIC) -> Object:
        """Change part of an object."""
        changed: Object = self._client.patch(path, dict(body), kind)
        return changed

    def delete(self, path: str, **query: str) -> None:
        """Delete an object or a collection; one that does not exist is as good as deleted."""
        self._client.delete(path, query)

    def ready(self) -> bool:
        """Whether the API server says that it is ready."""
        return self._client.ready()
