"""The extender as a process: TLS with client certificates, tokens, shutdown, and a loud end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_extender.cache import watch
from slackwater_extender.cache.watch import Watcher
from support.builders import objects
from support.fakes.extender import world
from support.lab.extenderprocess import OPERATOR, cluster, extender, serving, until

OPENSSL = shutil.which("openssl")


QUESTION = orjson.dumps({"Pod": objects.pod("p"), "Nodes": None, "NodeNames": ["n1"]})


def test_serves_and_ends_gracefully(tmp_path: Path) -> None:
    """Ready without Prometheus but degraded; SIGTERM ends it with 0."""
    with serving(cluster()) as url, extender(url, tmp_path) as (child, port), httpx2.Client() as http:
        base = f"http://127.0.0.1:{port}"
        until(lambda: http.get(f"{base}/readyz").status_code == 200)
        assert http.get(f"{base}/readyz").json()["status"] == "degraded"
        reply = http.post(f"{base}/filter", content=QUESTION)
        assert reply.json()["NodeNames"] == ["n1"]
        assert reply.headers.get("Connection", "keep-alive") == "keep-alive"
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == 0


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
def test_callers_prove_themselves_over_tls(tmp_path: Path) -> None:
    """Certificate of the right CA and name, or a reviewed token; nobody else. Anybody may read how long ours lasts."""
    make_certificates(tmp_path)
    flags = ["--tls.certificate", str(tmp_path / "server.crt"), "--tls.key", str(tmp_path / "server.key")]
    flags += ["--tls.client-ca", str(tmp_path / "ca.crt"), "--tls.client-names", "scheduler", "--no-callers.loopback"]
    with serving(cluster()) as url, extender(url, tmp_path, *flags) as (_, port):
        base = f"https://127.0.0.1:{port}"
        with client(tmp_path) as nobody, client(tmp_path, "scheduler") as scheduler, client(tmp_path, "other") as other:
            until(lambda: nobody.get(f"{base}/readyz").status_code == 200)
            assert "\nslackwater_extender_certificate_remaining_seconds " in nobody.get(f"{base}/metrics").text
            assert nobody.post(f"{base}/filter", content=QUESTION).status_code == 401
            assert other.post(f"{base}/filter", content=QUESTION).status_code == 401
            assert scheduler.post(f"{base}/filter", content=QUESTION).json()["NodeNames"] == ["n1"]
            body = b'{"pods": []}'
            good, bad = ({"Authorization": f"Bearer {token}"} for token in ("good-token", "bad-token"))
            assert nobody.post(f"{base}/v1/place", content=body, headers=good).status_code == 200
            assert nobody.post(f"{base}/v1/place", content=body, headers=bad).status_code == 401
    log = (tmp_path / "log").read_text()
    assert "good-token" not in log
    assert "bad-token" not in log


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
def test_another_authority_is_believed_without_a_restart(tmp_path: Path) -> None:
    """Where an issuer changes, callers show certificates of the new one; from then on the old one's are refused."""
    (before := tmp_path / "before").mkdir()
    make_certificates(before)
    make_certificates(tmp_path)
    for name in ("ca.crt", "server.crt", "server.key"):
        shutil.copy(before / name, tmp_path / f"shown-{name}")
    flags = ["--tls.certificate", str(tmp_path / "shown-server.crt"), "--tls.key", str(tmp_path / "shown-server.key")]
    flags += ["--tls.client-ca", str(tmp_path / "shown-ca.crt"), "--no-callers.loopback"]
    with serving(cluster()) as url, extender(url, tmp_path, *flags) as (_, port):
        asked = f"https://127.0.0.1:{port}/filter"
        with client(before, "scheduler") as scheduler:
            until(lambda: scheduler.post(asked, content=QUESTION).status_code == 200)
        for name in ("ca.crt", "server.crt", "server.key"):
            shutil.copy(tmp_path / name, tmp_path / f"shown-{name}")
        with client(tmp_path, "scheduler") as scheduler:
            assert scheduler.post(asked, content=QUESTION).status_code == 200
        with client(tmp_path, "scheduler", before) as old, pytest.raises(httpx2.HTTPError):
            old.post(asked, content=QUESTION)


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
@pytest.mark.parametrize("start", [b"", b"\x16\x03\x01"], ids=["nothing sent", "half a hello"])
def test_handshakes_that_never_end_silence_nobody(tmp_path: Path, start: bytes) -> None:
    """More of them than there are threads: the next caller shakes hands and is answered."""
    make_certificates(tmp_path)
    flags = ["--tls.certificate", str(tmp_path / "server.crt"), "--tls.key", str(tmp_path / "server.key")]
    with serving(cluster()) as url, extender(url, tmp_path, *flags) as (_, port), ExitStack() as stack:
        nobody = stack.enter_context(client(tmp_path))
        until(lambda: nobody.get(f"https://127.0.0.1:{port}/healthz").status_code == 200)
        for _ in range(48):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            sock.sendall(start)
        time.sleep(0.5)
        fresh = stack.enter_context(client(tmp_path))
        assert fresh.get(f"https://127.0.0.1:{port}/healthz", timeout=4).status_code == 200


