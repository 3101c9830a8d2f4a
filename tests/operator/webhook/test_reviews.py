"""The webhook's server: questions in, patches out, and what it says when it cannot answer."""

import asyncio
import base64
import json
import os
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, TCPConnector
from aiohttp.test_utils import TestClient, TestServer

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.admissionpolicies.webhook import PATIENCE
from slackwater_cluster.customresources import SlackPolicySpec
from slackwater_operator.webhook.reviews import LARGE, LARGE_AT_ONCE, LARGEST, SMALL_AT_ONCE, ReviewServer
from support.builders.certificates import certify

ENFORCE = SlackPolicySpec.model_validate({"mode": "enforce"})
LONG = 60.0  # seconds: where a test is about size, a busy machine may take its time for the bytes


class Known:
    """Policies by namespace; None in place of one stands for a lookup that fails."""

    def __init__(self, complete: bool = True, **policies: SlackPolicySpec | None) -> None:
        self.complete, self._policies = complete, policies

    async def policy(self, namespace: str) -> tuple[SlackPolicySpec, bool] | None:
        """The policy of a namespace; in the one called `free` the gate is open."""
        if namespace == "away":
            raise Unavailable("the API server does not answer")
        found = self._policies.get(namespace)
        return None if found is None else (found, namespace == "free")


def question(namespace: str) -> dict[str, Any]:
    """A review of a small task."""
    container = {"name": "m", "resources": {"requests": {"cpu": "2"}}}
    pod = {"metadata": {"name": "p", "labels": {names.ROLE: "task"}}, "spec": {"containers": [container]}}
    return {"request": {"uid": "u", "namespace": namespace, "object": pod}}


def client(known: Known, patience: float = PATIENCE) -> TestClient[Any, Any]:
    """A caller of the routes."""
    return TestClient(TestServer(ReviewServer(known, Path("none"), Path("none"), patience).application()))


async def test_a_pod_of_a_governed_namespace_gets_its_patch() -> None:
    """The whole way from the question to the answer."""
    async with client(Known(team=ENFORCE)) as caller:
        reply = await caller.post("/pods", json=question("team"))
        assert reply.status == 200
        response = (await reply.json())["response"]
        paths = [each["path"] for each in json.loads(base64.b64decode(response["patch"]))]
        assert "/spec/schedulingGates" in paths
        told = await (await caller.get("/metrics")).text()
        assert 'slackwater_webhook_answers_total{result="changed"} 1.0' in told


async def test_while_the_gate_is_open_the_patch_has_none() -> None:
    """The status of the SlackPolicy says so."""
    async with client(Known(free=ENFORCE)) as caller:
        response = (await (await caller.post("/pods", json=question("free"))).json())["response"]
        paths = [each["path"] for each in json.loads(base64.b64decode(response["patch"]))]
        assert "/spec/schedulerName" in paths
        assert "/spec/schedulingGates" not in paths


async def test_a_pod_without_a_policy_is_allowed_as_it_is() -> None:
    """A namespace may name a SlackPolicy that does not exist."""
    async with client(Known()) as caller:
        reply = await caller.post("/pods", json=question("lost"))
        assert (await reply.json())["response"] == {"uid": "u", "allowed": True}


async def test_what_was_forged_where_there_is_no_policy_is_overwritten() -> None:
    """As in mode observe: the true values, no gate, and the scheduler as it was."""
    async with client(Known()) as caller:
        asked = question("lost")
        asked["request"]["object"]["metadata"]["annotations"] = {names.SHRUNK: "900/900", "mine": "1"}
        response = (await (await caller.post("/pods", json=asked)).json())["response"]
        (patch,) = json.loads(base64.b64decode(response["patch"]))
        assert patch["path"] == "/metadata/annotations"
        assert patch["value"][names.SHRUNK] == "100/100"
        assert patch["value"][names.DECLARED_CPU] == "2000m"
        assert patch["value"]["mine"] == "1"


@pytest.mark.parametrize("size", [720_000, 3 * 2**20], ids=["above 4 MiB", "the largest pod"])
async def test_a_large_pod_is_answered_however_it_is_written(size: int) -> None:
    """An API server writes some characters as six, and takes objects of 3 MiB: none of them may pass unheld."""
    asked = question("team")
    asked["request"]["object"]["spec"]["containers"][0]["args"] = ["<" * size]
    sent = json.dumps(asked).replace("<", "\\u003c").encode()
    assert len(sent) > 6 * size
    async with client(Known(team=ENFORCE), LONG) as caller:
        replies = await asyncio.gather(*(caller.post("/pods", data=sent) for _ in range(3)))
        assert [reply.status for reply in replies] == [200] * 3
        for reply in replies:
            assert "patch" in (await reply.json())["response"]


async def test_who_sends_a_large_review_slowly_keeps_no_other_waiting() -> None:
    """It is given up when an API server would have given up."""

    async def slowly() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(60)

    async with client(Known(team=ENFORCE)) as caller:
        slow = [asyncio.create_task(caller.post("/pods", data=slowly())) for _ in range(LARGE_AT_ONCE)]
        await asyncio.sleep(0.1)
        assert (await caller.post("/pods", json=question("team"))).status == 200
        assert [(await each).status for each in slow] == [503] * LARGE_AT_ONCE


