"""What the operator's probe is told: by a thread beside the loop, and never that a stuck loop turns."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from slackwater_operator.status.healthpage import STUCK, HealthPage


class Program:
    """A program that says how it is."""

    def __init__(self, *, healthy: bool = True) -> None:
        self.healthy = healthy


def answer(page: HealthPage, path: str = "/healthz") -> str:
    """The status of an answer."""
    told: list[str] = []

    def start(status: str, headers: Any) -> None:
        del headers
        told.append(status)

    assert b"".join(page({"PATH_INFO": path}, start))
    return told[0]


@pytest.mark.parametrize(
    ("healthy", "later", "status"),
    [(True, 0.0, "200"), (True, STUCK - 1, "200"), (True, STUCK, "503"), (False, 0.0, "503")],
    ids=["turns", "is busy", "is stuck", "its program is not well"],
)
def test_the_loop_is_told_of(healthy: bool, later: float, status: str) -> None:
    """One that has not looked for a minute is stuck, whatever it said then."""
    now = 100.0
    page = HealthPage(Program(healthy=healthy), lambda: now)
    page.look()
    now += later
    assert answer(page).startswith(status)


def test_there_is_nothing_else() -> None:
    """On that port."""
    assert answer(HealthPage(Program()), "/metrics").startswith("404")


async def test_it_follows_the_program() -> None:
    """In the loop that it speaks of."""
    program = Program()
    page = HealthPage(program)
    following = asyncio.create_task(page.follow())
    await until(lambda: page.well)
    program.healthy = False
    await until(lambda: not page.well)
    following.cancel()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for the next look."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - the loop looks by itself
            await asyncio.sleep(0.02)
