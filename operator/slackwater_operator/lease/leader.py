"""One leader among the replicas, by a Lease, with the client library's own election.

    renewed every second          it leads; `holds` says so to every write, by the time of the last renewal
    not renewed for a lease       another replica takes it, and lets writes that are still on their way settle
    told to stop                  it gives the Lease back, so that the next one leads within a second
    an answer that is no Lease    one attempt that failed, as without an answer
    its release loop turns        each renewal says so on the Lease: a leader that cannot even list is no leader for the
                                  watchdog, however often it is started again

A leader that loses its Lease ends its process: whatever it was about to write must not be written. So does a follower
whose election ended: it could never lead.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import structlog
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_operator.settings import Settings

log = structlog.get_logger(__name__)

LEASE = "slackwater-operator"
# Seconds between two renewals.
RENEWAL = 1
# Seconds of its Lease that a leader leaves unused, so that it has ended its process before another one leads.
SPARE = 2
# Seconds in which writes of a leader that did not resign may still arrive. Room it reserved stays reserved for longer.
SETTLE = 2.0
# Seconds for which a release loop that turned counts as turning.
TURNING = 10.0


def identity(settings: Settings) -> str:
    """The name of this replica, in the Lease and to kopf."""
    return settings.identity or f"{socket.gethostname()}-{os.getpid()}"


@dataclass
class Election:
    """Waits for leadership in a thread. `leases` is the API to use; None: that of the settings' cluster."""

    settings: Settings
    leases: Any = None
    pause: Callable[[float], Any] = asyncio.sleep
    _attempts: Attempts | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.identity = identity(self.settings)

    async def lead(self, lost: asyncio.Event) -> None:
        """Return once this replica leads; `lost` is set when it does so no longer. Raises where it never will."""
        if self.settings.lead_alone:
            return
        loop = asyncio.get_running_loop()
        leading: asyncio.Future[None] = loop.create_future()
        attempts = await asyncio.to_thread(self._prepare)
        # A thread of its own: the library's loop ends only with the leadership.
        threading.Thread(target=self._run, args=(attempts, loop, leading, lost), daemon=True, name="election").start()
        await leading
        if attempts.before not in ("", self.identity):
            log.info("taking over", leader=attempts.before, seconds=SETTLE)
            await self.pause(SETTLE)

    def holds(self) -> bool:
        """Whether the Lease is ours at this moment, by our own clock and the last renewal that was answered."""
        if self.settings.lead_alone:
            return True
        return self._attempts is not None and self._attempts.age() < self.settings.lease_seconds

    def turned(self) -> None:
        """The release loop turns: the next renewals say so."""
        if self._attempts is not None:
            self._attempts.turned()

    def resign(self) -> None:
        """Give the Lease back, if we have it: nobody need wait until it is over."""
        if self._attempts is not None and self.holds():
            self._attempts.resign(LEASE, self.settings.namespace)

    def _prepare(self) -> Attempts:
        logging.getLogger("leaderelection").setLevel(logging.WARNING)  # it logs every renewal
        if self.leases is None:
            _load(self.settings.kubeconfig)
            self.leases = client.CoordinationV1Api()
        # Two attempts must fit into the time in which a leader has to renew.
        self._attempts = Attempts(self.leases, max(1.0, (self.settings.lease_seconds - SPARE) / 2))
        return self._attempts

    def _run(
        self, attempts: Attempts, loop: asyncio.AbstractEventLoop, leading: asyncio.Future[None], lost: asyncio.Event
    ) -> None:
        def started() -> None:
            loop.call_soon_threadsafe(_settle, leading)

        def ended() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_end, leading, lost)

        try:
            self._elect(attempts, started, ended)
        finally:
            ended()

    def _elect(self, attempts: Attempts, started: Callable[[], None], ended: Callable[[], None]) -> None:
        seconds = self.settings.lease_seconds
        # The client library has no types.
        lock = LeaseLock(LEASE, self.settings.namespace, self.identity)  # type: ignore[no-untyped-call]
        lock.api_instance = attempts  # type: ignore[assignment]  # it stands in for the API
        chosen = electionconfig.Config(  # type: ignore[no-untyped-call]
            lock,
            lease_duration=seconds,
            renew_deadline=seconds - SPARE,
            retry_period=RENEWAL,
            onstarted_leading=started,
            onstopped_leading=ended,
        )
        election = leaderelection.LeaderElection(chosen)  # type: ignore[no-untyped-call]
        self._look_back(attempts, election, lock)
        election.run()  # type: ignore[no-untyped-call]

    def _look_back(self, attempts: Attempts, election: Any, lock: Any) -> None:
        """Count the silence before we came, as the API server's own clock has it, instead of a whole Lease anew."""
        try:
            lease, date = attempts.dated(LEASE, self.settings.namespace)
        except ApiException:
            return
        if (quiet := silence(lease, date)) is not None:
            election.observed_record = lock.get_lock_object(lease)
            # Both times are whole seconds of the server's.
            election.observed_time_milliseconds = int((time.time() - max(0.0, quiet - 2)) * 1000)


