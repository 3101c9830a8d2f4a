"""Requests that tasks are given at their release, by what the measured ones of their kind came to use."""

from __future__ import annotations

from collections.abc import Mapping

from slackwater.resources import Resources, total
from slackwater_cluster import names
from slackwater_cluster.apps.membership import app_id
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.apps.appindex import AppIndex
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.learning.usage import Likeness, UsageHistory


class TaskRequests:
    """Knows of each pod which others are like it, and what they used."""

    def __init__(self, index: AppIndex, views: Mapping[str, AppView], governing: Governance) -> None:
        self._index = index
        self._views = views
        self._governing = governing
        self._usage = UsageHistory()

    def observe(self, uses: Mapping[str, Resources]) -> None:
        """What pods use now, as the extender measured it."""
        known = {uid: (like, use) for uid, use in uses.items() if (like := self._likeness(uid)) is not None}
        self._usage.observe(known)

    def wanted(self, pod: PodRecord) -> Resources | None:
        """Requests a task should be given at its release, where its policy lets requests be learned."""
        terms = self._governing.policy(pod.namespace).reclaim
        if not terms.enabled or pod.annotations.get(names.ADMITTED_ROLE) != names.TASK or not pod.gated:
            return None
        like = self._likeness(pod.uid)
        return self._usage.wanted(like, pod, terms) if like is not None else None

    def used(self, each: AppView) -> Resources:
        """What the app's pods were last measured to use, together."""
        uses = self._usage.uses
        return total(uses[uid] for uid in self._index.members((each.namespace, each.app)) if uid in uses)

    def _likeness(self, uid: str) -> Likeness | None:
        pod, member = self._index.pod(uid), self._index.member(uid)
        if pod is None or member is None:
            return None
        each = self._views.get(app_id(pod.namespace, member.app))
        return (pod.namespace, each.series if each else member.app, member.role, member.stage)
