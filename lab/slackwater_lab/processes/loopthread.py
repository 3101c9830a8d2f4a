"""An event loop in a thread of its own, for servers of the lab that its callers use like any other object."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

PATIENCE = 30.0  # seconds for whatever is to be run in it


class LoopThread:
    """Runs from `start` to `close`."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True, name=name)

    def start(self) -> None:
        """From now on it runs what it is given."""
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in it, and wait until it is done."""
        asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def close(self) -> None:
        """End the thread and let go of the loop."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()
