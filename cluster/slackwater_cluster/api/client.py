"""Reading the API server, and the extender behind it, with plain requests: what `kubectl get --raw` can, we can."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Generic, Self, TypeVar

import httpx2
import msgspec

from slackwater.errors import Unavailable
from slackwater.validation import without_user
from slackwater_cluster import names
from slackwater_cluster.api.contenttypes import MERGE
from slackwater_cluster.api.credentials import Credentials
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.paths import api_path, joined
from slackwater_cluster.api.unreachable import cannot_be_reached
from slackwater_cluster.api.unreadable import UNREADABLE

TIMEOUT = 10.0
# Objects per page of a list: the API server answers large lists in pieces.
PAGE = 500
MOST_PAGES = 2_000  # a million objects; a server that never ends its list is no API server
NOBODY = Credentials()
UNREACHABLE = {
    "API server": "is the cluster up, and is this its context? `kubectl config current-context` shows it; or give "
    "--kubeconfig and --context",
    "extender at": "check --extender, or leave it out to ask through the API server",
}


class NotFound(Unavailable):
    """The object does not exist."""


class Forbidden(Unavailable):
    """The user may not do this."""


class Conflict(Unavailable):
    """An object of that name exists, or it changed meanwhile."""


class _Position(msgspec.Struct):
    continue_: str | None = msgspec.field(name="continue", default=None)


Item = TypeVar("Item")


class _Page(msgspec.Struct, Generic[Item]):
    """One page of a list, as far as it is looked at here."""

    items: list[Item] | None = None
    metadata: _Position | None = None


class ApiClient:
    """The API server of one kubeconfig context, or of the pod's own service account."""

    def __init__(
        self, endpoint: Endpoint, transport: httpx2.BaseTransport | None = None, *, timeout: float = TIMEOUT
    ) -> None:
        self.endpoint = endpoint
        self._http = httpx2.Client(
            base_url=endpoint.url,
            verify=endpoint.tls,
            proxy=endpoint.proxy,
            timeout=timeout,
            transport=transport,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        """One object or one raw answer, decoded."""
        return self._send("GET", path, params=dict(parameters or {}))

    def find(self, path: str, parameters: Mapping[str, str] | None = None) -> Any | None:
        """One object or one raw answer; None where it does not exist."""
        try:
            return self.get(path, parameters)
        except NotFound:
            return None

    def text(self, path: str, parameters: Mapping[str, str] | None = None) -> str:
        """An answer that is not JSON, such as the log of a pod."""
        return self._reply("GET", path, params=dict(parameters or {})).text

    def ready(self) -> bool:
        """Whether the API server says that it is ready."""
        try:
            return self.text("/readyz") == "ok"
        except Unavailable:
            return False

    def items(self, path: str, parameters: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """A whole list, page by page."""

        def read(asked: Mapping[str, str]) -> _Page[dict[str, Any]]:
            return msgspec.convert(self.get(path, asked), _Page[dict[str, Any]])

        return list(self._pages(path, parameters, read))

    def listed(self, path: str, shape: type[Item], parameters: Mapping[str, str] | None = None) -> Iterator[Item]:
        """A whole list, page by page, decoded into one shape: what the shape does not name is never built."""
        decoder = msgspec.json.Decoder(_Page[shape], strict=False)  # type: ignore[valid-type] # a type at run time

        def read(asked: Mapping[str, str]) -> _Page[Item]:
            return decoder.decode(self._reply("GET", path, params=dict(asked)).content)

        return self._pages(path, parameters, read)

    def _pages(
        self, path: str, parameters: Mapping[str, str] | None, read: Callable[[Mapping[str, str]], _Page[Item]]
    ) -> Iterator[Item]:
        asked = {"limit": str(PAGE), **(parameters or {})}
        for _ in range(MOST_PAGES):
            try:
                page = read(asked)
            except UNREADABLE as problem:
                raise Unavailable(f"API server: {path} is no list of objects: {problem}") from problem
            yield from page.items or ()
            if not page.metadata or not page.metadata.continue_:
                return
            if page.metadata.continue_ == asked.get("continue"):
                break
            asked["continue"] = page.metadata.continue_
        raise Unavailable(f"API server: the list {path} never ends")

    def bounded(self, path: str, *, seconds: float, most: int) -> bytes:
        """One raw answer, in at most so many seconds and bytes."""
        until, body = monotonic() + seconds, bytearray()
        try:
            with self._http.stream("GET", path, headers=self.endpoint.proof(), timeout=seconds) as reply:
                for piece in reply.iter_bytes():
                    body += piece
                    if len(body) > most:
                        raise Unavailable(f"API server: {path} is larger than {most} bytes")
                    if monotonic() > until:
                        raise Unavailable(f"API server: {path} takes longer than {seconds:g} s")
        except (httpx2.HTTPError, OSError) as problem:
            raise _unreachable("API server", self.endpoint.url, problem) from problem
        if reply.is_success:
            return bytes(body)
        raise _refusal(reply.status_code, _message(bytes(body)), path)

    def patch(self, path: str, body: object, kind: str = MERGE) -> Any:
        """Change one object."""
        return self._send("PATCH", path, json=body, headers={"Content-Type": kind})

    def post(self, path: str, body: object) -> Any:
        """Create one object."""
        return self._send("POST", path, json=body)

    def create(self, path: str, body: object) -> Any | None:
        """Create one object; None where one of that name exists already."""
        try:
            return self.post(path, body)
        except Conflict:
            return None

    def delete(self, path: str, parameters: Mapping[str, str] | None = None) -> None:
        """Delete an object or a collection; one that does not exist is as good as deleted."""
        with suppress(NotFound):
            self._send("DELETE", path, params=dict(parameters or {}))

    def _send(self, method: str, path: str, headers: Mapping[str, str] | None = None, **more: Any) -> Any:
        reply = self._reply(method, path, headers, **more)
        try:
            return reply.json()
        except ValueError as problem:
            said = reply.text[:60].strip()
            words = f"{said!r} is no answer of an API server; is a proxy or a login page between?"
            raise Unavailable(without_user(f"API server {self.endpoint.url}: {words}")) from problem

    def _reply(self, method: str, path: str, headers: Mapping[str, str] | None = None, **more: Any) -> httpx2.Response:
        try:
            reply = self._http.request(method, path, headers={**self.endpoint.proof(), **(headers or {})}, **more)
        except (httpx2.HTTPError, OSError) as problem:
            raise _unreachable("API server", self.endpoint.url, problem) from problem
        if reply.is_success:
            return reply
        raise _refusal(reply.status_code, _message(reply.content), path)


def _message(body: bytes) -> str:
    try:
        said = json.loads(body)
    except ValueError:
        return body[:200].decode(errors="replace").strip()
    return str(said.get("message") or said.get("error") or said) if isinstance(said, dict) else str(said)[:200]


def _unreachable(what: str, url: str, problem: Exception) -> Unavailable:
    """An error of the connection, and what to look at where nobody answered."""
    if isinstance(problem, httpx2.ConnectError | httpx2.ConnectTimeout):
        said = f"{cannot_be_reached(problem)}; {UNREACHABLE[what]}"
    else:
        said = f"{type(problem).__name__}: {problem}"
    return Unavailable(without_user(f"{what} {url}: {said}"))


def _refusal(status: int, message: str, path: str) -> Unavailable:
    if status == 404:
        return NotFound(message or f"{path} does not exist")
    if status in (401, 403):
        return Forbidden(message or f"not allowed to read {path}")
    if status == 409:
        return Conflict(f"API server: 409: {message}")
    return Unavailable(f"API server: {status}: {message}")


class ExtenderClient:
    """The extender's reading API: at an address, or through the API server's service proxy, so without port-forward."""

    def __init__(
        self,
        api: ApiClient | None,
        url: str = "",
        *,
        namespace: str = names.SYSTEM_NAMESPACE,
        service: str = "https:slackwater-extender:https",
        credentials: Credentials = NOBODY,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._api = api
        self._base = api_path("services", service, namespace=namespace, subresource="proxy")
        self._credentials = credentials
        self._direct = (
            httpx2.Client(base_url=url, verify=credentials.tls(), timeout=TIMEOUT, transport=transport, trust_env=False)
            if url
            else None
        )
        self.where = without_user(url) or f"service {namespace}/{service.split(':')[1]}"

    def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        """One answer of its API, for example /v1/nodes."""
        if self._direct is not None:
            return self._ask(path, dict(parameters or {}))
        if self._api is None:
            raise Unavailable("neither an address of the extender nor a cluster is given")
        try:
            return self._api.get(f"{self._base}{path}", parameters)
        except Forbidden as problem:
            raise Forbidden(f"{problem}; ask for the right to get services/proxy, or give --extender URL") from problem
        except NotFound as problem:
            if "services" in str(problem):
                raise Unavailable(f"extender: {problem}; is Slackwater installed? Or give --extender URL") from problem
            raise

    def explain(self, namespace: str, pod: str) -> Any:
        """Why a pod waits, or is where it is."""
        return self.get(joined("v1", "explain", namespace, pod))

    def _ask(self, path: str, parameters: dict[str, str]) -> Any:
        assert self._direct is not None  # noqa: S101 - the caller looked
        try:
            reply = self._direct.get(path, params=parameters, headers=self._credentials.headers())
        except (httpx2.HTTPError, OSError) as problem:
            if "CERTIFICATE_VERIFY_FAILED" in str(problem):
                advice = "give its authority with --extender-ca"
                raise Unavailable(
                    f"extender at {self.where}: {type(problem).__name__}: {problem}; {advice}"
                ) from problem
            raise _unreachable("extender at", self.where, problem) from problem
        if not reply.is_success:
            raise _refusal(reply.status_code, _message(reply.content), path)
        try:
            return reply.json()
        except ValueError as problem:
            said = reply.text[:60].strip()
            raise Unavailable(f"extender at {self.where}: {said!r} is no answer of an extender") from problem
