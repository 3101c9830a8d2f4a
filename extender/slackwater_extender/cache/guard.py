"""The filter's second look at queues and pools, for pods that came around the gate.

A driver over its queue's budget, or a pod of a job whose pool is closed, is refused for that reason. Only pods without
a live charge meet this: status lags behind what the operator has just released.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import structlog
from pydantic import ValidationError

from slackwater.placement.reasons import FilterReason
from slackwater.resources import Resources
from slackwater_cluster.customresources import AdmissionQueue, ReservationPool, TrackedApp
from slackwater_cluster.customresources.base import Part
from slackwater_cluster.customresources.trackedapp import Category, Phase
from slackwater_cluster.pods.quantities import resources
from slackwater_cluster.watch.records import CustomRecord, PodRecord

log = structlog.get_logger(__name__)

MODELS: Mapping[str, type[Part]] = {
    "AdmissionQueue": AdmissionQueue,
    "ReservationPool": ReservationPool,
    "TrackedApp": TrackedApp,
}
# Phases of an app that has not passed admission and pool.
OUTSIDE = (Phase.WAITING, Phase.REFUSED)


class Guard:
    """Queues, pools and apps as their status tells."""

    def __init__(self) -> None:
        self._queues: dict[str, AdmissionQueue] = {}
        self._pools: dict[str, ReservationPool] = {}
        self._apps: dict[str, TrackedApp] = {}  # by namespace/app id
        self._app_ids: dict[str, str] = {}  # by namespace/name of the object

    def set(self, kind: str, records: Iterable[CustomRecord]) -> None:
        """Take over objects of one kind; one that cannot be read guards nothing."""
        for record in records:
            try:
                found = MODELS[kind].model_validate({"spec": record.spec, "status": record.status or None})
            except ValidationError as problem:
                log.warning("not understood", kind=kind, name=record.name, problem=problem.errors()[0]["msg"])
                self.drop(kind, [record])
            else:
                self._put(record, found)

    def drop(self, kind: str, records: Iterable[CustomRecord]) -> None:
        """Forget objects."""
        for record in records:
            if kind == "AdmissionQueue":
                self._queues.pop(record.name, None)
            elif kind == "ReservationPool":
                self._pools.pop(record.name, None)
            else:
                self._apps.pop(self._app_ids.pop(_key(record), ""), None)

    def verdict(self, pod: PodRecord, app: str, *, driver: bool) -> FilterReason | None:
        """Why the pod may not start at all now, if so. `app` is namespace/id."""
        name = self._queue_of(pod.namespace)
        if name is None:
            return None
        if driver and self._over_budget(self._queues[name], pod.declared):
            return FilterReason.DRIVER_BUDGET
        return FilterReason.POOL_CLOSED if self._closed(name, app) else None

    def _put(self, record: CustomRecord, found: Part) -> None:
        if isinstance(found, AdmissionQueue):
            self._queues[record.name] = found
        elif isinstance(found, ReservationPool):
            self._pools[record.name] = found
        elif isinstance(found, TrackedApp):
            app = f"{record.namespace}/{found.spec.app}"
            self._apps[app] = found
            self._app_ids[_key(record)] = app

    def _queue_of(self, namespace: str) -> str | None:
        """The queue that names the namespace, else the one that takes all others."""
        rest = None
        for name, queue in sorted(self._queues.items()):
            if namespace in queue.spec.namespaces:
                return name
            if not queue.spec.namespaces:
                rest = rest or name
        return rest

    def _over_budget(self, queue: AdmissionQueue, declared: Resources) -> bool:
        status = queue.status
        if status is None or not status.budget or status.drivers_running == 0:  # one app may always start
            return False
        budget = resources({kind: str(value) for kind, value in status.budget.items()})
        return any(kind in status.budget for kind in declared.lacking(budget))

    def _closed(self, queue: str, app: str) -> bool:
        tracked = self._apps.get(app)
        if tracked is None or tracked.status is None or tracked.status.phase not in OUTSIDE:
            return False
        pool = next((each for each in self._pools.values() if each.spec.queue == queue and each.status), None)
        if pool is None or pool.status is None or tracked.status.category is None:
            return False
        side = pool.status.small if tracked.status.category is Category.SMALL else pool.status.large
        return side.available <= 0


def _key(record: CustomRecord) -> str:
    return f"{record.namespace}/{record.name}"