async def test_who_sends_small_reviews_slowly_takes_little_memory_and_no_turn_of_others() -> None:
    """Each took as much as it had announced, for as long as it liked; they may come from any pod of the cluster."""
    head = b"POST /pods HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % LARGE
    async with client(Known(team=ENFORCE)) as caller:
        slow = [await begun(int(caller.port or 0), head, "127.0.0.2") for _ in range(4 * SMALL_AT_ONCE)]
        await asyncio.sleep(0.1)
        began = asyncio.get_running_loop().time()
        assert (await caller.post("/pods", json=question("team"))).status == 200
        assert asyncio.get_running_loop().time() - began < PATIENCE / 2
        answers = await asyncio.gather(*(asyncio.wait_for(reader.read(64), 4 * PATIENCE) for reader, _ in slow))
        assert {answer[:12] for answer in answers} == {b"HTTP/1.1 503"}
        for _, writer in slow:
            writer.close()


async def begun(port: int, sent: bytes, source: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which something was sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    writer.write(sent)
    return reader, writer


async def test_large_reviews_of_one_caller_leave_a_place_to_another() -> None:
    """Else a pod as large would pass unheld while somebody keeps both places."""

    async def slowly() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(60)

    large = json.dumps(question("team") | {"more": "x" * LARGE}).encode()
    async with client(Known(team=ENFORCE)) as caller, ClientSession(connector=elsewhere()) as other:
        slow = [asyncio.create_task(other.post(caller.make_url("/pods"), data=slowly())) for _ in range(5)]
        await asyncio.sleep(0.1)
        assert (await caller.post("/pods", data=large)).status == 200
        for each in slow:
            each.cancel()
        await asyncio.gather(*slow, return_exceptions=True)


def elsewhere() -> TCPConnector:
    """Connections of another address."""
    return TCPConnector(local_addr=("127.0.0.2", 0))


@pytest.mark.parametrize(
    ("namespace", "body", "status", "result"),
    [
        ("away", None, 503, "unavailable"),
        ("team", b"nonsense", 400, "bad input"),
        ("team", b"x" * (LARGEST + 1), 413, "too large"),
        ("team", b'{"request":{"uid":"u","namespace":"team","object":{"metadata":{},"spec":{}}}}', 500, "error"),
    ],
    ids=["the API server is away", "no review", "too large", "no containers"],
)
async def test_without_an_answer_the_api_server_goes_by_its_failure_policy(
    namespace: str, body: bytes | None, status: int, result: str
) -> None:
    """An error status, never a pod that was changed by half; and each is counted."""
    async with client(Known(team=ENFORCE), LONG) as caller:
        sent = body if body is not None else json.dumps(question(namespace)).encode()
        assert (await caller.post("/pods", data=sent)).status == status
        told = await (await caller.get("/metrics")).text()
        assert f'slackwater_webhook_answers_total{{result="{result}"}} 1.0' in told


@pytest.mark.parametrize(("complete", "status"), [(True, 200), (False, 503)], ids=["listed", "not yet"])
async def test_ready_means_that_policies_were_listed(complete: bool, status: int) -> None:
    """Before that it would let pods pass unchanged."""
    async with client(Known(complete)) as caller:
        assert (await caller.get("/readyz")).status == status
        assert (await caller.get("/healthz")).status == 200


async def shown(port: int) -> str:
    """The certificate that a new connection is shown."""
    return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))


async def test_a_renewed_certificate_is_shown_without_a_restart(tmp_path: Path, unused_tcp_port: int) -> None:
    """And a pair of which one half is missing, or is still the old one, leaves the one before in place."""
    certify(tmp_path, "first")
    server = ReviewServer(Known(), tmp_path / "tls.crt", tmp_path / "tls.key")

    async def looks(times: int) -> None:
        async def pause(_: float) -> None:
            nonlocal times
            times -= 1
            if times < 0:
                raise InterruptedError

        with pytest.raises(InterruptedError):
            await server.renew(1.0, pause)

    async with server.listening("127.0.0.1", unused_tcp_port):
        before = await shown(unused_tcp_port)
        (tmp_path / "tls.key").rename(tmp_path / "away.key")
        os.utime(tmp_path / "tls.crt", (1, 1))
        await looks(1)
        assert await shown(unused_tcp_port) == before
        certify(tmp_path, "second")
        (tmp_path / "tls.key").rename(tmp_path / "second.key")
        (tmp_path / "away.key").rename(tmp_path / "tls.key")
        await looks(1)
        assert await shown(unused_tcp_port) == before
        (tmp_path / "second.key").rename(tmp_path / "tls.key")
        await looks(1)
        assert await shown(unused_tcp_port) != before


@pytest.mark.parametrize("host", ["::1", "[::1]"])
async def test_it_listens_on_an_address_of_ipv6(host: str, tmp_path: Path, unused_tcp_port: int) -> None:
    """With and without brackets, as the other programs do."""
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 on this machine")
    certify(tmp_path, "first")
    async with ReviewServer(Known(), tmp_path / "tls.crt", tmp_path / "tls.key").listening(host, unused_tcp_port):
        _, writer = await asyncio.open_connection("::1", unused_tcp_port)
        writer.close()


async def test_it_tells_how_long_its_certificate_is_valid(tmp_path: Path) -> None:
    """Nobody would notice otherwise: an API server lets pods pass where it does not believe it."""
    certify(tmp_path, "first")
    server = ReviewServer(Known(), tmp_path / "tls.crt", tmp_path / "tls.key")
    async with TestClient(TestServer(server.application())) as caller:
        told = await (await caller.get("/metrics")).text()
    assert "\nslackwater_webhook_certificate_remaining_seconds " in told
