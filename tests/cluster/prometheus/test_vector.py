"""Prometheus over HTTP: who we are, and answers of every kind and length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import httpx2
import orjson
import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.prometheus.vector import SLICE, VectorClient, decode
from slackwater_extender.settings import Prometheus


def answer(series: list[dict[str, Any]]) -> httpx2.Response:
    return httpx2.Response(200, content=body(series))


def body(series: list[dict[str, Any]]) -> bytes:
    return orjson.dumps({"status": "success", "data": {"resultType": "vector", "result": series}})


def row(index: int, name: str = "pod") -> dict[str, Any]:
    return {"metric": {"namespace": "batch", "pod": f"{name}-{index}"}, "value": [1.5, str(index)]}


class TestClient:
    """HTTP to Prometheus: who we are, and answers of every kind."""

    def client(self, reply: Any, seen: list[httpx2.Request] | None = None, **settings: Any) -> VectorClient:
        """A client whose server answers so."""

        def handle(request: httpx2.Request) -> httpx2.Response:
            if seen is not None:
                seen.append(request)
            found: httpx2.Response = reply(request) if callable(reply) else reply
            return found

        return VectorClient(Prometheus(url="http://prometheus:9090", **settings), httpx2.MockTransport(handle))

    def test_secrets_come_from_files_at_each_request(self, tmp_path: Any) -> None:
        """A renewed token needs no restart; the tenant goes along."""
        token = tmp_path / "token"
        token.write_text("one\n")
        seen: list[httpx2.Request] = []
        client = self.client(answer([]), seen, token_file=token, tenant="team", headers={"X-Extra": "1"})
        client.query("up")
        token.write_text("two")
        client.query("up")
        assert [each.headers["Authorization"] for each in seen] == ["Bearer one", "Bearer two"]
        assert seen[0].headers["X-Scope-OrgID"] == "team"
        assert seen[0].headers["X-Extra"] == "1"

    def test_basic_auth(self, tmp_path: Any) -> None:
        """User from the settings, password from a file."""
        (tmp_path / "password").write_text("secret")
        seen: list[httpx2.Request] = []
        self.client(answer([]), seen, username="me", password_file=tmp_path / "password").query("up")
        assert seen[0].headers["Authorization"].startswith("Basic ")

    @pytest.mark.parametrize(
        ("reply", "words"),
        [
            (httpx2.Response(503, text="busy"), "503"),
            (httpx2.Response(429, json={"status": "error", "error": "slow down"}), "slow down"),
            (httpx2.Response(400, json={"status": "error", "error": "parse error"}), "parse error"),
            (httpx2.Response(200, text="<html>login</html>"), "a web page came back, not an answer of Prometheus"),
            (
                httpx2.Response(200, json={"status": "success", "data": {"resultType": "matrix", "result": []}}),
                "matrix",
            ),
            (httpx2.Response(302, headers={"Location": "/login"}), "302 .*login pages"),
            (httpx2.Response(500, content=b'{"error": "\xff"}'), "500 "),
            (httpx2.Response(200, content=b'{"status": "\xff"}'), "not an answer of Prometheus"),
            (httpx2.Response(200, content=b'{"strange": ' + b"[" * 5000), "not an answer of Prometheus"),
        ],
        ids=["503", "429", "bad-query", "login-page", "matrix", "redirect", "latin-error", "latin", "deep"],
    )
    def test_other_answers_are_unavailable_in_words(self, reply: httpx2.Response, words: str) -> None:
        """With what the server said."""
        with pytest.raises(Unavailable, match=words):
            self.client(reply).query("up")

    def test_a_slow_answer_is_unavailable(self) -> None:
        """The timeout is the settings'."""

        def slow(request: httpx2.Request) -> httpx2.Response:
            raise httpx2.ReadTimeout("too slow", request=request)

        with pytest.raises(Unavailable, match="no answer within 4 s"):
            self.client(slow).query("up")

    @pytest.mark.parametrize(
        ("settings", "asked"), [({}, "4000ms"), ({"timeout": 10}, "10000ms"), ({"timeout": 2.5}, "2500ms")]
    )
    def test_the_timeout_is_written_as_prometheus_reads_it(self, settings: dict[str, float], asked: str) -> None:
        """Its durations are whole numbers: 10.0s is refused, and with it every query."""
        seen: list[httpx2.Request] = []
        self.client(answer([]), seen, **settings).query("up")
        assert parse_qs(seen[0].content.decode())["timeout"] == [asked]

    def test_secrets_are_not_in_the_settings_text(self) -> None:
        """What is logged or printed by --check hides them."""
        assert "hush" not in repr(Prometheus(headers={"X-Key": "hush"}))


class TestDecoding:
    """Long answers are decoded in pieces, exactly."""

    @pytest.mark.parametrize("count", [0, 1, 10, 10_000], ids=str)
    def test_every_series_once(self, count: int) -> None:
        """Whatever the number of pieces."""
        found = list(decode(body([row(i) for i in range(count)])).series())
        assert [each.value[1] for each in found] == [str(i) for i in range(count)]

    @pytest.mark.parametrize(
        "change",
        [
            lambda labels: labels,
            lambda labels: {**labels, "node": "n1"},
            lambda labels: {"pod": labels["pod"], "namespace": labels["namespace"]},
            lambda labels: {"pod_name": labels["pod"], "pod_namespace": labels["namespace"]},
        ],
        ids=["usual", "more-labels", "other-order", "other-names"],
    )
    def test_pods_are_read_in_every_layout(self, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
        """The quick way is taken only where it reads everything."""
        rows = [row(i) | {"metric": change(row(i)["metric"])} for i in range(5000)]
        found = [value for batch in decode(body(rows)).pods() for value in batch]
        assert found == [("batch", f"pod-{i}", str(i)) for i in range(5000)]

    def test_the_mark_between_series_inside_a_label(self) -> None:
        """Quotes are escaped inside strings, so the mark cannot stand there."""
        tricky = [row(i, name='x},{"metric":{"a":"b"},[') for i in range(4000)]
        assert len(body(tricky)) > SLICE
        assert len(list(decode(body(tricky)).series())) == 4000

    def test_warnings_behind_long_data(self) -> None:
        """Such an answer is decoded whole; the warning is kept."""
        text = body([row(i) for i in range(9000)])[:-1] + b',"warnings":["partial"]}'
        found = decode(text)
        assert found.warnings == ("partial",)
        assert len(list(found.series())) == 9000

    @pytest.mark.parametrize("series", [1, 9000], ids=["short", "long"])
    @pytest.mark.parametrize(
        ("said", "warnings"),
        [
            (b'"warnings":["partial"]', ("partial",)),
            (b'"isPartial":true', ("some storage nodes did not answer (isPartial)",)),
            (b'"isPartial":false', ()),
        ],
        ids=["warnings", "partial", "whole"],
    )
    def test_warnings_before_the_data(self, said: bytes, warnings: tuple[str, ...], series: int) -> None:
        """VictoriaMetrics marks a partial answer there; a long answer is read in pieces only where nothing is said."""
        text = body([row(i) for i in range(series)]).replace(b'"data":', said + b',"data":', 1)
        found = decode(text)
        assert found.warnings == warnings
        assert len(list(found.series())) == series

    def test_a_long_answer_cut_short_is_unavailable(self) -> None:
        """Half an answer is no answer."""
        text = body([row(i) for i in range(9000)])
        with pytest.raises(Unavailable):
            list(decode(text[: len(text) // 2] + b"]}}").series())
