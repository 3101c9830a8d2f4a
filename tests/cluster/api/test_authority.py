"""The authority of the API server is believed as its file is now, by programs that go on for months."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.credentials import Credentials
from slackwater_cluster.api.endpoint import Endpoint, endpoint
from slackwater_cluster.api.session import Session
from support.builders.certificates import certify
from support.handshakes import serving, shake_hands

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
NAME = "api.example"
NAMED = f", tls-server-name: {NAME}"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two certificates of an API server, each its own authority."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("old", "new")}
    for folder in folders.values():
        certify(folder, "api", "-days", "2", "-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1")
    return folders


def believing(folder: Path, authority: Path, more: str = "", url: str = "https://127.0.0.1:9") -> Endpoint:
    """A kubeconfig that names the file of an authority, as that of a pod's account does."""
    path = folder / "config"
    path.write_text(
        f"{{apiVersion: v1, kind: Config, current-context: x, users: [{{name: x, user: {{}}}}],"
        f" clusters: [{{name: x, cluster: {{server: '{url}', certificate-authority: '{authority}'{more}}}}}],"
        " contexts: [{name: x, context: {cluster: x, user: x}}]}"
    )
    return endpoint(path)


def replace(file: Path, text: str) -> None:
    """As a mounted file is replaced: the whole of it at once."""
    half = file.with_suffix(".half")
    half.write_text(text)
    half.rename(file)


@pytest.mark.parametrize(
    "judge",
    [
        lambda file: believing(file.parent, file).tls,
        lambda file: believing(file.parent, file, NAMED).tls,
        lambda file: Credentials(ca=file).tls(),
    ],
    ids=["API server", "under a stated name", "Prometheus"],
)
def test_a_renewed_authority_is_believed_and_the_old_one_no_more(
    servers: dict[str, Path], tmp_path: Path, judge: Callable[[Path], ssl.SSLContext | bool]
) -> None:
    """It was read once: after it was renewed no connection came about until somebody started the program anew."""
    file = tmp_path / "ca.crt"
    texts = {name: (folder / "tls.crt").read_text() for name, folder in servers.items()}
    replace(file, texts["old"])
    tls = judge(file)
    assert isinstance(tls, ssl.SSLContext)
    shake_hands(serving(servers["old"]), tls, NAME)
    for text in (texts["old"] + texts["new"], "half of", texts["new"]):  # both for a time; what cannot be read; one
        replace(file, text)
        if text != texts["new"]:
            shake_hands(serving(servers["old"]), tls, NAME)
        shake_hands(serving(servers["new"]), tls, NAME)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(serving(servers["old"]), tls, NAME)
    file.unlink()
    shake_hands(serving(servers["new"]), tls, NAME)


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server(servers: dict[str, Path]) -> Iterator[HTTPServer]:
    """An API server with the new certificate."""
    made = HTTPServer(("127.0.0.1", 0), _Answers)
    made.socket = serving(servers["new"]).wrap_socket(made.socket, server_side=True)
    Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def test_programs_that_go_on_reach_a_server_whose_authority_was_renewed(
    servers: dict[str, Path], server: HTTPServer, tmp_path: Path
) -> None:
    """By both clients: the operator's and the one of commands and the extender."""
    file = tmp_path / "ca.crt"
    replace(file, (servers["old"] / "tls.crt").read_text())
    where = believing(tmp_path, file, url=f"https://127.0.0.1:{server.server_port}")

    async def story() -> int:
        async with Session(where) as session:
            with pytest.raises(Unavailable, match="certificate"):
                await session.get("/version")
            replace(file, (servers["new"] / "tls.crt").read_text())
            return (await session.get("/version")).status

    assert asyncio.run(story()) == 200
    replace(file, (servers["old"] / "tls.crt").read_text())
    with ApiClient(where) as client:
        with pytest.raises(Unavailable, match="certificate"):
            client.get("/version")
        replace(file, (servers["new"] / "tls.crt").read_text())
        assert client.get("/version") == {}


def test_a_file_that_is_written_in_place_is_read_again(servers: dict[str, Path], tmp_path: Path) -> None:
    """Of another length, or at another time."""
    file = tmp_path / "ca.crt"
    file.write_text((servers["old"] / "tls.crt").read_text())
    tls = believing(tmp_path, file).tls
    assert isinstance(tls, ssl.SSLContext)
    file.write_text((servers["new"] / "tls.crt").read_text())
    os.utime(file, (0, 0))
    shake_hands(serving(servers["new"]), tls, NAME)


def test_a_server_is_told_what_its_client_speaks(servers: dict[str, Path], tmp_path: Path) -> None:
    """The client says so of the context that it was given: also once the file is another."""
    file = tmp_path / "ca.crt"
    replace(file, (servers["old"] / "tls.crt").read_text())
    tls = believing(tmp_path, file).tls
    assert isinstance(tls, ssl.SSLContext)
    tls.set_alpn_protocols(["http/1.1"])
    for name in ("old", "new"):
        replace(file, (servers[name] / "tls.crt").read_text())
        server = serving(servers[name])
        server.set_alpn_protocols(["h2", "http/1.1"])
        assert shake_hands(server, tls, NAME).selected_alpn_protocol() == "http/1.1"


def test_whoever_asks_what_is_believed_is_told_of_the_file(servers: dict[str, Path], tmp_path: Path) -> None:
    """Also a context that is made after this one, for somebody without a certificate."""
    file = tmp_path / "ca.crt"
    replace(file, (servers["old"] / "tls.crt").read_text())
    tls, other = believing(tmp_path, file).tls, believing(tmp_path, file, ", insecure-skip-tls-verify: true").tls
    assert isinstance(tls, ssl.SSLContext)
    assert isinstance(other, ssl.SSLContext)
    assert (tls.check_hostname, tls.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert (other.check_hostname, other.verify_mode) == (False, ssl.CERT_NONE)
    for name in ("old", "new"):
        replace(file, (servers[name] / "tls.crt").read_text())
        assert tls.get_ca_certs(binary_form=True) == [ssl.PEM_cert_to_DER_cert(file.read_text())]
