"""The live view of a terminal of 80 columns."""

from __future__ import annotations

import io

from rich.console import Console

from slackwater_monitor.screen import render
from slackwater_monitor.sources.views import App, Node, Snapshot

GIBI = 1024.0**3


def shown(seen: Snapshot) -> list[str]:
    """What a terminal of 80 columns shows."""
    out = io.StringIO()
    Console(file=out, width=80).print(render(seen))
    return out.getvalue().splitlines()


def test_names_of_nodes_are_cut_before_numbers() -> None:
    """Clouds give names of forty characters; room is what one looks for."""
    size, some = {"cpu": 16.0, "memory": 64 * GIBI}, {"cpu": 9.25, "memory": 40.5 * GIBI}
    name = "ip-10-0-123-45.eu-central-1.compute.internal"
    lines = shown(Snapshot(0.0, [Node(name, size, size, some, some, some, some, open=False)]))
    (row,) = (line for line in lines if line.startswith("ip-"))
    assert [word for word in row.split() if word[0].isalnum()][1:] == ["9.25", "40.5", "closed"]


def test_names_of_apps_leave_room_for_why_they_wait() -> None:
    """One line for each app, whatever it is called."""
    name = "a name with spaces of more than sixty characters 0123456789 0123456789"
    pods = {"held": 12345, "bound": 12345}
    waits = App(
        "data-platform", "id", "Waiting", position=100, wait=90, pods=pods, message="the large pool is full", title=name
    )
    lines = shown(Snapshot(0.0, apps=[waits]))
    (row,) = (line for line in lines if "data-platform" in line)
    assert "the large pool" in row
    assert row.count("12345") == 2
    assert not any("sixty" in line for line in lines)
