"""The little of the Kubernetes API that the lab itself needs: a verified session with readable errors."""

import json
import ssl
from collections.abc import Mapping
from typing import Any, Self

import httpx2

from slackwater.errors import Unavailable
from slackwater_lab.controlplane.access import administrator_token
from slackwater_lab.site import Site

Object = dict[str, Any]
STRATEGIC = "application/strategic-merge-patch+json"


class Api:
    """A session with the lab's API server, as its administrator."""

    def __init__(self, site: Site) -> None:
        trusted = ssl.create_default_context(cafile=str(site.certificates / "ca.crt"))
        self._session = httpx2.Client(
            base_url=site.url("apiserver", "https"),
            verify=trusted,
            headers={"Authorization": f"Bearer {administrator_token(site)}"},
            timeout=30.0,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def get(self, path: str, **query: str) -> Object | None:
        """An object or a list; None when it does not exist."""
        reply = self._session.get(path, params=query)
        return None if reply.status_code == 404 else _read(reply)

    def text(self, path: str, **query: str) -> str:
        """What is not JSON: the log of a pod."""
        reply = self._session.get(path, params=query)
        return "" if reply.is_error else reply.text

    def create(self, path: str, body: Mapping[str, Any]) -> Object | None:
        """Create an object; None when one of that name exists already."""
        reply = self._session.post(path, json=dict(body))
        return None if reply.status_code == 409 else _read(reply)

    def patch(self, path: str, body: Mapping[str, Any], kind: str = STRATEGIC) -> Object:
        """Change part of an object."""
        reply = self._session.patch(path, content=json.dumps(body), headers={"Content-Type": kind})
        return _read(reply)

    def delete(self, path: str, **query: str) -> None:
        """Delete an object or a collection; one that does not exist is as good as deleted."""
        reply = self._session.delete(path, params=query)
        if reply.status_code != 404:
            _read(reply)

    def ready(self) -> bool:
        """Whether the API server says that it is ready."""
        try:
            return self._session.get("/readyz").status_code == 200
        except httpx2.TransportError:
            return False


def _read(reply: httpx2.Response) -> Object:
    if reply.is_error:
        request = f"{reply.request.method} {reply.request.url.path}"
        raise Unavailable(f"the API server answered {reply.status_code} to {request}: {reply.text[:500]}")
    body: Object = reply.json()
    return body
