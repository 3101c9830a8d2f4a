"""A plain HTTP session with a lab's API server, under any name: tests see what each kind of user would see."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import httpx2

from slackwater_lab.controlplane.access import administrator_token
from slackwater_lab.processes.stealtime import Stopwatch
from slackwater_lab.site import Site

Object = dict[str, Any]
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON = "application/json"
CUSTOM = "/apis/slackwater.io/v1alpha1"
PODS = "/api/v1/namespaces/{}/pods"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server said."""

    status: int
    body: Object

    @property
    def ok(self) -> bool:
        """Whether it did what was asked."""
        return self.status < 300

    @property
    def message(self) -> str:
        """The sentence of a refusal."""
        return str(self.body.get("message", ""))


class Kube:
    """A session, as administrator unless `user` names somebody to act as."""

    def __init__(
        self, site: Site, user: str = "", groups: tuple[str, ...] = ("system:authenticated",), token: str = ""
    ) -> None:
        headers = [("Authorization", f"Bearer {token or administrator_token(site)}")]
        if user:
            headers += [("Impersonate-User", user), *(("Impersonate-Group", group) for group in groups)]
        self._site = site
        self._session = httpx2.Client(
            base_url=site.url("apiserver", "https"),
            verify=ssl.create_default_context(cafile=str(site.certificates / "ca.crt")),
            headers=headers,
            timeout=30.0,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def acting_as(self, user: str, *groups: str) -> Kube:
        """A session as somebody else."""
        return Kube(self._site, user, ("system:authenticated", *groups))

    def holding(self, token: str) -> Kube:
        """A session of whoever holds a token."""
        return Kube(self._site, token=token)

    def ask(self, method: str, path: str, body: Any, kind: str, headers: Mapping[str, str]) -> Answer:
        """Any request; only a patch has a content type of its own."""
        typed = {**headers, "Content-Type": kind if method == "PATCH" else JSON}
        return _answer(self._session.request(method, path, json=body, headers=typed))

    def get(self, path: str, **query: str) -> Answer:
        """Read an object or a list."""
        return _answer(self._session.get(path, params=query))

    def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Create an object."""
        return _answer(self._session.post(path, json=dict(body)))

    def patch(self, path: str, body: Mapping[str, Any], kind: str = STRATEGIC) -> Answer:
        """Change part of an object."""
        return _answer(self._session.patch(path, json=dict(body), headers={"Content-Type": kind}))

    def delete(self, path: str, **query: str) -> Answer:
        """Delete an object or a collection at once."""
        return _answer(self._session.delete(path, params={"gracePeriodSeconds": "0", **query}))

    def apply(self, body: Mapping[str, Any], path: str) -> Answer:
        """Make the object what the body says, whether or not it exists."""
        where = f"{path}/{body['metadata']['name']}"
        headers = {"Content-Type": "application/apply-patch+yaml"}
        return _answer(
            self._session.patch(
                where, json=dict(body), params={"fieldManager": "test", "force": "true"}, headers=headers
            )
        )

    def namespace(self, name: str, **labels: str) -> str:
        """A namespace with these labels (underscores become dots and slashes are written `__`), ready for pods."""
        until(lambda: not self._terminating(name), 60)
        written = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
        self.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": written}},
            "/api/v1/namespaces",
        )
        until(lambda: self.get(f"/api/v1/namespaces/{name}/serviceaccounts/default").ok)
        return name

    def _terminating(self, name: str) -> bool:
        """Whether a namespace of this name is on its way out."""
        known = self.get(f"/api/v1/namespaces/{name}")
        return known.ok and known.body["status"]["phase"] == "Terminating"


def _answer(reply: httpx2.Response) -> Answer:
    body = reply.json() if reply.content else {}
    return Answer(reply.status_code, body if isinstance(body, dict) else {})


def until(condition: Callable[[], bool], seconds: float = 20.0, every: float = 0.1) -> None:
    """Wait for a condition, or fail."""
    watch = Stopwatch()
    while not condition():
        if watch.seconds > seconds:
            raise AssertionError(f"not within {seconds} s")
        time.sleep(every)
