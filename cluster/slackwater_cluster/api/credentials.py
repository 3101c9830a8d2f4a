"""How our programs prove who they are to a server they only read, and how they know it: token, password, authority.

Secrets and authorities are read from their files when they are needed, because what is mounted is renewed; secrets are
never logged.
"""

from __future__ import annotations

import ssl
from base64 import b64encode, urlsafe_b64decode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from slackwater.errors import InvalidInput, Unavailable
from slackwater_cluster.api.authority import RenewedContext


@dataclass(frozen=True, slots=True)
class Credentials:
    """What is shown to one server, and which certificates of it are believed."""

    token_file: Path | None = None  # a bearer token
    username: str = ""  # basic authentication; a token goes first
    password_file: Path | None = None
    ca: Path | None = None  # PEM; none: the authorities of this machine
    insecure: bool = False  # believe any certificate

    def headers(self) -> dict[str, str]:
        """What proves us now; empty where nothing was given."""
        if self.token_file is not None:
            return {"Authorization": f"Bearer {_secret(self.token_file)}"}
        if self.username:
            password = _secret(self.password_file) if self.password_file is not None else ""
            return {"Authorization": f"Basic {b64encode(f'{self.username}:{password}'.encode()).decode()}"}
        return {}

    def holder(self) -> str:
        """A digest of whom the token names, or of the token where it names nobody; "" without one."""
        if self.token_file is None:
            return ""
        token = _secret(self.token_file)
        return sha256((_subject(token) or token).encode()).hexdigest()[:12]

    @property
    def proxy(self) -> str | None:
        """Through which the server is reached, where that is stated."""
        return None

    @property
    def proxy_of_environment(self) -> bool:
        """Whether HTTP_PROXY, HTTPS_PROXY and NO_PROXY say the way where no proxy is stated."""
        return True

    def tls(self) -> ssl.SSLContext | bool:
        """What a certificate is judged by: an authority, this machine's authorities (True), or nothing (False)."""
        if self.insecure:
            return False
        if self.ca is None:
            return True
        try:
            return RenewedContext.of(self.ca)
        except (OSError, ssl.SSLError) as problem:
            raise InvalidInput("ca", f"{self.ca} cannot be used ({_words(problem)})", "give a PEM file") from problem


class _Claims(msgspec.Struct):
    """Of a JWT's payload what stays when it is renewed."""

    sub: str
    iss: str = ""
    aud: str | list[str] = ""


def _subject(token: str) -> str:
    """For whom a JWT was made, by whom and for which server; "" of any other token. It is read, not believed."""
    try:
        _, payload, _ = token.split(".")
        return repr(msgspec.json.decode(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=_Claims))
    except (ValueError, msgspec.MsgspecError):
        return ""


def _secret(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        # A mounted secret may come back, so this is no mistake of the settings.
        raise Unavailable(f"{path} cannot be read ({_words(problem)}); give a readable file") from problem


def _words(problem: Exception) -> str:
    return str(getattr(problem, "strerror", None) or problem)
