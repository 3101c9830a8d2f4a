"""Pods that are released towards nodes which do not exist yet, once a round has given away what there is."""

from __future__ import annotations

from slackwater.cycle.queuepass import Lane, Release
from slackwater.cycle.snapshot import App, PodGroup


def grow(each: Lane) -> None:
    """Where nodes can still be added, pods without room are released as far as the maximum allows.

    An autoscaler sees the need then. A gang asks as a whole or not at all.
    """
    growth, bound, line = each.admission.growth, each.admission.bound, each.line
    if not growth.open:
        return
    drivers = [(app, group) for app in each.starts.grown for group in app.groups if group.driver]
    for app, group in sorted(drivers, key=lambda one: one[1].in_vain):
        each.releases += [_towards(app, group, uid) for uid in group.held if growth.ask(group)]
    for row, candidate in sorted(enumerate(line.rows), key=lambda one: one[1].group.in_vain):
        app, group = candidate.app, candidate.group
        if app.gang or (line.fits(row) and line.seated(row)):
            continue
        for uid in group.held[line.taken(row) : candidate.pods]:
            if not bound.may_ask(candidate.category, group.request) or not growth.ask(group):
                break
            bound.ask(candidate.category, group.request)
            each.releases.append(_towards(app, group, uid))
    for app in each.started:
        if app.gang and app.held_pods:
            _grow_gang(each, app)


def _grow_gang(each: Lane, app: App) -> None:
    rows = [row for row, candidate in enumerate(each.line.rows) if candidate.app.id == app.id]
    members = [(each.line.rows[row].group, each.line.rows[row].shape) for row in rows]
    whole = (
        rows and sum(len(group.held) for group, _ in members) == app.held_pods and not any(map(each.line.taken, rows))
    )
    if not whole:
        return
    side, asked = each.line.rows[rows[0]].category, each.line.asked(rows[0])
    if each.admission.bound.may_ask(side, asked) and each.admission.growth.ask_whole(members):
        each.admission.bound.ask(side, asked)
        each.releases += [_towards(app, group, uid) for group, _ in members for uid in group.held]


def _towards(app: App, group: PodGroup, uid: str) -> Release:
    """A release towards a node that does not exist yet."""
    return Release(uid, app.id, group, submitted=app.submitted, growth=True, queue=app.queue, gang=app.gang)
