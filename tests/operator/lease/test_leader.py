"""One leader at a time: who takes the Lease when, what it may write, and an API server that is away."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from kubernetes.client import (
    ApiClient,
    Configuration,
    CoordinationV1Api,
    V1Lease,
    V1LeaseSpec,
    V1ManagedFieldsEntry,
    V1ObjectMeta,
)
from kubernetes.client.exceptions import ApiException
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from urllib3.exceptions import MaxRetryError, ReadTimeoutError

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_operator.lease.leader import LEASE, SETTLE, Attempts, Election
from slackwater_operator.settings import Settings


class Leases:
    """The API server's Leases, with its own clock in managedFields."""

    def __init__(self) -> None:
        self.lease: V1Lease | None = None
        self._lock = threading.Lock()

    def hold(self, holder: str, ago: float) -> None:
        """As if somebody had written the Lease so many seconds ago."""
        then = datetime.now(UTC) - timedelta(seconds=ago)
        spec = V1LeaseSpec(holder_identity=holder, lease_duration_seconds=5, acquire_time=then, renew_time=then)
        self._keep(V1Lease(metadata=V1ObjectMeta(name=LEASE), spec=spec), then)

    @property
    def holder(self) -> str | None:
        """Who holds it."""
        return self.lease.spec.holder_identity if self.lease and self.lease.spec else None

    def read_namespaced_lease(self, *_: Any, **__: Any) -> V1Lease:
        """GET."""
        with self._lock:
            if self.lease is None:
                raise missing()
            return copy.deepcopy(self.lease)

    def read_namespaced_lease_with_http_info(self, *_: Any, **__: Any) -> tuple[V1Lease, int, dict[str, str]]:
        """GET, with the server's clock."""
        return self.read_namespaced_lease(), 200, {"Date": format_datetime(datetime.now(UTC), usegmt=True)}

    def create_namespaced_lease(self, _: str, body: V1Lease, **__: Any) -> V1Lease:
        """POST."""
        body.metadata = V1ObjectMeta(name=LEASE)
        return self._keep(body, datetime.now(UTC))

    def replace_namespaced_lease(self, *, body: V1Lease, **_: Any) -> V1Lease:
        """PUT: refused where somebody wrote meanwhile."""
        with self._lock:
            now = self.lease.metadata.resource_version if self.lease and self.lease.metadata else None
        if body.metadata is None or body.metadata.resource_version != now:
            raise ApiException(status=409, reason="Conflict")
        return self._keep(body, datetime.now(UTC))

    def _keep(self, lease: V1Lease, at: datetime) -> V1Lease:
        with self._lock:
            kept = copy.deepcopy(lease)
            assert kept.metadata is not None
            kept.metadata.resource_version = str(int(kept.metadata.resource_version or 0) + 1)
            kept.metadata.managed_fields = [V1ManagedFieldsEntry(time=at.replace(microsecond=0))]
            self.lease = kept
            return copy.deepcopy(kept)


def missing() -> ApiException:
    """As the API server says it."""
    problem = ApiException(status=404, reason="Not Found")
    problem.body = '{"code": 404}'
    return problem


def candidate(leases: Any, name: str, waited: list[float] | None = None) -> Election:
    """A replica that would lead."""

    async def pause(seconds: float) -> None:
        if waited is not None:
            waited.append(seconds)

    return Election(Settings(identity=name, lease_seconds=5), leases, pause)


def leads(election: Election, limit: float, then: Callable[[], None] = lambda: None) -> bool:
    """Whether it leads within so many seconds; then something else happens."""

    async def run() -> bool:
        try:
            await asyncio.wait_for(election.lead(asyncio.Event()), limit)
        except TimeoutError:
            return False
        then()
        return True

    return asyncio.run(run())


def test_a_leader_that_stops_hands_over_at_once() -> None:
    """It gives the Lease back, so the next one neither waits for its end nor for writes to settle."""
    leases, waited = Leases(), list[float]()
    first = candidate(leases, "first")
    assert leads(first, 2, first.resign)
    assert leases.holder is None
    assert leads(candidate(leases, "second", waited), 2)
    assert waited == []
    assert leases.lease is not None
    assert leases.lease.spec is not None
    assert leases.lease.spec.holder_identity == "second"


