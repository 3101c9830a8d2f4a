"""One leader at a time: who takes the Lease when, what it may write, and an API server that is away."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from kubernetes.client import V1Lease, V1LeaseSpec, V1ManagedFieldsEntry, V1ObjectMeta
from kubernetes.client.exceptions import ApiException
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from urllib3.exceptions import MaxRetryError, ReadTimeoutError

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


def candidate(leases: Leases, name: str, waited: list[float] | None = None) -> Election:
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
