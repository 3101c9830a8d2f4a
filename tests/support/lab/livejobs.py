"""Jobs of drivers and tasks, played on a ground by the lab's live driver."""

import asyncio
from collections.abc import Sequence

from slackwater_cluster.api.endpoint import Endpoint
from slackwater_lab.live.drivers import Course
from slackwater_lab.live.play import Player
from slackwater_lab.live.pods import Stage
from slackwater_lab.live.workload import Part, Play, Size
from support.lab.testnamespace import LABEL, Ground

GIB = 2.0**30


def job(
    name: str,
    tasks: int,
    lasts: float,
    *,
    submit: float = 0.0,
    driver: float = 1.0,
    cpu: float = 1.0,
    used: float = 1.0,
) -> Play:
    """A driver of so many cores and one stage of equal tasks that use this share of what they declare."""
    size = Size(cpu, cpu * GIB, cpu * used, cpu * GIB * used)
    return Play(name, submit, (Part("map", size, (lasts,) * tasks),), Size(driver, GIB, 0.1, 0.1 * GIB))


def perform(ground: Ground, where: Endpoint, plays: Sequence[Play], limit: float, scheduler: str) -> list[Course]:
    """Play on the ground's nodes for at most `limit` seconds."""
    stage = Stage(ground.name, ground.name, scheduler, {LABEL: ground.name})
    return asyncio.run(Player(where, stage).play(plays, limit))