def test_the_silence_before_a_start_counts() -> None:
    """All replicas were killed: one that starts does not watch the old Lease for its whole time once more."""
    leases, waited = Leases(), list[float]()
    leases.hold("killed", ago=8)
    assert leads(candidate(leases, "new", waited), 2)
    assert waited == [SETTLE]  # writes of the dead one may still arrive


def test_a_lease_that_was_renewed_a_moment_ago_is_respected() -> None:
    """However it came about: another one leads."""
    leases = Leases()
    leases.hold("other", ago=1)
    assert not leads(candidate(leases, "new"), 1.5)
    assert leases.holder == "other"


def test_who_led_before_is_asked_when_the_lease_is_taken() -> None:
    """Not when the process started: between the two another one may have led and died."""
    leases = Leases()
    attempts = Attempts(leases, 5.0)
    with pytest.raises(ApiException):
        attempts.read_namespaced_lease()
    leases.hold("came and died", ago=60)
    lease = attempts.read_namespaced_lease()
    lease.spec.holder_identity = "me"
    attempts.replace_namespaced_lease(body=lease)
    assert attempts.before == "came and died"


class Garbled(Leases):
    """Its first answer to a write cannot be read; the write is carried out."""

    def replace_namespaced_lease(self, *, body: V1Lease, **_: Any) -> V1Lease:
        """PUT."""
        first = self.holder != "me"
        lease = super().replace_namespaced_lease(body=body)
        if first:
            raise ValueError("<html>")
        return lease


def test_who_led_before_is_known_also_where_the_lease_was_taken_without_an_answer() -> None:
    """The next read shows us as its holder; writes of the dead one may arrive all the same."""
    leases, waited = Garbled(), list[float]()
    leases.hold("dead", ago=60)
    assert leads(candidate(leases, "me", waited), 5)
    assert waited == [SETTLE]


def test_the_right_to_write_ends_with_the_lease() -> None:
    """By our own clock, from the moment the last renewal was sent: no answer of the server is needed for it."""
    now = [100.0]
    election = candidate(Leases(), "me")
    leases = Leases()
    leases.hold("me", ago=0)
    election._attempts = attempts = Attempts(leases, 5.0, lambda: now[0])
    assert not election.holds()
    attempts.replace_namespaced_lease(body=attempts.read_namespaced_lease())
    assert election.holds()
    now[0] += election.settings.lease_seconds
    assert not election.holds()


def test_a_renewal_says_when_the_loop_last_turned() -> None:
    """And for as long as it does not turn, what an earlier leader said stays: its silence goes on."""
    now, leases = [100.0], Leases()
    leases.hold("me", ago=0)
    attempts = Attempts(leases, 5.0, lambda: now[0])
    said = list[str]()
    for turns in (False, True, False, False):
        if turns:
            attempts.turned()
        lease = attempts.read_namespaced_lease()
        lease.spec.renew_time = datetime.fromtimestamp(now[0], UTC)
        said.append(attempts.replace_namespaced_lease(body=lease).metadata.annotations[names.TURNED])
        now[0] += 6.0
    assert said == [names.NEVER, *(str(datetime.fromtimestamp(at, UTC)) for at in (106, 112, 112))]


def test_after_it_resigned_nobody_renews_in_its_name() -> None:
    """The election's thread may be about to: it would take the Lease back."""
    leases = Leases()
    leases.hold("me", ago=0)
    attempts = Attempts(leases, 5.0)
    lease = attempts.replace_namespaced_lease(body=attempts.read_namespaced_lease())
    attempts.resign(LEASE, "here")
    with pytest.raises(ApiException, match="resigned"):
        attempts.replace_namespaced_lease(body=lease)
    assert leases.holder is None


class Away:
    """A Lease API whose server cannot be reached."""

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    def read_namespaced_lease(self, *_: Any, **named: Any) -> None:
        """Fail as the library's HTTP client does; every call has a time limit."""
        assert named["_request_timeout"] > 0
        raise self._problem