def client(folder: Path, name: str = "", of: Path | None = None) -> httpx2.Client:
    """A caller who believes the authority in one folder, and shows a certificate of another one where that is said."""
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    if name:
        context.load_cert_chain((of or folder) / f"{name}.crt", (of or folder) / f"{name}.key")
    return httpx2.Client(verify=context)


def make_certificates(folder: Path) -> None:
    """A CA, a server certificate for 127.0.0.1, and two clients."""

    def openssl(*arguments: str) -> None:
        subprocess.run([str(OPENSSL), *arguments], check=True, capture_output=True, cwd=folder)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca", "-days", "2")
    for name in ("server", "scheduler", "other"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (folder / "ext").write_text("subjectAltName=IP:127.0.0.1\n")
        signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "ext"]
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.crt")


def test_a_mistake_in_the_settings_is_one_line(tmp_path: Path) -> None:
    """No traceback."""
    command = [sys.executable, "-m", "slackwater_extender.main", "--server.port", "many"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=dict(os.environ))
    assert done.returncode == 1
    assert done.stderr.startswith("slackwater-extender: server.port:")
    assert "Traceback" not in done.stderr


def test_a_dead_watch_ends_the_program() -> None:
    """Half a view is worse than none: whoever owns the watcher is told at once."""
    made, told = world(), threading.Event()
    server = cluster()
    reasons: list[BaseException] = []

    def die(problem: BaseException) -> None:
        reasons.append(problem)
        told.set()

    class Broken(type(made.parts.cache)):  # type: ignore[misc] # the class of an object known at run time
        """Books with a mistake in them."""

        def set_nodes(self, records: Any) -> None:
            """Fail."""
            raise RuntimeError("mistake")

    cache = Broken(made.parts.settings.decisions, made.clock.monotonic, made.clock.wall)
    with serving(server) as url:
        watcher = Watcher(Endpoint(url, tls=False, headers=dict), cache, made.parts.waiting, die)
        watcher.start()
        assert told.wait(20)
        watcher._thread.join(10)
    assert "mistake" in repr(reasons[0])


def test_the_watch_feeds_the_books(monkeypatch: pytest.MonkeyPatch) -> None:
    """Namespaces, policies, nodes, pods, queues: everything arrives, changes and goes."""
    made = world(ready=False)
    cache, server = made.parts.cache, cluster()
    server.put("/api/v1/pods", objects.pod("p", cpu="1", node="n1"))
    path = "/apis/slackwater.io/v1alpha1/admissionqueues"
    status = {"budget": {"cpu": "0"}, "driversRunning": 1}
    server.put(path, {"metadata": {"name": "q", "uid": "q"}, "spec": {}, "status": status})
    with serving(server) as url:
        problems: list[BaseException] = []
        watcher = Watcher(Endpoint(url, tls=False, headers=dict), cache, made.parts.waiting, problems.append)
        watcher.start()
        until(lambda: made.parts.verbs.cache.synced >= {"pods", "nodes", "namespaces", "SlackPolicy", "AdmissionQueue"})
        assert made.charged("n1") == {"uid-batch-p"}
        assert cache.governance.mode("batch") == "enforce"
        driver = objects.pod("d", labels={"slackwater.io/role": "driver"})
        made.get("/v1/rooms")  # an operator leads: its status is believed
        assert made.filter(driver, "n1")["FailedAndUnresolvableNodes"] == {"n1": "slackwater: driver budget used up"}
        until(lambda: server.watchers("/api/v1/pods") == 1)
        server.remove("/api/v1/pods", objects.pod("p"))
        server.put("/api/v1/namespaces", objects.namespace("batch", managed=False))
        until(lambda: not made.charged("n1") and not cache.governance.managed("batch"))
        assert watcher.review("good-token") == OPERATOR
        assert watcher.review("bad-token") is None
        server.review_seconds = 5.0
        monkeypatch.setattr(watch, "REVIEW_SECONDS", 0.1)  # a constant of the module, not its behaviour
        with pytest.raises(Unavailable, match=r"no answer within 0\.1 s"):  # told with a 503, as any trouble there
            watcher.review("good-token")
        watcher.stop()
        assert problems == []
