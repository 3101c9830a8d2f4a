"""Proving who we are: what is sent, and what is said where a file cannot be read."""

from __future__ import annotations

from base64 import b64decode
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
