"""Draw docs/policies/000-estimation.svg from the estimator itself: `python docs/figures/estimation.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.mode import Mode

TARGET = Path(__file__).parents[1] / "policies" / "000-estimation.svg"
TITLE = "One task that asks for 4 and uses 1: the estimate falls from the request to the use and lets go at the end"
FONT = 'font-family="system-ui, sans-serif" font-size="13"'
BEATS, FINISH = 32, 24
INK, GREY, BLUE, GREEN = "#22313f", "#8a97a3", "#34607f", "#4f9d69"


def x(beat: float) -> float:
    """Heartbeats to pixels."""
    return 60 + 20 * beat


def y(amount: float) -> float:
    """Cores to pixels."""
    return 220 - 44 * amount


def curve(mode: Mode) -> list[tuple[float, float]]:
    """(heartbeat, estimate) over the task's life and after it."""
    nodes = NodeEstimates(kinds=1, mode=mode)
    node = nodes.add_node(start=np.zeros(1))
    task = nodes.add(node, np.array([4.0]))
    points = [(0.0, float(nodes.estimate()[node, 0]))]
    for beat in range(1, BEATS + 1):
        if beat == FINISH + 1:
            nodes.finish(task)
            points.append((FINISH, float(nodes.estimate()[node, 0])))
        nodes.sample(np.array([[1.0 if beat <= FINISH else 0.0]]), np.ones(1))
        points.append((beat, float(nodes.estimate()[node, 0])))
    return points


def line(points: list[tuple[float, float]], colour: str, dash: str = "") -> str:
    """A polyline through the points."""
    path = " ".join(f"{x(beat):.1f},{y(amount):.1f}" for beat, amount in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>'


def text(beat: float, amount: float, words: str, colour: str = INK) -> str:
    """A label."""
    return f'<text x="{x(beat):.0f}" y="{y(amount):.0f}" fill="{colour}">{words}</text>'


def area(points: list[tuple[float, float]]) -> str:
    """The slack: what was asked for and is not believed any more."""
    edge = [(beat, amount) for beat, amount in points if beat <= FINISH][: FINISH + 1]
    path = " ".join(f"{x(b):.1f},{y(a):.1f}" for b, a in [*edge, (FINISH, 4.0), (0.0, 4.0)])
    return f'<polygon points="{path}" fill="{GREEN}" opacity="0.18"/>'


def figure() -> str:
    """The whole picture."""
    capped = curve(Mode.CAPPED)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 262" role="img" aria-label="{TITLE}" {FONT}>',
        f"<title>{TITLE}</title>",
        '<rect width="760" height="262" rx="8" fill="#fbfcfd"/>',
        *(text(-1.2, n - 0.1, str(n), GREY) for n in range(5)),
        line([(0, 0), (BEATS, 0)], GREY),
        line([(0, 4), (FINISH, 4), (FINISH, 0)], GREY, "6 4"),
        line([(0, 1), (FINISH, 1), (FINISH, 0)], BLUE),
        area(capped),
        line(capped, GREEN),
        text(0.3, 4.25, "request 4: what a reservation holds all the time", GREY),
        text(9, 2.7, "slack: room for others", GREEN),
        text(1.6, 2.2, "estimate", GREEN),
        text(0.3, 0.65, "use 1", BLUE),
        text(FINISH + 0.3, 1.4, "finish: the rest of the request"),
        text(FINISH + 0.3, 1.05, "goes at once"),
        text(BEATS - 4, -0.6, "heartbeats", GREY),
        *(text(n - 0.4, -0.4, str(n), GREY) for n in (0, 6, 12, 18, 24)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(figure())