@pytest.mark.parametrize(
    "problem",
    [MaxRetryError(None, "/leases", "refused"), ReadTimeoutError(None, "/leases", "silent")],  # type: ignore[arg-type]
    ids=["refused", "silent"],
)
def test_a_server_that_is_away_is_a_failed_attempt(problem: Exception) -> None:
    """The lock says no and keeps the reason; the election's loop goes on to its next try."""
    lock = LeaseLock("lease", "here", "me")  # type: ignore[no-untyped-call]  # the client library has no types
    lock.api_instance = Attempts(Away(problem), 5.0)  # type: ignore[assignment]  # it stands in for the API
    found, why = lock.get("lease", "here")  # type: ignore[no-untyped-call]
    assert not found
    assert isinstance(why, ApiException)
    assert why.reason == str(problem)


class Proxy:
    """One Lease behind a proxy that answers the requests of these numbers itself, the first being 1."""

    def __init__(self, wrong: dict[int, bytes]) -> None:
        self.wrong, self.lease, self.asked = wrong, dict[str, Any](), list[str]()

    @contextmanager
    def running(self) -> Iterator[CoordinationV1Api]:
        """The client library's own API, by HTTP."""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                status, body = proxy.answer(self.command, self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = handle_any  # noqa: N815 - the library's names

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        where = Configuration()
        where.host = f"http://127.0.0.1:{server.server_port}"
        try:
            yield CoordinationV1Api(ApiClient(where))
        finally:
            server.shutdown()
            server.server_close()

    def answer(self, method: str, body: bytes) -> tuple[int, bytes]:
        """What a request is told; one that the proxy answers itself is not carried out."""
        self.asked.append(method)
        if (page := self.wrong.get(len(self.asked))) is not None:
            return 200, page
        if method != "GET":
            self.lease = json.loads(body)
            self.lease["metadata"]["resourceVersion"] = str(len(self.asked))
        return (200, json.dumps(self.lease).encode()) if self.lease else (404, b'{"code": 404}')


UNREADABLE = [b"<html>Sign in</html>", b"[]", b"{}", b'{"metadata": {"na']


def test_an_answer_that_cannot_be_read_is_a_failed_attempt() -> None:
    """A proxy's, or a login page's: it leads with the next attempt, and never by an answer that is no Lease.

    To the look back, to a read or to the write; all at once, as attempts are a second apart.
    """
    proxies = [Proxy({number: page}) for number in (1, 2, 3) for page in UNREADABLE]

    async def run(apis: list[CoordinationV1Api]) -> None:
        await asyncio.gather(*(asyncio.wait_for(candidate(leases, "me").lead(asyncio.Event()), 5) for leases in apis))

    with ExitStack() as running:
        asyncio.run(run([running.enter_context(proxy.running()) for proxy in proxies]))
        assert [proxy.lease["spec"]["holderIdentity"] for proxy in proxies] == ["me"] * len(proxies)


def test_a_leader_survives_an_answer_that_cannot_be_read() -> None:
    """Its Lease still holds, and the next renewal comes a second later."""
    proxies = [Proxy({4: page, 6: page}) for page in UNREADABLE]  # a read, then the write of the renewal after it

    async def lead(leases: CoordinationV1Api) -> tuple[bool, bool]:
        lost = asyncio.Event()
        election = candidate(leases, "me")
        await election.lead(lost)
        await asyncio.sleep(3.5)
        return election.holds(), lost.is_set()

    async def run(apis: list[CoordinationV1Api]) -> list[tuple[bool, bool]]:
        return await asyncio.gather(*map(lead, apis))

    with ExitStack() as running:
        found = asyncio.run(run([running.enter_context(proxy.running()) for proxy in proxies]))
    assert found == [(True, False)] * len(proxies)
    assert all(proxy.asked.count("PUT") >= 2 for proxy in proxies)


class Ending(Leases):
    """Ends the thread that asks."""

    def read_namespaced_lease(self, *_: Any, **__: Any) -> V1Lease:
        """Leave at once."""
        raise SystemExit


def test_a_follower_whose_election_ended_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ended its thread: it fails, so that the process ends and is started anew."""
    monkeypatch.setattr(threading, "excepthook", lambda _: None)  # its thread ends loudly, as it should

    async def run() -> None:
        await asyncio.wait_for(candidate(Ending(), "me").lead(asyncio.Event()), 5)

    with pytest.raises(Unavailable, match="election"):
        asyncio.run(run())
