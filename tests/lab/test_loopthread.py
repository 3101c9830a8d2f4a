"""An event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading

import pytest

from slackwater_lab.processes.loopthread import LoopThread


def test_it_runs_what_it_is_given_beside_its_caller_until_it_is_closed() -> None:
    """Nothing of it is left then: neither the thread nor the loop."""
    found: list[str] = []

    async def look() -> None:
        found.append(threading.current_thread().name)

    made = LoopThread("beside")
    made.start()
    made.run(look())
    made.close()
    assert found == ["beside"]
    assert made.loop.is_closed()
    assert "beside" not in {each.name for each in threading.enumerate()}


def test_an_error_comes_back_to_whoever_gave_the_work() -> None:
    """And the next work is done all the same."""

    async def fail() -> None:
        raise OSError("no port")

    made = LoopThread("failing")
    made.start()
    with pytest.raises(OSError, match="no port"):
        made.run(fail())
    made.run(asyncio.sleep(0))
    made.close()
