"""A whole TLS handshake in memory, between what a server and a client would really hold."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """The server's end; raises where one does not believe the other."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    seen = server.wrap_bio(there, back, server_side=True)
    ends = [client.wrap_bio(back, there, server_hostname=name), seen]
    for _ in range(4):
        for end in list(ends):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
                ends.remove(end)
    assert ends == []
    return seen


def serving(secret: Path, clients: Path | None = None) -> ssl.SSLContext:
    """A server with `tls.crt` and `tls.key` of a folder, and the authority that its clients must prove."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(secret / "tls.crt", secret / "tls.key")
    if clients:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
