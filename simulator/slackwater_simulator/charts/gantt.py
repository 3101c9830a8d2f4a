"""Who ran where and when: a track per node or pod, with a bar for each stretch of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slackwater_simulator.charts.svg import Scale, drawing, rectangle, text, time_axis
from slackwater_simulator.charts.timeaxis import clock

WIDTH, RIGHT, BOTTOM, EDGE = 960.0, 8.0, 34.0, 5.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of seconds, its colour class, what the pointer tells of it, and where in its track it lies."""

    css: str
    begin: float
    end: float
    words: str
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class Track:
    """The bars of one node or pod. Without a name only the pointer tells whose they are."""

    name: str
    height: float
    bars: Sequence[Bar]


def gantt(
    title: str,
    tracks: Sequence[Track],
    end: float,
    *,
    left: float = 84.0,
    gap: float = 5.0,
    since: float | None = None,
) -> Markup:
    """Tracks below each other over one time axis; tracks that stand apart lie on a ground of their own.

    `since` is the beginning in Unix seconds: then the axis tells the time of day.
    """
    x = Scale(0.0, end, left, WIDTH - RIGHT)
    height = EDGE + sum(track.height + gap for track in tracks)
    grounds: list[str] = []
    bars: list[str] = []
    top = EDGE
    for track in tracks:
        if gap:
            grounds.append(rectangle("ground", left, top, WIDTH - RIGHT - left, track.height))
        if track.name:
            grounds.append(text("tick end", left - 8, top + track.height / 2 + 4, track.name))
        bars.extend(_bar(bar, x, top) for bar in track.bars)
        top += track.height + gap
    marks = None if since is None else [(at - since, words) for at, words in clock(since, since + end, 8)]
    body = (*grounds, time_axis(x, EDGE, height, marks=marks), *bars)
    return drawing(WIDTH, height + BOTTOM, title, "".join(body))


def _bar(bar: Bar, x: Scale, top: float) -> str:
    begin, end = x.at(bar.begin), x.at(bar.end)
    return rectangle(bar.css, begin, top + bar.top, max(end - begin - 0.4, 0.6), bar.height, bar.words)
