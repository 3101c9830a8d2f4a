"""Two apps with one id: drivers that nobody owns and that carry the same app label.

The label alone cannot tell them apart, so the first one keeps the id, each later one becomes an app of its own, and
tasks follow the driver that owns them. A driver that ended or is being deleted is no twin: its successor takes over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from slackwater_cluster import names
from slackwater_cluster.apps.resolver import Member, Rule
from slackwater_cluster.watch.records import PodRecord

Recognised = tuple[PodRecord, Member]


def separated(recognised: Iterable[Recognised]) -> dict[str, Member]:
    """The members by uid, twins told apart."""
    known = list(recognised)
    later = _later_twins(known)
    return {pod.uid: _own_app(pod, member, later) for pod, member in known}


def _later_twins(known: Iterable[Recognised]) -> set[str]:
    """The uids of living, ownerless drivers that came after another one of the same id."""
    alive = [
        (pod, member)
        for pod, member in known
        if member.rule is Rule.FRAMEWORK and member.role == names.DRIVER and not pod.owners and not _ended(pod)
    ]
    alive.sort(key=lambda each: (each[0].created, each[0].uid))
    seen: set[tuple[str, str]] = set()
    later: set[str] = set()
    for pod, member in alive:
        key = (pod.namespace, member.app)
        (later.add(pod.uid) if key in seen else seen.add(key))
    return later


def _ended(pod: PodRecord) -> bool:
    return pod.done or pod.deleted > 0


def _own_app(pod: PodRecord, member: Member, later: set[str]) -> Member:
    leader = next((uid for uid in (pod.uid, *(owner.uid for owner in pod.owners)) if uid in later), "")
    if not leader:
        return member
    doubt = f"another driver already runs as {member.app!r}; give each app an id of its own"
    return replace(member, app=f"{member.app}@{leader[:8]}", doubts=(*member.doubts, doubt))
