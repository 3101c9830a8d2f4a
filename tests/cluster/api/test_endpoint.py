"""Where the API server is: what is wrong with a kubeconfig is told by where it was named."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import Endpoint, endpoint
from slackwater_cluster.api.session import Session

TEXT = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9/'}}]
users: [{name: u, user: {}}]
contexts: [{name: here, context: {cluster: c, user: u}}, {name: there, context: {cluster: c, user: u}}]
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """Two contexts of one cluster."""
    path = tmp_path / "config"
    path.write_text(TEXT)
    return path


def test_a_context_that_is_there_is_taken(kubeconfig: Path) -> None:
    """The named one, or the current one."""
    assert endpoint(kubeconfig, "there").url == endpoint(kubeconfig).url == "http://127.0.0.1:9"


@pytest.mark.parametrize("current", ["", "current-context: ''", "current-context: gone"])
def test_a_context_that_is_named_needs_no_current_one(kubeconfig: Path, current: str) -> None:
    """A kubeconfig may leave the choice to whoever reads it, or still name one that was removed."""
    kubeconfig.write_text(TEXT.replace("current-context: here", current))
    assert endpoint(kubeconfig, "there").url == "http://127.0.0.1:9"
    with pytest.raises(Unavailable, match=r"no usable Kubernetes configuration .*nosuch"):
        endpoint(kubeconfig, "nosuch")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[" * 1000, "too much stands inside of each other"),
        ("- a", "a value is not what"),
        (TEXT.replace("server: 'http://127.0.0.1:9/'", "server: 5"), "a value is not what"),
        ("contexts: [", "line 1, column 12"),
    ],
    ids=["nested", "list", "number", "open"],
)
def test_what_is_wrong_with_a_kubeconfig_is_not_told_in_words_of_python(kubeconfig: Path, text: str, told: str) -> None:
    """Nobody who reads "list indices must be integers" knows what to look for."""
    kubeconfig.write_text(text)
    with pytest.raises(Unavailable, match=told):
        endpoint(kubeconfig)


def test_the_way_through_a_proxy_and_another_name_of_the_server_are_taken_over(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As kubectl does: bastions and private clusters are reached so. A proxy of the environment is not used."""
    monkeypatch.setenv("HTTPS_PROXY", "http://elsewhere:3128")
    assert endpoint(kubeconfig).proxy is None
    stated = "server: 'https://127.0.0.1:9/', proxy-url: 'http://127.0.0.1:3128', tls-server-name: api.example"
    kubeconfig.write_text(TEXT.replace("server: 'http://127.0.0.1:9/'", stated))
    found = endpoint(kubeconfig)
    assert found.proxy == "http://127.0.0.1:3128"
    assert isinstance(found.tls, ssl.SSLContext)
    wrapped = found.tls.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="127.0.0.1")
    assert wrapped.server_hostname == "api.example"


@pytest.mark.parametrize("url", ["socks5://127.0.0.1:1080", "127.0.0.1:3128", "http://me:secret@host:bad"])
def test_a_proxy_that_cannot_be_used_is_refused_in_a_sentence(kubeconfig: Path, url: str) -> None:
    """Without its password."""
    kubeconfig.write_text(TEXT.replace("server: 'http://127.0.0.1:9/'", f"server: 'http://a/', proxy-url: '{url}'"))
    with pytest.raises(Unavailable, match="proxy-url is no http") as problem:
        endpoint(kubeconfig)
    assert "secret" not in str(problem.value)


def test_requests_go_through_the_proxy() -> None:
    """Of the command line and of the programs alike."""
    with HTTPServer(("127.0.0.1", 0), Proxy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        where = Endpoint("http://api.example", tls=False, headers=dict, proxy=f"http://127.0.0.1:{server.server_port}")

        async def ask() -> int:
            async with Session(where) as session:
                return (await session.get("/version")).status

        with ApiClient(where) as api:
            assert api.get("/version") == {"seen": "http://api.example/version"}
        assert asyncio.run(ask()) == 200
        server.shutdown()


class Proxy(BaseHTTPRequestHandler):
    """Answers with the whole address that it is asked for, as only a proxy is."""

    def do_GET(self) -> None:
        """Any request."""
        body = json.dumps({"seen": self.path}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is written."""


def test_a_context_that_is_not_there_is_told_beside_those_that_are(kubeconfig: Path) -> None:
    """The file is right, so another file is no remedy."""
    with pytest.raises(Unavailable, match="no context 'nosuch'; give --context one of: here, there"):
        endpoint(kubeconfig, "nosuch")


def test_a_file_that_is_not_there_is_told_by_who_named_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that nobody gave cannot be left out."""
    absent = tmp_path / "absent"
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(Unavailable, match="give --kubeconfig another path, or leave it out"):
        endpoint(absent)
    monkeypatch.setenv("KUBECONFIG", str(absent))
    with pytest.raises(Unavailable, match="the variable KUBECONFIG names it"):
        endpoint(absent)


@pytest.mark.parametrize(("program", "code"), [("operator", 2), ("extender", 1)])
def test_a_program_without_a_cluster_ends_with_one_sentence(tmp_path: Path, program: str, code: int) -> None:
    """Before it listens, leads or starts a worker: no traceback, and nothing that looks like a start."""
    absent = tmp_path / "absent"
    command = [sys.executable, "-m", f"slackwater_{program}.main", "--kubeconfig", str(absent)]
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code
    said = (done.stdout + done.stderr).strip().removeprefix("slackwater-extender: ")
    assert said == f"there is no kubeconfig {absent}; give --kubeconfig another path, or leave it out"


def test_where_no_kubeconfig_is_the_places_are_named(tmp_path: Path) -> None:
    """The client library speaks of an invalid file there, which sends people to look for one."""
    code = "from slackwater_cluster.api.endpoint import endpoint; endpoint()"
    env = {name: text for name, text in os.environ.items() if not name.startswith("KUBE")} | {"HOME": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False).stderr
    assert "no cluster is known (neither $KUBECONFIG nor ~/.kube/config names one); give --kubeconfig FILE" in said
