"""The client of commands, pages and the lab: what does not exist, what exists already, what is not JSON."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient, Conflict, ExtenderClient, Forbidden, NotFound
from slackwater_cluster.api.endpoint import Endpoint, endpoint


def client(status: int, **answer: object) -> ApiClient:
    """A client whose server always answers so."""
    reply = httpx2.Response(status, **answer)  # type: ignore[arg-type] # json or text
    return ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(lambda _: reply))


def test_what_does_not_exist_is_none_and_as_good_as_deleted() -> None:
    """`find` and `delete` take a 404 as an answer; `get` does not."""
    gone = client(404, json={"message": "pods p not found"})
    assert gone.find("/api/v1/namespaces/a/pods/p") is None
    gone.delete("/api/v1/namespaces/a/pods/p")
    with pytest.raises(NotFound, match="pods p not found"):
        gone.get("/api/v1/namespaces/a/pods/p")


def test_what_exists_already_is_none_where_it_is_created() -> None:
    """`create` takes a 409 as an answer; `patch` does not."""
    there = client(409, json={"message": "already exists"})
    assert there.create("/api/v1/namespaces", {}) is None
    with pytest.raises(Conflict, match="already exists"):
        there.patch("/api/v1/namespaces/a", {})


def test_other_refusals_are_errors_everywhere() -> None:
    """A right that is missing is not taken for an object that is."""
    refusing = client(403, json={"message": "not yours"})
    for ask in (refusing.find, refusing.delete, refusing.text):
        with pytest.raises(Forbidden, match="not yours"):
            ask("/api/v1/pods")
    with pytest.raises(Unavailable, match="500: broken"):
        client(500, text="broken").create("/api/v1/pods", {})


def test_readiness_is_the_server_s_own_word() -> None:
    """Neither an error nor silence is ready."""
    assert client(200, text="ok").ready()
    assert not client(500, text="[-]etcd failed").ready()


def test_nobody_at_the_address_says_what_to_look_at() -> None:
    """The context for an API server, the option for an extender; a page of a proxy is named as such."""

    def nobody(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("Connection refused", request=request)

    api = ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(nobody))
    with pytest.raises(Unavailable, match=r"http://cluster: ConnectError: .*kubectl config current-context"):
        api.get("/version")
    extender = ExtenderClient(None, "http://extender", transport=httpx2.MockTransport(nobody))
    with pytest.raises(Unavailable, match="check --extender"):
        extender.get("/v1/nodes")
    with pytest.raises(Unavailable, match="no answer of an API server"):
        client(200, text="<html>log in</html>").get("/version")


def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    """Not as a cluster that is missing."""
    with pytest.raises(Unavailable, match=r"there is no kubeconfig .*absent"):
        endpoint(tmp_path / "absent")
