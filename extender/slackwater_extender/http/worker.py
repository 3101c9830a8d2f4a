"""Gunicorn's threaded worker, kept within limits: no caller holds a thread, or the loop that accepts, for long."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from gunicorn import util  # type: ignore[import-untyped] # gunicorn has no types
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped] # gunicorn has no types

from slackwater_extender.http.connections import ConnectionLimits

HEAD_SECONDS = 5.0  # to shake hands and send the head of a request
WHOLE_SECONDS = 30.0  # to send its body and read the answer
UNREAD_SECONDS = 0.2  # for the rest of a body that nobody wanted to read
CLOSING_SECONDS = 0.5  # for the caller to close its side too


class Worker(ThreadWorker):  # type: ignore[misc] # its base has no types
    """Gunicorn's worker with a limit on how long, and how many, connections hold its threads."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._limits = ConnectionLimits(self.cfg.threads, HEAD_SECONDS, WHOLE_SECONDS)
        self._request = threading.local()

    def get_thread_pool(self) -> ThreadPoolExecutor:
        """More threads than places: a new connection gets a thread, and the place of one that does not get on."""
        return ThreadPoolExecutor(2 * self.cfg.threads)

    def accept(self, listener: Any) -> None:
        """Take a new connection; where there are too many, an idle one makes room."""
        if self.nr_conns >= self.worker_connections - 1:
            self._close_idle()
        super().accept(listener)

    def _close_idle(self) -> None:
        idle = self.pending_conns or self.keepalived_conns
        if idle:
            conn = idle.popleft()
            self.poller.unregister(conn.sock)
            self.nr_conns -= 1
            conn.close()

    def notify(self) -> None:
        """Called by the worker's loop every second at least."""
        super().notify()
        self._limits.expire()

    def handle(self, conn: Any) -> Any:
        """Answer one request of a connection; called in a thread of the pool."""
        with self._limits.hold(conn.sock, conn.client[0] if conn.client else "") as self._request.head_read:
            kept = super().handle(conn)
            if kept is False:  # here and not in the loop that accepts, which would wait for the caller to close
                conn.sock.setblocking(True)
                util.close_graceful(conn.sock, timeout=CLOSING_SECONDS)
            return kept

    def finish_request(self, conn: Any, fs: Future[Any]) -> None:
        """Put a connection back to wait for its next request; one that is not kept was closed by its thread."""
        if not fs.cancelled() and fs.exception() is None and fs.result() is False:
            self.nr_conns -= 1
        else:
            super().finish_request(conn, fs)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Gunicorn has read the head of a request."""
        self._request.head_read()
        return super().handle_request(req, conn)

    def _keepalive_after(self, conn: Any, keepalive: Any) -> bool:
        """A body that nobody read is hardly waited for: its caller was refused before."""
        return bool(keepalive) and bool(conn.parser.finish_body(deadline=time.monotonic() + UNREAD_SECONDS))
