"""The filter's second look at queues and pools, for pods that came around the gate.

A driver over its queue's budget, or a pod of a job whose pool is closed, is refused for that reason. Only pods without
a live charge meet this: status lags behind what the operator has just released. And only while an operator leads: the
last words of a dead one would refuse for ever what the watchdog lets go. Which queue and which pool a pod belongs to is
answered by governance, as it is for the operator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import structlog
from pydantic import ValidationError

from slackwater.placement.reasons import FilterReason
from slackwater.resources import Resources
from slackwater.validation import refusal
from slackwater_cluster.apps.membership import app_id
from slackwater_cluster.customresources import AdmissionQueueStatus, ReservationPoolStatus, TrackedApp
from slackwater_cluster.customresources.base import Part
from slackwater_cluster.customresources.trackedapp import Category, Phase
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import CustomRecord, PodRecord
from slackwater_cluster.pods.quantities import resources

log = structlog.get_logger(__name__)

STATUS: Mapping[str, type[Part]] = {"AdmissionQueue": AdmissionQueueStatus, "ReservationPool": ReservationPoolStatus}
# The kinds of custom resources that the guard reads.
GUARDED = (*STATUS, "TrackedApp")
# Seconds after which an operator that has asked nothing leads no longer: one that does asks for use every ten seconds.
SILENCE = 30.0
# Phases of an app that has not passed admission and pool.
OUTSIDE = (Phase.WAITING, Phase.REFUSED)


class Guard:
    """Queues, pools and apps as their status tells."""

    def __init__(self, governance: Governance) -> None:
        self._governance = governance
        self._queues: dict[str, AdmissionQueueStatus] = {}
        self._pools: dict[str, ReservationPoolStatus] = {}
        self._waiting: dict[str, Category] = {}  # apps that have not passed, by namespace/app id
        self._app_ids: dict[str, str] = {}  # by namespace/name of the object
        self._asked = -math.inf  # when an operator last did

    def set(self, kind: str, records: Iterable[CustomRecord]) -> None:
        """Take over objects of one kind; one whose status cannot be read guards nothing."""
        records = list(records)
        if kind in STATUS:
            self._governance.set(kind, records)
        for record in records:
            try:
                self._put(kind, record)
            except ValidationError as problem:
                log.warning("not understood", kind=kind, name=record.name, problem=": ".join(refusal(problem.errors())))
                self._forget(kind, record)

    def drop(self, kind: str, records: Iterable[CustomRecord]) -> None:
        """Forget objects."""
        records = list(records)
        if kind in STATUS:
            self._governance.drop(kind, records)
        for record in records:
            self._forget(kind, record)

    def asked(self, now: float) -> None:
        """An operator that leads has asked us something."""
        self._asked = now

    def speaks(self, now: float) -> bool:
        """Whether what status tells is kept up to date. An extender that was never asked cannot know."""
        return now - self._asked <= SILENCE

    def verdict(self, pod: PodRecord, app: str, *, driver: bool) -> FilterReason | None:
        """Why the pod may not start at all now, if so. `app` is namespace/id."""
        queue = self._governance.queue_of(pod.namespace)
        if driver and self._over_budget(queue, pod.declared):
            return FilterReason.DRIVER_BUDGET
        return FilterReason.POOL_CLOSED if self._closed(queue, app) else None

    def _put(self, kind: str, record: CustomRecord) -> None:
        if kind in STATUS and not record.status:  # nobody wrote one yet
            self._forget(kind, record)
        elif kind == "AdmissionQueue":
            self._queues[record.name] = AdmissionQueueStatus.model_validate(record.status)
        elif kind == "ReservationPool":
            self._pools[record.name] = ReservationPoolStatus.model_validate(record.status)
        else:
            found = TrackedApp.model_validate({"spec": record.spec, "status": record.status or None})
            app = app_id(record.namespace, found.spec.app)
            self._app_ids[_key(record)] = app
            # Of the many that have passed, or are over, nothing is kept: a whole object of each took 6 kB.
            if (category := _outside(found)) is None:
                self._waiting.pop(app, None)
            else:
                self._waiting[app] = category

    def _forget(self, kind: str, record: CustomRecord) -> None:
        if kind == "AdmissionQueue":
            self._queues.pop(record.name, None)
        elif kind == "ReservationPool":
            self._pools.pop(record.name, None)
        else:
            self._waiting.pop(self._app_ids.pop(_key(record), ""), None)

    def _over_budget(self, queue: str, declared: Resources) -> bool:
        status = self._queues.get(queue)
        if status is None or not status.budget or status.drivers_running == 0:  # one app may always start
            return False
        budget = resources({kind: str(value) for kind, value in status.budget.items()})
        return any(kind in status.budget for kind in declared.lacking(budget))

    def _closed(self, queue: str, app: str) -> bool:
        category = self._waiting.get(app)
        pool = self._pools.get(self._governance.pool_of(queue)) if category is not None else None
        if pool is None:
            return False
        side = pool.small if category is Category.SMALL else pool.large
        return side.available <= 0


def _outside(app: TrackedApp) -> Category | None:
    """The category of an app that has not passed admission and pool; None of any other, or where it is not known."""
    return app.status.category if app.status is not None and app.status.phase in OUTSIDE else None


def _key(record: CustomRecord) -> str:
    return f"{record.namespace}/{record.name}"
