"""Lines of writes: one after the other within a line, and no line waits for another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from slackwater_operator.clients.writelines import MOST, WriteLines


class Pen:
    """Notes what is written, line by line."""

    def __init__(self) -> None:
        self.lines = WriteLines()
        self.written = list[str]()

    async def note(self, what: str) -> None:
        """Takes its time."""
        await asyncio.sleep(0.001)
        self.written.append(what)

    def add(self, *names: str) -> None:
        """The first letter is the line."""
        for name in names:
            self.lines.add(name[0], partial(self.note, name))


async def never() -> None:
    """Hangs."""
    await asyncio.Event().wait()


def play(story: Callable[[Pen], Awaitable[None]]) -> Pen:
    """Play a story; in the end everything is given up, and no task is left."""
    pen = Pen()

    async def run() -> None:
        others = asyncio.all_tasks()
        await story(pen)
        await pen.lines.stop()
        assert asyncio.all_tasks() == others

    asyncio.run(asyncio.wait_for(run(), 20))
    return pen


def test_writes_of_a_line_go_in_their_order() -> None:
    """An older status never overwrites a newer one."""

    async def story(pen: Pen) -> None:
        pen.add(*(f"{line}{number}" for number in range(20) for line in "abcdef"))
        await pen.lines.settle(10)

    written = play(story).written
    assert len(written) == 120
    for line in "abcdef":
        assert [name for name in written if name[0] == line] == [f"{line}{number}" for number in range(20)]


def test_lines_that_hang_keep_nothing_from_others() -> None:
    """More of them than go on at once: each leaves its place after a second, and is not waited for from then on."""

    async def story(pen: Pen) -> None:
        pen.lines.slots.patience = 0.05
        for line in "abcdef":
            pen.lines.add(line, never)
            pen.add(f"{line}1")
        pen.add("x1", "y1")
        await pen.lines.settle()
        assert set(pen.written) == {"x1", "y1"}
        assert all(pen.lines.busy(line) for line in "abcdef")
        assert not pen.lines.busy("x")
        began = asyncio.get_running_loop().time()
        pen.add("x2")
        await pen.lines.settle(10)
        assert asyncio.get_running_loop().time() - began < 5

    assert set(play(story).written) == {"x1", "y1", "x2"}


def test_a_write_that_fails_keeps_nothing_from_the_next_of_its_line() -> None:
    """Whatever it raises."""

    async def fails() -> None:
        raise ValueError("another shape")

    async def story(pen: Pen) -> None:
        pen.lines.add("a", fails)
        pen.add("a1")
        await pen.lines.settle(10)

    assert play(story).written == ["a1"]


def test_a_line_is_bounded_and_what_has_not_begun_can_be_dropped() -> None:
    """Memory does not grow while nobody answers."""

    async def story(pen: Pen) -> None:
        assert pen.lines.add("a", never)
        await asyncio.sleep(0.01)
        assert sum(pen.lines.add("a", never) for _ in range(10_000)) == MOST
        pen.lines.drop()
        assert sum(pen.lines.add("a", never) for _ in range(10_000)) == MOST

    play(story)
