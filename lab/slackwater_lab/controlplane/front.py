"""One address before several servers, as a Service is: a new connection goes to one of those that are ready.

A connection stays with the server it was opened to, until one of the two ends it. A server that is told to leave gets
no new ones, as a pod that is being deleted.
"""

import asyncio
import random
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Self

from slackwater_lab.processes.loopthread import LoopThread
from slackwater_lab.processes.streams import pass_on

PERIOD = 0.3  # seconds between two questions whether a server is ready
PATIENCE = 2.0  # seconds for its answer


class Front:
    """Listens on the loopback device, in a thread of its own. Servers go by name and port."""

    def __init__(self, servers: Mapping[str, int], path: str = "/readyz") -> None:
        self._servers, self._path = dict(servers), path
        self._leaving: set[str] = set()
        self.ready: tuple[str, ...] = ()
        self._thread = LoopThread("front")
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._thread.run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.run(self._stop())
        self._thread.close()

    def leave(self, name: str) -> None:
        """No new connection to this one."""
        self._leaving.add(name)
        self.ready = tuple(each for each in self.ready if each != name)

    def join(self, name: str) -> None:
        """New connections again, as soon as it is ready."""
        self._leaving.discard(name)

    async def _start(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await self._look()
        self._server, self._follower = server, asyncio.ensure_future(self._follow())

    async def _stop(self) -> None:
        self._follower.cancel()
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(self._follower, *self._tasks, return_exceptions=True)

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(PERIOD)
            await self._look()

    async def _look(self) -> None:
        found = await asyncio.gather(*(asyncio.to_thread(self._answers, port) for port in self._servers.values()))
        well = [name for name, good in zip(self._servers, found, strict=True) if good]
        self.ready = tuple(name for name in well if name not in self._leaving)

    def _answers(self, port: int) -> bool:
        asked = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            asked.request("GET", self._path)
            return asked.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException):
            return False
        finally:
            asked.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            name = random.choice(self.ready)  # noqa: S311 - any of them will do
            inner, outer = await asyncio.open_connection("127.0.0.1", self._servers[name])
        except (IndexError, OSError):  # nobody is ready, or it has just gone
            writer.transport.abort()
            return
        try:
            await asyncio.gather(pass_on(reader, outer), pass_on(inner, writer))
        finally:
            for end in (writer, outer):
                end.transport.abort()
