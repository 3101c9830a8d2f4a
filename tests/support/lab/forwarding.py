"""A door to the API server for pods of real nodes: the lab's listens on loopback, which a pod cannot reach.

The door is on the lab's own bridge, an address that only this machine has.
"""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self

CHUNK = 65536


class Door:
    """Passes connections on from one address to another, until it is closed."""

    def __init__(self, address: str, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server((address, 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            for here, there in ((caller, server), (server, caller)):
                threading.Thread(target=_pass, args=(here, there), daemon=True).start()


def _pass(here: socket.socket, there: socket.socket) -> None:
    try:
        while data := here.recv(CHUNK):
            there.sendall(data)
    except OSError:
        pass
    finally:
        for end in (here, there):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
