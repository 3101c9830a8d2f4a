"""How many held pods of a group its own app lets go now: all, none, or a few that start early (papers 001 and 003).

A stage that waits on another one (a reduce) may start before the last pods of that one are out, so that it fetches
beside them (001). Unbounded, reduces take the room of the very maps they wait for (decision 0004). So while maps are
held

    early   ⌊½ · p · O_m − O_r⌋  if p ≥ 0.8 and of each kind of map that is held one runs, else 0

    p       share of the maps that have finished
    O_m     running maps
    O_r     reduces that run or are on their way, each worth as many maps as its largest request is of a map's

Maps hold at least twice what the reduces do when one of these starts, and what an ending map leaves is as large as a
held map: room that maps need never ends up with reduces alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.cycle.snapshot import App, PodGroup
from slackwater.resources import NOTHING, Resources

# Share of maps that must have finished, and what reduces may hold for each running map: what Hadoop's operators set
# for mapreduce.job.reduce.slowstart.completedmaps, and its default ramp-up limit.
SLOW_START = 0.8
RAMP_UP = 0.5


def startable(app: App, group: PodGroup) -> int:
    """How many of the group's held pods may go, as far as the stages of its own app are concerned: all of a driver's.

    Strict DAGs go by levels (003): a stage may start once every stage before it is placed.
    """
    count = len(group.held)
    if group.driver:
        return count
    if app.strict and group.early:
        return 0
    if app.strict:
        placed = all(not (g.held or g.released or g.blocked) for g in app.groups if g.level < group.level)
        return count if placed else 0
    if not group.waiting:
        return count
    tasks = [each for each in app.groups if not each.driver]
    if all(each.waiting and each.level >= group.level for each in tasks if each.held):
        return count
    return 0 if app.gang else min(count, _early(tasks, group))


def at_once(gang: App) -> list[PodGroup]:
    """The groups of a gang whose held pods go together: stages that wait on others follow them."""
    return [group for group in gang.groups if startable(gang, group)]


def stuck(app: App, group: PodGroup) -> bool:
    """Whether pods of the group that run cannot end: they wait for pods of their own app that are held.

    A stage waits for those before it, a gang for all of it. So they do for pods that wait in vain for a machine.
    """
    waiting = [each for each in app.groups if not each.driver and (each.held or each.growing_in_vain)]
    return any(app.gang or precedes(app, each, group) for each in waiting)


def precedes(app: App, first: PodGroup, second: PodGroup) -> bool:
    """Whether pods of the second group wait for those of the first: it is an earlier stage of their app."""
    if app.strict:
        return first.level < second.level
    return second.waiting and (not first.waiting or first.level < second.level)


def _early(tasks: Sequence[PodGroup], group: PodGroup) -> int:
    leading = [each for each in tasks if not each.waiting]
    waiting = [each for each in tasks if each.waiting]
    finished, total = sum(each.finished for each in leading), sum(each.total for each in leading)
    if finished < SLOW_START * total or any(each.level < group.level for each in waiting):
        return 0
    if any(each.held and not each.running for each in leading):
        return 0
    running = sum(each.running for each in leading)
    one = _mean(leading, running)
    taken = sum(each.charged * _maps(each, one) for each in waiting)
    return max(0, int((RAMP_UP * finished / total * running - taken) / max(_maps(group, one), 1e-9)))


def _mean(leading: Sequence[PodGroup], running: int) -> Resources:
    """What one running map asks for, on average."""
    asked = NOTHING
    for each in leading:
        asked = asked + each.request * (each.running / running)
    return asked


def _maps(group: PodGroup, one: Resources) -> float:
    """How many maps one pod of the group is worth, by the kind of which it asks most.

    A kind that maps do not ask for, such as a GPU, takes nothing from them; where they have none in common it is one.
    """
    return max((amount / one[kind] for kind, amount in group.request.items() if one[kind] > 0), default=1.0)
