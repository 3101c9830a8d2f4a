"""Proving who we are: what is sent, and what is said where a file cannot be read."""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from slackwater.errors import SlackwaterError
from slackwater_cluster.api.credentials import Credentials


def test_nothing_given_sends_nothing_and_believes_this_machines_authorities() -> None:
    """The usual case inside a cluster."""
    assert Credentials().headers() == {}
    assert Credentials().tls() is True


def test_a_token_is_read_anew_each_time(tmp_path: Path) -> None:
    """Mounted tokens are renewed."""
    file = tmp_path / "token"
    file.write_text("one\n", encoding="utf-8")
    known = Credentials(file, username="ignored")
    assert known.headers() == {"Authorization": "Bearer one"}
    file.write_text("two\n", encoding="utf-8")
    assert known.headers() == {"Authorization": "Bearer two"}


def test_a_password_is_sent_as_basic_authentication(tmp_path: Path) -> None:
    """Letters beyond ASCII too."""
    file = tmp_path / "password"
    file.write_text("Gezeiten–ü\n", encoding="utf-8")
    kind, _, text = Credentials(username="anna", password_file=file).headers()["Authorization"].partition(" ")
    assert (kind, b64decode(text).decode()) == ("Basic", "anna:Gezeiten–ü")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda folder: Credentials(folder / "absent").headers(), "absent cannot be read"),
        (lambda folder: Credentials(username="a", password_file=folder / "absent").headers(), "absent cannot be read"),
        (lambda folder: Credentials(ca=folder / "absent").tls(), "absent cannot be used"),
        (lambda _: Credentials(ca=Path(__file__)).tls(), "cannot be used"),
    ],
    ids=["token", "password", "authority", "no certificate"],
)
def test_a_file_that_cannot_be_used_is_named(made: Callable[[Path], object], words: str, tmp_path: Path) -> None:
    """With what to give instead."""
    with pytest.raises(SlackwaterError, match=words):
        made(tmp_path)


def test_any_certificate_is_believed_only_where_asked_for() -> None:
    """False is what HTTP clients read as: do not verify."""
    assert Credentials(insecure=True).tls() is False


def jwt(**claims: object) -> str:
    """A token as an identity provider makes it, in as far as we read it."""
    return f"e30.{urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.c2lnbmF0dXJl"


def holder(path: Path, token: str) -> str:
    """Whom this token names."""
    path.write_text(token, encoding="utf-8")
    return Credentials(path).holder()


def test_a_token_that_is_renewed_names_the_same_holder(tmp_path: Path) -> None:
    """Its subject stays; of one that says nothing a digest is taken. No token: nobody."""
    path = tmp_path / "token"
    tokens = [
        jwt(iss="i", sub="me", exp=1),
        jwt(iss="i", sub="me", exp=2),
        jwt(iss="i", sub="you"),
        jwt(iss="j", sub="me"),
        "opaque-1",
        "opaque-2",
        "not.a.jwt",
        jwt(sub=1, exp=1),
        jwt(exp=1),
        "e30.WzFd.x",
    ]
    found = [holder(path, token) for token in tokens]
    assert found[0] == found[1]
    assert len(set(found)) == len(found) - 1
    assert all(len(each) == 12 for each in found)
    assert Credentials().holder() == ""
