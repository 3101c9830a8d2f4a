"""The authority by which a server is judged, read anew for each connection once its file is another.

Clusters renew the authority of their API server: the file that is mounted into each pod then holds both for a time, and
later the new one alone. Connections that stand go on; a file that cannot be read changes nothing.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

_Stamp = tuple[int, int, int]  # of a file: which one it is, when it was written, and its length


class RenewedContext(ssl.SSLContext):
    """Hands each new connection to a context made of the file as it is now."""

    _make: Callable[[], ssl.SSLContext]
    _file: Path
    _read: _Stamp | None
    _now: ssl.SSLContext
    _spoken: Sequence[str] = ()

    @classmethod
    def of(cls, file: Path, make: Callable[[], ssl.SSLContext] | None = None) -> RenewedContext:
        """`make` reads the file, and raises where it cannot; by default it believes that authority alone."""
        made = cls(ssl.PROTOCOL_TLS_CLIENT)
        make = make or partial(ssl.create_default_context, cafile=str(file))
        made._make, made._file = make, file
        made._read, made._now = _stamp(file), make()
        made.check_hostname, made.verify_mode = made._now.check_hostname, made._now.verify_mode
        return made

    def get_ca_certs(self, binary_form: Any = False) -> Any:
        """The authorities that are believed now: none is in this context itself."""
        return self._current().get_ca_certs(binary_form)

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        """What a client speaks: it says so of the context that it was given."""
        self._spoken = tuple(alpn_protocols)
        self._now.set_alpn_protocols(self._spoken)

    def wrap_bio(self, *given: Any, **more: Any) -> ssl.SSLObject:
        """A connection of an event loop."""
        return self._current().wrap_bio(*given, **more)

    def wrap_socket(self, *given: Any, **more: Any) -> ssl.SSLSocket:
        """A connection of a thread."""
        return self._current().wrap_socket(*given, **more)

    def _current(self) -> ssl.SSLContext:
        stamp = _stamp(self._file)
        if stamp not in (None, self._read):
            with suppress(OSError, ssl.SSLError):
                made = self._make()
                if self._spoken:
                    made.set_alpn_protocols(self._spoken)
                self._now, self._read = made, stamp
        return self._now


def _stamp(file: Path) -> _Stamp | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
