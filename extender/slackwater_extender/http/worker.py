"""Gunicorn's threaded worker: kept within limits, and with a short way for the scheduler's two verbs.

Between two requests a kept connection goes back to a poller and from there to a pool of threads: three threads need the
interpreter in turn for one answer, and each may have to wait for a watch or a sample that is at work. So a connection
that asks a verb, and whose caller proved who it is, keeps its thread: one wait, one read, one write (decision 0010).
Whatever else is asked goes gunicorn's own way, and no caller holds a thread, or the loop that accepts, for long.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from gunicorn import util  # type: ignore[import-untyped] # gunicorn has no types
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped] # gunicorn has no types

from slackwater_cluster.servers.slowclients import ConnectionLimits
from slackwater_extender.http.keptconnection import LONGEST_HEAD, CallerGone, KeptSocket, RequestHead, head, reply

if TYPE_CHECKING:
    from slackwater_extender.http.scheduler import SchedulerRoutes

HEAD_SECONDS = 5.0  # to shake hands and send the head of a request
WHOLE_SECONDS = 30.0  # to send its body and read the answer
UNREAD_SECONDS = 0.2  # for the rest of a body that nobody wanted to read
CLOSING_SECONDS = 0.5  # for the caller to close its side too


class Worker(ThreadWorker):  # type: ignore[misc] # its base has no types
    """Gunicorn's worker with limits on who holds its threads, for how long."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._limits = ConnectionLimits(self.cfg.threads, HEAD_SECONDS, WHOLE_SECONDS)
        self._request = threading.local()
        self._stays = threading.BoundedSemaphore(max(1, self.cfg.threads // 2))

    def get_thread_pool(self) -> ThreadPoolExecutor:
        """More threads than places: a new connection gets a thread, and the place of one that does not get on."""
        return ThreadPoolExecutor(2 * self.cfg.threads)

    def load_wsgi(self) -> None:
        """Find the verbs in the application."""
        super().load_wsgi()
        application: Any = self.wsgi
        self._scheduler: SchedulerRoutes = application.extensions["scheduler"]

    # -- which connections are open -------------------------------------------------------------------------------

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

    def finish_request(self, conn: Any, fs: Future[Any]) -> None:
        """Put a connection back to wait for its next request; one that is not kept was closed by its thread."""
        if not fs.cancelled() and fs.exception() is None and fs.result() is False:
            self.nr_conns -= 1
        else:
            super().finish_request(conn, fs)

    # -- one request, gunicorn's way ------------------------------------------------------------------------------

    def handle(self, conn: Any) -> Any:
        """Answer what a connection asks; called in a thread of the pool."""
        known = conn.initialized and not conn.is_http2 and not conn.parser.unreader.buf.getbuffer().nbytes
        if known and self._scheduler.proven(conn.sock) and self._stays.acquire(blocking=False):
            try:
                kept = self._stay(conn)
            finally:
                self._stays.release()
            if not kept:
                self._close(conn)
                return False
        return self._handle_one(conn)

    def _handle_one(self, conn: Any) -> Any:
        with self._limits.hold(conn.sock, conn.client[0] if conn.client else "") as self._request.head_read:
            kept = super().handle(conn)
            if kept is False:
                self._close(conn)
            return kept

    def _close(self, conn: Any) -> None:
        """Here and not in the loop that accepts, which would wait for the caller to close its side."""
        if conn.sock.fileno() >= 0:
            conn.sock.setblocking(True)
            util.close_graceful(conn.sock, timeout=CLOSING_SECONDS)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Gunicorn has read the head of a request."""
        self._request.head_read()
        return super().handle_request(req, conn)

    def _keepalive_after(self, conn: Any, keepalive: Any) -> bool:
        """A body that nobody read is hardly waited for: its caller was refused before."""
        return bool(keepalive) and bool(conn.parser.finish_body(deadline=time.monotonic() + UNREAD_SECONDS))

    # -- the short way --------------------------------------------------------------------------------------------

    def _stay(self, conn: Any) -> bool:
        """Answer verbs while the caller asks them; says whether the connection goes on gunicorn's way."""
        try:
            with KeptSocket(conn.sock) as sock:
                unread = self._answer_all(conn, sock)
        except (CallerGone, OSError):
            return False
        if unread:
            conn.parser.unreader.unread(unread)
        return bool(unread)

    def _answer_all(self, conn: Any, sock: KeptSocket) -> bytes:
        """Until the worker ends or the caller falls silent; bytes that are no verb's are given back."""
        data, until = b"", time.monotonic() + self.cfg.keepalive
        while True:
            found = head(data) if data else None
            if found is not None and found.length <= self._scheduler.body_limit:
                data = self._answer(conn, sock, found, data)
                until = time.monotonic() + self.cfg.keepalive
                if not self.alive:
                    return b""
            elif data and (b"\r\n\r\n" in data or len(data) > LONGEST_HEAD):
                return data
            if not data or b"\r\n\r\n" not in data:
                more = sock.some()
                if more is None and (not self.alive or time.monotonic() > until):
                    return data
                data += more or b""

    def _answer(self, conn: Any, sock: KeptSocket, found: RequestHead, data: bytes) -> bytes:
        """Answer one request, and return what came behind it."""
        end, taken = found.size + found.length, False

        def body() -> bytes:
            nonlocal taken
            came = data[found.size : end]
            came = came if len(data) >= end else sock.filled(came, found.length)
            taken = True
            return came

        environ = {**found.headers, "REMOTE_ADDR": conn.client[0], "gunicorn.socket": conn.sock}
        status, answer = self._scheduler.answer(found.verb, environ, body)
        sock.sock.sendall(reply(status, answer, last=not (taken and self.alive)))
        if not taken:  # a caller that was refused: what follows cannot be told from its body
            raise CallerGone
        return data[end:]
