"""All apps as they are now: put together from their pods, and from what was seen of them and their series before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import structlog

from slackwater.pools.appphases import AppPhases
from slackwater.pools.phases import Window
from slackwater.roles import Role
from slackwater_cluster.apps.membership import app_id
from slackwater_cluster.apps.resolver import role_of
from slackwater_cluster.apps.size import StatedSize
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache import phases as watching
from slackwater_operator.cache.apps import sizeobject
from slackwater_operator.cache.apps.apphistory import AppHistories, AppName
from slackwater_operator.cache.apps.appindex import AppIndex, Key
from slackwater_operator.cache.apps.appview import AppView, app_view
from slackwater_operator.cache.podstate import InFlightPods
from slackwater_operator.cache.quarantine import Part, Quarantine, sentence
from slackwater_operator.learning.runhistory import RunHistory

log = structlog.get_logger(__name__)


class AppViews(Mapping[str, AppView]):
    """Every app by its name in the whole cluster, as of the last `refresh`.

    `ask_sizes` tells whether somebody looks up the sizes that frameworks' objects state.
    """

    def __init__(
        self,
        index: AppIndex,
        in_flight: InFlightPods,
        governing: Governance,
        quarantine: Quarantine,
        *,
        ask_sizes: bool = False,
    ) -> None:
        self.histories = AppHistories()
        self.runs = RunHistory()
        self.phases = AppPhases()
        self.ask_sizes = ask_sizes
        self._views: dict[str, AppView] = {}
        self._index = index
        self._in_flight = in_flight
        self._governing = governing
        self._quarantine = quarantine

    def __getitem__(self, app: str) -> AppView:
        return self._views[app]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    # -- what the watches tell of pods ------------------------------------------------------------------------------

    def observe(self, pod: PodRecord, now: float) -> None:
        """A pod as the index knows it: phases are told of tasks that run or ended; a driver ends with its app."""
        member = self._index.member(pod.uid)
        if member is not None and (pod.started or pod.done) and role_of(pod, member) is not Role.DRIVER:
            app = app_id(pod.namespace, member.app)
            watching.observe(self.phases, app, pod, member.stage, self._window(pod.namespace), now)

    def lose(self, pod: PodRecord, now: float) -> None:
        """A pod is gone; the index still knows it."""
        if (member := self._index.member(pod.uid)) is not None:
            self.histories.of(app_id(pod.namespace, member.app)).lose(pod, role_of(pod, member), now)
        watching.gone(self.phases, pod, now)

    def _window(self, namespace: str) -> Window:
        pool = self._governing.pools.get(self._governing.pool_of(self._governing.queue_of(namespace)))
        return watching.window(pool) if pool is not None else Window()

    # -- apps, put together -----------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Put apps together anew whose pods changed."""
        dirty, self._index.dirty = self._index.dirty, set()
        try:
            self._rebuild(sorted(dirty))  # in one order: the first app of a series says how large its tasks are
        except BaseException:
            self._index.dirty |= dirty  # or those not yet put together would drop out of the memory
            raise

    def _rebuild(self, dirty: Sequence[Key]) -> None:
        before = {key: self._views.pop(app_id(*key), None) for key in dirty}
        found = {key: self._portrait(key) for key in dirty}
        for key, each in found.items():
            if each is None or self.histories.follow(each):
                self._over(before[key], app_id(*key))
        # What ended first: the next run of its series may be among those that are new.
        seen = [self.histories.see(each) for each in found.values() if each is not None]
        for each in seen:
            self.runs.observe(each)
        for each in seen:
            self._views[each.id] = sized = self._sized(each)
            for stage, size in watching.sizes(sized).items():
                self.phases.expect(each.id, stage, size)

    def _over(self, old: AppView | None, app: str) -> None:
        """A run of an app is over: its last pod is gone, or the next run has begun."""
        if old is not None and self._governing.managed(old.namespace):
            self.runs.gone(old)
        elif old is not None:
            self.runs.opted_out(old)
        self.histories.forget(app)
        self.phases.forget(app)

    def _portrait(self, key: Key) -> AppView | None:
        """The app. One that cannot be put together is left out; the others go on."""
        try:
            pods = self._index.app(key)
            if not pods:
                return None
            left = self.histories.of(app_id(*key)).left
            return app_view(*key, pods, self._in_flight, self._index.table, left)
        except Exception as problem:
            log.exception("app set aside", namespace=key[0], app=key[1][:253])
            for pod in [pod for uid in self._index.members(key) if (pod := self._index.pod(uid)) is not None][:1]:
                self._quarantine.add(Part.APP, pod, f"its app cannot be put together: {sentence(problem)}")
            return None

    # -- names and sizes that its pods do not show ------------------------------------------------------------------

    def restore_name(self, app: str, name: str, series: str) -> None:
        """What a leader before us called an app of which only tasks are left."""
        each, known = self.get(app), self.histories.of(app)
        if each is not None and name and series and not (known.name and known.name.by_driver):
            known.name = AppName(name, series, by_driver=True)
            self._views[app] = known.called(each)

    def resize_by_history(self) -> None:
        """What a leader before us learned of earlier runs counts for apps that are here already, too."""
        self._views = {app: self._sized(each) for app, each in self._views.items()}

    def unsized(self, each: AppView) -> bool:
        """Whether the app waits for its size to be asked for: driver admission or a pool will need it.

        The round that lets its first pods go must not come first: a job whose pods are still being made looks small.
        """
        if not self.ask_sizes or each.size is not None or each.started or self.histories.of(each.id).size_asked:
            return False
        needed = each.has_driver or bool(self._governing.pool_of(self._governing.queue_of(each.namespace)))
        return needed and bool(sizeobject.name(each, sizeobject.row(self._index.table, each)))

    def resize(self, each: AppView, stated: StatedSize) -> bool:
        """The app's framework was asked for its size, which may be known now.

        False, and nothing changes, where the app is gone since, is another one of its name or has a size already.
        """
        now = self.get(each.id)
        if now is None or now.lead != each.lead or now.size is not None:
            return False
        history = self.histories.of(each.id)
        history.size_asked, history.driverless = True, stated.driver is False
        if stated.size is not None:
            history.size = stated.size
            self._views[each.id] = self._sized(now)
        return True

    def _sized(self, each: AppView) -> AppView:
        """The size its user states, else what its framework's object or an earlier run says."""
        known = self.histories.of(each.id).size or self.runs.expected(each)
        return replace(each, size=known) if each.size is None and known is not None else each
