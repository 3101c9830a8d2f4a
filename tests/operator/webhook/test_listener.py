"""Connections to the webhook: many, slow and half-begun ones keep nobody from an answer, nor fill its memory."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from slackwater_operator.webhook.listener import SHAKE_SECONDS, Listener
from support.builders.certificates import certify

MOST = 8


class Echo(asyncio.Protocol):
    """Says what it was told."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A handshake is over."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """What was sent."""
        self.transport.write(data)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's context with a certificate that signs itself."""
    folder: Path = tmp_path_factory.mktemp("listener")
    certify(folder, "x")
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return made


@asynccontextmanager
async def listening(tls: ssl.SSLContext, port: int) -> AsyncIterator[Listener]:
    """A listener of few places."""
    made = Listener(Echo, tls, MOST)
    async with made.listening("127.0.0.1", port):
        yield made


async def answered(port: int) -> bool:
    """Whether somebody else is."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    async with asyncio.timeout(5):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
        writer.write(b"well")
        said = await reader.readexactly(4)
        writer.close()
    return said == b"well"


@pytest.mark.parametrize("secure", [False, True], ids=["half-begun", "with their handshake"])
async def test_many_connections_of_one_address_make_room(
    tls: ssl.SSLContext, unused_tcp_port: int, *, secure: bool
) -> None:
    """Each costs 300 kB, and some 700 of them ended the program: then pods are created unheld."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    async with listening(tls, unused_tcp_port) as listener:
        stranger = ("127.0.0.2", 0)
        for _ in range(5 * MOST):
            await asyncio.open_connection(
                "127.0.0.1", unused_tcp_port, local_addr=stranger, ssl=trusting if secure else None
            )
        assert await answered(unused_tcp_port)
        assert len(listener._open) <= MOST


async def test_a_handshake_that_never_ends_is_given_up(tls: ssl.SSLContext, unused_tcp_port: int) -> None:
    """After two seconds, not after a minute."""
    async with listening(tls, unused_tcp_port) as listener:
        reader, _ = await asyncio.open_connection("127.0.0.1", unused_tcp_port)
        assert await asyncio.wait_for(reader.read(), 3 * SHAKE_SECONDS) == b""
        await asyncio.sleep(0)
        assert not listener._open


async def test_connections_that_stand_go_on_when_it_ends(tls: ssl.SSLContext, unused_tcp_port: int) -> None:
    """Their protocol ends them, when it has answered."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    async with listening(tls, unused_tcp_port):
        reader, writer = await asyncio.open_connection("127.0.0.1", unused_tcp_port, ssl=trusting)
        writer.write(b"here")
        assert await reader.readexactly(4) == b"here"
    writer.write(b"well")
    assert await reader.readexactly(4) == b"well"
    writer.close()
