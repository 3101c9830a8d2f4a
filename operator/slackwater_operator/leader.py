"""One leader among the replicas, by a Lease, with the client library's own election.

A leader that loses its Lease ends its process: whatever it was about to write must not be written.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from urllib3.exceptions import HTTPError

from slackwater_operator.settings import Settings

log = structlog.get_logger(__name__)

LEASE = "slackwater-operator"


def identity(settings: Settings) -> str:
    """The name of this replica, in the Lease and to kopf."""
    return settings.identity or f"{socket.gethostname()}-{os.getpid()}"


@dataclass
class Election:
    """Waits for leadership in a thread."""

    settings: Settings

    def __post_init__(self) -> None:
        self.identity = identity(self.settings)
        self.taken_over = False  # somebody else led a moment ago

    async def lead(self, lost: asyncio.Event) -> None:
        """Return once this replica leads; `lost` is set when it does so no longer."""
        if self.settings.lead_alone:
            return
        loop = asyncio.get_running_loop()
        leading: asyncio.Future[None] = loop.create_future()
        await asyncio.to_thread(self._prepare)
        # A thread of its own: the library's loop ends only with the leadership.
        threading.Thread(target=self._run, args=(loop, leading, lost), daemon=True, name="election").start()
        await leading
        if self.taken_over:
            # Writes of the dead leader may still be on their way for as long as its Lease would have lasted.
            log.info("taking over; waiting one lease", seconds=self.settings.lease_seconds)
            await asyncio.sleep(self.settings.lease_seconds)

    def _prepare(self) -> None:
        logging.getLogger("leaderelection").setLevel(logging.WARNING)  # it logs every renewal
        _load(self.settings.kubeconfig)
        try:
            lease = client.CoordinationV1Api().read_namespaced_lease(LEASE, self.settings.namespace)
        except ApiException:
            return
        spec = lease.spec
        if spec is None or not spec.holder_identity or spec.holder_identity == self.identity or spec.renew_time is None:
            return
        age = (datetime.now(UTC) - spec.renew_time).total_seconds()
        self.taken_over = age < 4 * self.settings.lease_seconds

    def _run(self, loop: asyncio.AbstractEventLoop, leading: asyncio.Future[None], lost: asyncio.Event) -> None:
        seconds = self.settings.lease_seconds

        def started() -> None:
            loop.call_soon_threadsafe(_settle, leading)

        def ended() -> None:
            loop.call_soon_threadsafe(lost.set)

        # The client library has no types.
        lock = LeaseLock(LEASE, self.settings.namespace, self.identity)  # type: ignore[no-untyped-call]
        deadline = max(2, seconds * 2 // 3)
        lock.api_instance = Attempts(lock.api_instance, deadline)  # type: ignore[assignment]  # it stands in for the API
        chosen = electionconfig.Config(  # type: ignore[no-untyped-call]
            lock,
            lease_duration=seconds,
            renew_deadline=deadline,
            retry_period=max(1, seconds // 5),
            onstarted_leading=started,
            onstopped_leading=ended,
        )
        try:
            leaderelection.LeaderElection(chosen).run()  # type: ignore[no-untyped-call]
        finally:
            ended()


class Attempts:
    """The Lease API as the election calls it: a server that is away, or does not answer, is one attempt that failed.

    The library expects nothing but ApiException. Any other error would end its loop: a leader would leave although its
    Lease still holds, and a follower would never lead again.
    """

    def __init__(self, leases: Any, timeout: float) -> None:
        self._leases, self._timeout = leases, timeout

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._leases, name)

        def attempt(*words: Any, **named: Any) -> Any:
            try:
                return call(*words, _request_timeout=self._timeout, **named)
            except HTTPError as problem:
                raise ApiException(status=0, reason=str(problem)) from problem

        return attempt


def _settle(leading: asyncio.Future[None]) -> None:
    if not leading.done():
        leading.set_result(None)


def _load(kubeconfig: Path | None) -> None:
    if kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ and not os.environ.get("KUBECONFIG"):
        config.load_incluster_config()  # type: ignore[no-untyped-call]  # the client library has no types
    else:
        config.load_kube_config(str(kubeconfig) if kubeconfig else None)  # type: ignore[no-untyped-call]
