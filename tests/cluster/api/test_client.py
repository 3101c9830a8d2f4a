"""The client of commands, pages and the lab: what does not exist, what exists already, what is not JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import msgspec
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
        raise httpx2.ConnectError("[Errno 111] Connection refused", request=request)

    api = ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(nobody))
    with pytest.raises(
        Unavailable, match=r"cluster: it cannot be reached \(Connection refused\); .*kubectl config current-context"
    ):
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


class Named(msgspec.Struct):
    """An object of which the name is read."""

    metadata: dict[str, str] = {}


def test_a_list_is_decoded_into_a_shape_page_by_page() -> None:
    """What the shape does not name is skipped; the parameters go with every page."""
    asked: list[httpx2.URL] = []

    def serve(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url)
        first = "continue" not in request.url.params
        item = {"metadata": {"name": "a" if first else "b"}, "spec": {"large": [1] * 100}}
        return httpx2.Response(200, json={"items": [item], "metadata": {"continue": "more" if first else ""}})

    api = ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(serve))
    found = list(api.listed("/api/v1/pods", Named, {"fieldSelector": "spec.nodeName="}))
    assert [each.metadata["name"] for each in found] == ["a", "b"]
    assert [url.params["fieldSelector"] for url in asked] == ["spec.nodeName="] * 2


@pytest.mark.parametrize("body", ["<html>", "[]", '{"items": 1}', '{"items": [{"metadata": 1}]}'])
def test_a_list_of_another_shape_is_no_answer(body: str) -> None:
    """Said with its address."""
    with pytest.raises(Unavailable, match="/api/v1/pods is no list of objects"):
        list(client(200, text=body).listed("/api/v1/pods", Named))


def test_a_bounded_answer_is_no_larger_than_promised() -> None:
    """However large the object is: it is not read to its end."""
    served = 0

    def pieces() -> Iterator[bytes]:
        nonlocal served
        while True:
            served += 1
            yield b" " * 1000

    api = client(200, content=pieces())
    with pytest.raises(Unavailable, match="/apis is larger than 4000 bytes"):
        api.bounded("/apis", seconds=5.0, most=4000)
    assert served < 10
    assert client(200, content=b"{}").bounded("/apis", seconds=5.0, most=2) == b"{}"


def test_a_bounded_answer_takes_no_longer_than_promised() -> None:
    """Also where every piece of it comes in time."""

    def pieces() -> Iterator[bytes]:
        while True:
            time.sleep(0.01)
            yield b" "

    with pytest.raises(Unavailable, match="takes longer than"):
        client(200, content=pieces()).bounded("/apis", seconds=0.05, most=10**6)


@pytest.mark.parametrize(("status", "kind"), [(404, NotFound), (403, Forbidden), (500, Unavailable)])
def test_a_bounded_answer_is_refused_as_others_are(status: int, kind: type[Exception]) -> None:
    """With what the server says."""
    with pytest.raises(kind, match="no such thing"):
        client(status, json={"message": "no such thing"}).bounded("/apis", seconds=5.0, most=100)
