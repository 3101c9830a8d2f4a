"""Who is asking: every POST needs a caller that proves itself.

client certificate   verified by the CA in `tls.client_ca`: the scheduler's `tlsConfig`, or the operator
loopback             scheduler and extender in one pod
bearer token         a service account's, reviewed by the API server (TokenReview)
"""

from __future__ import annotations

import hashlib
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from slackwater.errors import SlackwaterError, Unavailable
from slackwater_extender.settings import Callers, Tls

REMEMBERED = 256  # reviewed tokens kept; each renewal of a token is a new one
UNSURE = 10.0  # seconds after a review that failed in which nobody who can do without it waits for another

# A token in; the user's name out, or None if the API server does not know it.
TokenReview = Callable[[str], str | None]


class Unauthenticated(SlackwaterError):  # noqa: N818 - who it is, not what went wrong
    """The caller did not prove who it is."""


@dataclass
class Authenticator:
    """Decides who may POST."""

    callers: Callers
    tls: Tls
    review: TokenReview | None = None
    clock: Callable[[], float] = time.monotonic
    _known: dict[str, tuple[str | None, float]] = field(default_factory=dict)
    _unsure: float = 0.0  # until when no review is asked for by those who can do without

    def admit(self, environ: Mapping[str, Any]) -> str:
        """The caller's name; raises Stranger with what would have been accepted."""
        name = self._by_certificate(environ) or self._by_loopback(environ) or self._by_token(environ)
        if name is None:
            raise Unauthenticated(
                "show a client certificate, call from loopback, or send the bearer token of an accepted service account"
            )
        return name

    def knows(self, environ: Mapping[str, Any]) -> bool:
        """Whether the caller proves itself, where no answer depends on it: nobody waits often for a review."""
        if self.clock() < self._unsure:
            return False
        try:
            self.admit(environ)
        except Unauthenticated:
            return False
        except (Unavailable, RuntimeError, ValueError):
            self._unsure = self.clock() + UNSURE
            return False
        return True

    def _by_certificate(self, environ: Mapping[str, Any]) -> str | None:
        sock = environ.get("gunicorn.socket")
        if self.tls.client_ca is None or not isinstance(sock, ssl.SSLSocket):
            return None
        shown = subject(sock.getpeercert() or {})
        accepted = [name for name in shown if not self.tls.client_names or name in self.tls.client_names]
        return accepted[0] if accepted else None

    def _by_loopback(self, environ: Mapping[str, Any]) -> str | None:
        if not self.callers.loopback:
            return None
        near = _near(environ.get("REMOTE_ADDR") or "")
        # A proxy on this host would make everyone look near.
        return "loopback" if near and "HTTP_X_FORWARDED_FOR" not in environ else None

    def _by_token(self, environ: Mapping[str, Any]) -> str | None:
        scheme, _, token = str(environ.get("HTTP_AUTHORIZATION", "")).partition(" ")
        if self.review is None or scheme.lower() != "bearer" or not token:
            return None
        user = self._reviewed(token.strip())
        return user if user in self.callers.accounts else None

    def _reviewed(self, token: str) -> str | None:
        digest = hashlib.sha256(token.encode(errors="replace")).hexdigest()
        user, until = self._known.get(digest, (None, 0.0))
        if self.clock() < until or self.review is None:
            return user
        user = self.review(token)
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[digest] = (user, self.clock() + self.callers.remember)
        return user


class LongPolls:
    """How many requests may wait for news at once: each holds a thread."""

    def __init__(self, most: int, each: int = 2) -> None:
        self._most, self._each = most, each
        self._waiting: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, caller: str) -> Iterator[bool]:
        """Whether this caller may wait now; it is counted until it is done."""
        with self._lock:
            may = self._waiting[caller] < self._each and self._waiting.total() < self._most
            self._waiting[caller] += may
        try:
            yield may
        finally:
            with self._lock:
                self._waiting[caller] -= may


@lru_cache(maxsize=256)
def _near(address: str) -> bool:
    """Whether an address is this host's own."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def subject(certificate: Mapping[str, Any]) -> list[str]:
    """The common and DNS names a verified certificate speaks for; empty when none was shown."""
    common = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    dns = [value for kind, value in certificate.get("subjectAltName", ()) if kind in ("DNS", "URI")]
    return [*common, *dns]
