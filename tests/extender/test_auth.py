"""Who may POST: certificate, loopback or a reviewed token."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from slackwater.errors import Unavailable
from slackwater_extender.auth import Authenticator, Unauthenticated, subject
from slackwater_extender.settings import Callers, Tls
from support.builders import objects
from support.fakes.extender import world

OPERATOR = "system:serviceaccount:slackwater-system:slackwater-operator"
FAR = {"REMOTE_ADDR": "10.1.2.3"}


def keeper(review: Any = None, **callers: Any) -> Authenticator:
    return Authenticator(Callers(**callers), Tls(), review, clock=lambda: 0.0)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_is_trusted_by_default(address: str) -> None:
    """Scheduler and extender in one pod."""
    assert keeper().admit({"REMOTE_ADDR": address}) == "loopback"


@pytest.mark.parametrize(
    "environ",
    [FAR, {}, {"REMOTE_ADDR": "nonsense"}, {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "10.1.2.3"}],
    ids=["remote", "unknown", "nonsense", "through-a-proxy"],
)
def test_everyone_else_must_prove_themselves(environ: dict[str, str]) -> None:
    """The refusal says what would have been accepted."""
    with pytest.raises(Unauthenticated, match="client certificate, call from loopback, or send the bearer token"):
        keeper().admit(environ)


def test_loopback_can_be_switched_off() -> None:
    """Where other pods share the host network."""
    with pytest.raises(Unauthenticated):
        keeper(loopback=False).admit({"REMOTE_ADDR": "127.0.0.1"})


@pytest.mark.parametrize(
    ("user", "accepted"), [(OPERATOR, True), ("system:serviceaccount:default:other", False), (None, False)]
)
def test_tokens_are_reviewed(user: str | None, accepted: bool) -> None:
    """Known to the API server is not enough: the account must be on the list."""
    found = keeper(lambda token: user if token == "secret" else None)
    environ = {**FAR, "HTTP_AUTHORIZATION": "Bearer secret"}
    if accepted:
        assert found.admit(environ) == OPERATOR
    else:
        with pytest.raises(Unauthenticated):
            found.admit(environ)


def test_a_reviewed_token_is_remembered_for_a_while() -> None:
    """The operator calls often; the API server is asked once a minute."""
    asked: list[str] = []
    now = [0.0]

    def review(token: str) -> str:
        asked.append(token)
        return OPERATOR

    found = Authenticator(Callers(), Tls(), review, clock=lambda: now[0])
    environ = {**FAR, "HTTP_AUTHORIZATION": "Bearer t"}
    for moment in (0.0, 30.0, 61.0):
        now[0] = moment
        found.admit(environ)
    assert len(asked) == 2


def test_many_tokens_do_not_fill_memory() -> None:
    """Guessing costs the guesser."""
    found = keeper(lambda token: None)
    for index in range(2000):
        with pytest.raises(Unauthenticated):
            found.admit({**FAR, "HTTP_AUTHORIZATION": f"Bearer {index}"})
    assert len(found._known) <= 256


@pytest.mark.parametrize("header", ["Basic x", "Bearer ", "", "Bearer"])
def test_other_headers_are_no_tokens(header: str) -> None:
    """Nothing is sent to the API server for them."""

    def review(token: str) -> str | None:
        raise AssertionError("asked")

    with pytest.raises(Unauthenticated):
        keeper(review).admit({**FAR, "HTTP_AUTHORIZATION": header})


def test_names_of_a_certificate() -> None:
    """Common name and DNS names, as Python's ssl shows them."""
    shown = {
        "subject": ((("organizationName", "x"),), (("commonName", "scheduler"),)),
        "subjectAltName": (("DNS", "a.example"), ("IP Address", "1.2.3.4")),
    }
    assert subject(shown) == ["scheduler", "a.example"]
    assert subject({}) == []


def test_a_plain_socket_shows_no_certificate() -> None:
    """Only a TLS socket can."""
    found = Authenticator(Callers(loopback=False), Tls(certificate="c", key="k", client_ca="ca"))
    with pytest.raises(Unauthenticated):
        found.admit({**FAR, "gunicorn.socket": object()})
    assert not isinstance(object(), ssl.SSLSocket)


@pytest.mark.parametrize("path", ["/filter", "/prioritize", "/v1/place", "/v1/reserve", "/v1/unreserve"])
def test_every_post_is_guarded(path: str) -> None:
    """401 and what to do, before the body is read; counted."""
    made = world(objects.node("n"))
    reply = made.client.post(path, data=b"{}", environ_overrides=FAR)
    assert reply.status_code == 401
    assert b"bearer token" in reply.data
    assert 'rejected_requests_total{why="unknown caller"} 1.0' in made.client.get("/metrics").text


def test_an_api_server_that_does_not_answer_is_503() -> None:
    """Not the caller's fault, and not a yes."""
    made = world(objects.node("n"))

    def review(token: str) -> str | None:
        raise Unavailable("API server: down")

    made.parts.doorkeeper.review = review
    headers = {"Authorization": "Bearer t"}
    reply = made.client.post("/v1/place", data=b"{}", headers=headers, environ_overrides=FAR)
    assert reply.status_code == 503
    assert made.client.post("/filter", data=b"{}", headers=headers, environ_overrides=FAR).status_code == 503


def test_where_nothing_depends_on_it_nobody_waits_again_for_a_review_that_fails() -> None:
    """Rooms are given to anybody; whether an operator asks for them is worth one failed review in a while."""
    asked, now = list[str](), [0.0]

    def review(token: str) -> str | None:
        asked.append(token)
        raise Unavailable("no answer")

    made = Authenticator(Callers(), Tls(), review, clock=lambda: now[0])
    environ = {**FAR, "HTTP_AUTHORIZATION": "Bearer x"}
    assert [made.knows(environ) for _ in range(3)] == [False] * 3
    assert len(asked) == 1
    now[0] = 11.0
    assert not made.knows(environ)
    assert len(asked) == 2
