"""`python -m slackwater_operator.lease.watchdog`: the dead-man switch.

It runs outside our namespace, and needs nothing of ours.

    the Lease of the operator is renewed,    pods are held, as policies say
    by a leader whose release loop turns
    not renewed for `patience` seconds       new pods are not held any more; held ones are let go, `rate` a second,
                                             oldest first, and none waits for the write of another
    renewed again                            pods are held again

The switch is also its memory: one that starts anew and finds it off goes on letting pods go, unless somebody leads by
its second look. Only a renewal that it saw itself turns the switch on.

CEL has no clock, so the admission policy asks the authorizer whether the operator's account may `hold` gates. The
ClusterRoleBinding that says so is the switch: it grants nothing else, and it is all that this account may change but
for gates. Time in which the API server itself does not answer is no sign of a dead operator, and does not count.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import structlog
from pydantic import Field
from pydantic_settings import BaseSettings

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.admissionpolicies.mutating import HOLDING
from slackwater_cluster.api.contenttypes import MERGE
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.pods.unbound import UnboundPod
from slackwater_cluster.pods.ungate import IN_FLIGHT, Ungater
from slackwater_cluster.settings import flags, last_word, program, refusing

log = structlog.get_logger(__name__)

LEASE = "slackwater-operator"
SWITCH = api_path("clusterrolebindings", HOLDING, group="rbac.authorization.k8s.io")
SECONDS = 10.0  # for one answer
# What an answer of the wrong shape leads to, as of a proxy's or a login page's: no sign of a dead operator either.
UNREADABLE = (AttributeError, LookupError, TypeError, ValueError)


class WatchdogSettings(BaseSettings):
    """Everything that can be set, with unit and the reason for the number."""

    model_config = program("watchdog")

    kubeconfig: Path | None = Field(
        default=None, description="A kubeconfig; else the pod's account, else ~/.kube/config."
    )
    namespace: str = Field(default=names.SYSTEM_NAMESPACE, description="Where the operator's Lease lives.")
    patience: float = Field(
        default=120.0,
        ge=1,
        description="Seconds without a leader before pods are let go; an upgrade takes less.",
    )
    period: float = Field(default=5.0, gt=0, le=60, description="Seconds between two looks at the Lease.")
    rate: float = Field(default=10.0, gt=0, le=1000, description="Held pods let go in a second, oldest first.")


@dataclass
class LeaseWatch:
    """For how long the Lease has not been renewed, by our own clock: clocks of other machines may be wrong."""

    clock: Callable[[], float] = monotonic
    _renewed: str | None = None  # None before the first answer
    _last: float | None = None  # the last answer
    silent: float = 0.0

    @property
    def new(self) -> bool:
        """Whether nothing was observed yet: the next answer tells nothing about how old it is."""
        return self._renewed is None

    def observe(self, renewed: str) -> float:
        """An answer: when the Lease says it was renewed ("" where there is none). Returns the seconds of silence."""
        now = self.clock()
        passed = 0.0 if self._last is None else now - self._last
        self.silent = 0.0 if renewed and renewed != self._renewed else self.silent + passed
        self._renewed, self._last = renewed, now
        return self.silent

    def unanswered(self) -> None:
        """The API server did not answer: this time counts for nothing."""
        self._last = self.clock()


@dataclass
class Watchdog:
    """Looks at the Lease, turns the switch and lets pods go."""

    session: Session
    settings: WatchdogSettings
    lease: LeaseWatch
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    _next: deque[UnboundPod] = field(default_factory=deque)  # held pods in the order of their turns
    _done: int = 0  # pods let go since the look began
    _began: float = 0.0  # the look

    def __post_init__(self) -> None:
        self._ungater = Ungater(self.session)

    async def run(self) -> None:
        """Look again and again, once in a period."""
        while True:
            await self.look()
            await self.pause(self._left())

    async def look(self) -> int:
        """One look; returns how many pods were let go."""
        self._began = self.lease.clock()
        try:
            if self.lease.new:
                await self._begin()
                return 0
            silent = self.lease.observe(await self._renewed())
            if silent < self.settings.patience:
                await self._stop()
                if silent == 0.0:
                    await self._switch(on=True)
                return 0
            await self._switch(on=False)
            return await self._free()
        except (Unavailable, *UNREADABLE) as problem:
            log.warning("the API server gives no answer that can be read", trouble=repr(problem)[:500])
            self.lease.unanswered()
            return 0

    async def _begin(self) -> None:
        """The first look. A switch that is off says that nobody has led for long: the patience is over already."""
        subjects = await self._subjects()
        self.lease.observe(await self._renewed())
        if subjects == []:
            self.lease.silent = self.settings.patience

    async def _renewed(self) -> str:
        """When the Lease was last renewed by a leader that turns; "" where it is gone, or nobody holds it.

        A refusal says neither. Earlier operators do not say whether they turn: every renewal of theirs counts.
        """
        path = api_path("leases", LEASE, group="coordination.k8s.io", namespace=self.settings.namespace)
        answer = await self._get(path)
        if not answer.ok and answer.status != 404:
            raise Unavailable(answer.message())
        lease = answer.json() if answer.ok else {}
        spec, said = lease.get("spec") or {}, (lease.get("metadata") or {}).get("annotations") or {}
        turned = said.get(names.TURNED) or spec.get("renewTime") or ""
        return str(turned) if spec.get("holderIdentity") else ""

    async def _switch(self, *, on: bool) -> None:
        """Let the admission policy hold pods, or not. Written only where it is not so already."""
        wanted = [holder(self.settings.namespace)] if on else []
        if await self._subjects() in (None, wanted):
            return
        written = await self.session.write("PATCH", SWITCH, {"subjects": wanted}, content_type=MERGE, seconds=SECONDS)
        log.warning("pods are held again" if on else "no operator leads: pods are not held any more", ok=written.ok)

    async def _subjects(self) -> list[Any] | None:
        """Whom the switch names; None without it: then nothing is held."""
        answer = await self._get(SWITCH)
        return list(answer.json().get("subjects") or []) if answer.ok else None

    def _left(self, pods: int = 0) -> float:
        """Seconds until the next look: a period after this one began, or later, if so many pods take longer."""
        lasts = max(self.settings.period, pods / self.settings.rate)
        return max(0.0, self._began + lasts - self.lease.clock())

    async def _stop(self) -> None:
        """Let nobody go: somebody leads."""
        self._next.clear()
        await self._ungater.stop()

    async def _free(self) -> int:
        """Begin to lift our gate from the held pods whose turn it is, as many as the rate allows until the next look.

        They are begun evenly, and a look waits for none of them: a write that takes long holds up neither the others
        nor the next look at the Lease. Pods are listed again when all of a list had their turn: while nobody leads none
        is held anew.
        """
        self._done, tried = 0, 0
        most = max(1, round(self.settings.rate * self.settings.period))
        if not self._next:
            self._next = deque(await self._ungater.turns(seconds=SECONDS))
        most = min(len(self._next), most)
        for number in range(most):
            if self._ungater.ready(self._next[0]):
                self._ungater.begin(self._next.popleft(), self._told)
                tried += 1
            await self.pause(min(1 / self.settings.rate, self._left(most) / (most - number)))
        if most:
            log.warning("held pods let go", pods=self._done, tried=tried)
        return self._done

    def _told(self, pod: UnboundPod, done: bool, trouble: str) -> None:
        self._done += done
        if trouble:
            log.warning("not let go", pod=f"{pod.namespace}/{pod.name}", trouble=trouble)

    async def _get(self, path: str) -> Answer:
        answer = await self.session.get(path, seconds=SECONDS)
        if answer.status == 429 or answer.status >= 500:
            raise Unavailable(answer.message())
        return answer


def holder(namespace: str) -> dict[str, str]:
    """The subject that the admission policy asks about: the operator's account."""
    return {"kind": "ServiceAccount", "name": "slackwater-operator", "namespace": namespace}


async def serve(settings: WatchdogSettings) -> None:
    """Run until stopped."""
    async with Session(endpoint(settings.kubeconfig), in_flight=IN_FLIGHT) as session:
        await Watchdog(session, settings, LeaseWatch()).run()


def main() -> None:
    """The program."""
    with last_word():
        with refusing("watchdog"):
            settings = WatchdogSettings(_cli_settings_source=flags(WatchdogSettings, sys.argv[1:]))  # pyright: ignore[reportCallIssue]
        asyncio.run(serve(settings))


if __name__ == "__main__":
    main()
