"""How large the runs of an app turn out to be, for the next one that comes with a driver only.

A run is known by what was the most of it at one time: executors are gone before their driver is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from slackwater.errors import SlackwaterError
from slackwater_cluster.apps.size import HISTORY, AppSize
from slackwater_cluster.customresources.trackedapp import Learned
from slackwater_cluster.pods.quantities import resources
from slackwater_operator.cache.apps.appview import AppView, run_size

# Series of runs whose size is remembered; the one learned longest ago goes first.
MOST = 10_000

Key = tuple[str, str]  # namespace and series


class PresentRun(NamedTuple):
    """The most of a run at one time, and when its last task was created."""

    size: AppSize
    last_task: float


class RunHistory:
    """Sizes of the present runs by app, and of the last run by series."""

    def __init__(self) -> None:
        self._present: dict[str, PresentRun] = {}
        self._past: dict[Key, AppSize] = {}

    def observe(self, each: AppView) -> None:
        """Look at an app; what is over has become the past of its series."""
        size = run_size(each) if each.has_driver else None
        if size is not None:
            self._grow(each, size)
        if each.over:
            self._end(each)

    def gone(self, each: AppView) -> None:
        """The app's last pod is gone."""
        self._end(each)

    def expected(self, each: AppView) -> AppSize | None:
        """As many tasks as the last run of this series had; those that exist already say themselves what they ask.

        In a first run: as many as there were when they went with their driver, which comes again. A driver that had
        tasks and gave them back is not asked to have as many again.
        """
        past, present = self._past.get((each.namespace, each.series)), run_size(each)
        if past is None:
            return self._before(each) if present is None else None
        return replace(past, request=present.request) if present else past

    def learned(self, each: AppView) -> AppSize | None:
        """What is to be kept over a restart: this run's size as far as it is known, else the last one's."""
        known = self._present.get(each.id)
        return known.size if known is not None else self.expected(each)

    def opted_out(self, each: AppView) -> None:
        """Its pods are not ours any more: nobody saw its run end."""
        self._present.pop(each.id, None)

    def restore(self, namespace: str, written: Mapping[str, object], present: AppView | None = None) -> None:
        """Take over what a leader before us learned; what cannot be read is as good as never learned.

        Of an app that is here with tasks of its own (`present`) it is the size of this run, else that of the last one.
        """
        try:
            found = Learned.model_validate(written)
            size = AppSize(found.tasks, resources({kind: str(value) for kind, value in found.request.items()}), HISTORY)
        except (ValueError, SlackwaterError):
            return
        if present is not None and run_size(present) is not None:
            self._grow(present, size)
        else:
            self._keep((namespace, found.series), size)

    def _before(self, each: AppView) -> AppSize | None:
        """The size of this run, for a driver that is newer than its last task; where an older one is there, nothing."""
        known = self._present.get(each.id)
        if known is None or each.led_since is None or each.led_since <= known.last_task:
            return None
        return known.size

    def _grow(self, each: AppView, size: AppSize) -> None:
        """It has tasks now, so many."""
        known = self._present.get(each.id)
        most = known.size if known is not None and known.size.tasks >= size.tasks else size
        last = max(each.last_task or 0.0, known.last_task if known is not None else 0.0)
        self._present[each.id] = PresentRun(most, last)

    def _end(self, each: AppView) -> None:
        known = self._present.pop(each.id, None)
        if known is not None:
            self._keep((each.namespace, each.series), known.size)

    def _keep(self, key: Key, size: AppSize) -> None:
        self._past.pop(key, None)
        self._past[key] = size
        while len(self._past) > MOST:
            del self._past[next(iter(self._past))]