class Attempts:
    """The Lease API as the election calls it: whatever is not answered with a Lease is one attempt that failed.

    A server may be away, or silent, or a proxy before it may answer with a page of its own. The library expects nothing
    but ApiException. Any other error would end its loop: a leader would leave although its Lease still holds, and a
    follower would never lead again.
    """

    def __init__(self, leases: Any, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._leases, self._timeout, self._clock = leases, timeout, clock
        self._lock = threading.Lock()
        self._resigned = False
        self._renewed: float | None = None  # when the last renewal that was answered had been sent
        self._turned = -TURNING  # when the release loop was last known to turn
        self._holder, self._previous = "", ""  # as the Lease says, and who was that before
        self.before = ""  # who held the Lease when it became ours; "": nobody, or somebody who gave it back

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._leases, name)

        def attempt(*words: Any, **named: Any) -> Any:
            with self._lock:
                if self._resigned:
                    raise ApiException(status=0, reason="resigned")
                if name == "replace_namespaced_lease":
                    self._say(named["body"])
                return self._observed(name, self._clock(), self._asked(call, *words, **named))

        return attempt

    def turned(self) -> None:
        """The release loop turns."""
        self._turned = self._clock()

    def _say(self, lease: Any) -> None:
        """Write on a Lease that is renewed when the release loop was last known to turn."""
        said = dict(lease.metadata.annotations or {})
        if self._clock() - self._turned < TURNING:
            said[names.TURNED] = str(lease.spec.renew_time)
        lease.metadata.annotations = {names.TURNED: names.NEVER, **said}

    def age(self) -> float:
        """Seconds since the last renewal was sent; infinite before the first."""
        return float("inf") if self._renewed is None else self._clock() - self._renewed

    def dated(self, name: str, namespace: str) -> tuple[Any, str]:
        """The Lease, and when the server answered, by its own clock; "" where it does not say."""
        date = ""

        def read(*words: Any, **named: Any) -> Any:
            nonlocal date
            lease, _, headers = self._leases.read_namespaced_lease_with_http_info(*words, **named)
            date = headers.get("Date", "")
            return lease

        return self._asked(read, name, namespace), date

    def resign(self, name: str, namespace: str) -> None:
        """Renew no more, and write that nobody holds the Lease; a server that does not answer is left alone."""
        with self._lock:
            self._resigned = True
            try:
                lease = self._asked(self._leases.read_namespaced_lease, name, namespace)
                if lease.spec is not None and lease.spec.holder_identity == self._holder:
                    lease.spec.holder_identity = None
                    self._asked(self._leases.replace_namespaced_lease, name=name, namespace=namespace, body=lease)
                    log.info("the lease is given back")
            except ApiException as problem:
                log.warning("the lease runs out by itself", trouble=problem.reason)

    def _asked(self, call: Callable[..., Any], *words: Any, **named: Any) -> Any:
        try:
            return _expect_lease(call(*words, _request_timeout=self._timeout, **named))
        except ApiException:
            raise
        except Exception as problem:
            log.warning("no answer about the lease that can be read", trouble=repr(problem)[:500])
            raise ApiException(status=0, reason=str(problem)) from problem

    def _observed(self, name: str, sent: float, lease: Any) -> Any:
        spec = getattr(lease, "spec", None)
        holder = (spec.holder_identity or "") if spec is not None else ""
        if not name.startswith("read_"):
            if self._renewed is None:  # a write before this one may have taken it, without an answer
                self.before = self._previous if self._holder == holder else self._holder
            self._renewed = sent
        if holder != self._holder:
            self._holder, self._previous = holder, self._holder
        return lease


def _expect_lease(answer: Any) -> Any:
    """The answer, if it is an object that the API server keeps: each has a version."""
    if not answer.metadata.resource_version:
        raise ValueError("the answer is no Lease")
    return answer


def silence(lease: Any, date: str) -> float | None:
    """Seconds from the Lease's last write to an answer of the API server, both by its clock; None where not said."""
    times = [entry.time for entry in (lease.metadata and lease.metadata.managed_fields) or () if entry.time]
    try:
        return float((parsedate_to_datetime(date) - max(times)).total_seconds())
    except (TypeError, ValueError):  # no times, or one without a zone
        return None


def _settle(leading: asyncio.Future[None]) -> None:
    if not leading.done():
        leading.set_result(None)


def _end(leading: asyncio.Future[None], lost: asyncio.Event) -> None:
    lost.set()
    if not leading.done():
        leading.set_exception(Unavailable("the election has ended: this replica would never lead"))


def _load(kubeconfig: Path | None) -> None:
    if kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ and not os.environ.get("KUBECONFIG"):
        config.load_incluster_config()  # type: ignore[no-untyped-call]  # the client library has no types
    else:
        config.load_kube_config(str(kubeconfig) if kubeconfig else None)  # type: ignore[no-untyped-call]
