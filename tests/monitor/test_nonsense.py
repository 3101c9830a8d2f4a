"""Pages and commands over a cluster that answers nonsense: each says so in a sentence, and shows what it can."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import httpx2
import pytest
from flask.testing import FlaskClient
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_monitor.check import Mark, check
from slackwater_monitor.explain import lines, node_lines
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.answers import about_node, about_nodes
from slackwater_monitor.sources.explanation import explain
from slackwater_monitor.sources.live import Live
from slackwater_monitor.web.app import dashboard
from slackwater_monitor.when import forecast
from support.builders.mutants import Chance, mutated
from support.examples import examples
from support.fakes.httpcluster import PROXY, usual

PAGES = (
    *("/", "/nodes", "/queue", "/pools", "/apps", "/api/snapshot"),
    *("/nodes/n0", "/queue/default", "/pools/default", "/apps/team-a/etl", "/pods/team-a/etl-0", "/pods/team-a/ran"),
)
ANSWERS: Mapping[str, Any] = {path: body for path, body in usual().answers.items() if not isinstance(body, tuple)}
# In place of a whole answer: half of it, nothing, other types, and pages that lead to no end.
WHOLES = (b'{"items": [', b"", b"[]", b"null", b"7", b'"x"', b"<html>", b'{"items": 7}', b'{"items": [7, null]}')

TOLD = re.compile("cannot be read|is no answer of|is missing")


def clients(answers: Mapping[str, bytes]) -> tuple[ApiClient, ExtenderClient]:
    """Clients of a cluster that answers so."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        found = answers.get(request.url.path)
        return (
            httpx2.Response(404, json={"message": "not found"})
            if found is None
            else httpx2.Response(200, content=found)
        )

    api = ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(answer))
    return api, ExtenderClient(api)


class Current:
    """Whichever cluster is looked at now."""

    live: Live

    def chosen(self, asked: Mapping[str, str]) -> Live:
        """It."""
        del asked
        return self.live


@cache
def pages() -> tuple[Current, FlaskClient]:
    """One dashboard for all clusters: its templates are read once."""
    shown = Current()
    web = dashboard(shown, Settings())
    web.config["PROPAGATE_EXCEPTIONS"] = True  # an error of ours would be a page otherwise
    return shown, web.test_client()


def nonsense(seed: int) -> dict[str, bytes]:
    """The usual answers, some of them changed somewhere and at times one replaced as a whole."""
    rng = Chance(seed)
    answers = {path: json.dumps(body).encode() for path, body in ANSWERS.items()}
    for path in rng.sample(sorted(answers), 4):
        answers[path] = json.dumps(mutated(rng, ANSWERS[path]), default=str).encode()
    if rng.random() < 0.3:
        answers[rng.choice(sorted(answers))] = rng.choice(WHOLES)
    return answers


@settings(max_examples=examples(40))
@given(st.integers(0, 10**9))
@example(1403)  # 1e308 cores on two nodes: their sum was infinite
@example(2617)
def test_every_page_answers_nonsense_with_a_sentence(seed: int) -> None:
    """Never an error of ours: what cannot be read is left out or told, the rest of the page is there."""
    shown, client = pages()
    shown.live = Live(*clients(nonsense(seed)))
    for path in PAGES:
        reply = client.get(path)
        assert reply.status_code in (200, 404, 503), path
        assert path == "/api/snapshot" or "</h1>" in reply.text


@given(st.integers(0, 10**9))
@example(85378639)  # a node that would serve it, without its score
def test_explain_answers_nonsense_with_a_sentence(seed: int) -> None:
    """The commands read the same answers: nothing but Unavailable comes out of them."""
    api, extender = clients(nonsense(seed))
    for name in ("etl-0", "ran"):
        with suppress(Unavailable):
            assert lines(explain(api, extender, "team-a", name), None)
    with suppress(Unavailable):
        assert node_lines(about_node(extender, "n0"))


@given(st.integers(0, 10**9))
def test_when_answers_nonsense_with_a_sentence(seed: int) -> None:
    """So does the question about an app that is not submitted yet."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": {"containers": []}}
    with suppress(Unavailable):
        (found,) = forecast(*clients(nonsense(seed)), [pod], "team-a", "slackwater-system")
        assert found.sentence


@pytest.mark.parametrize("whole", WHOLES, ids=repr)
def test_nodes_that_are_none_are_unknown_and_told_so(whole: bytes) -> None:
    """`when` counts no room, `top` and pages have a sentence; neither shows Python's own words."""
    answers = {path: json.dumps(body).encode() for path, body in ANSWERS.items()}
    api, extender = clients({**answers, f"{PROXY}/v1/nodes": whole})
    with pytest.raises(Unavailable, match=TOLD):
        about_nodes(extender)
    said = Live(api, extender).snapshot().problems[0]
    assert said.startswith("the ledger of the extender cannot be read")
    assert "NoneType" not in said
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": {"containers": []}}
    assert forecast(api, extender, [pod], "team-a", "slackwater-system")[0].fitting is None


@given(st.integers(0, 10**9))
def test_check_answers_nonsense_with_a_finding(seed: int) -> None:
    """Every part is told about, whatever another one answers."""
    found = list(check(*clients(nonsense(seed)), None, "slackwater-system", lambda: 0.0))
    assert found[0].mark is Mark.BAD or {"trackedapps", "namespaces", "operator", "watchdog", "extender"} <= {
        each.part for each in found
    }


@pytest.mark.parametrize("bad", ["soon", ["late"]], ids=str)
@pytest.mark.parametrize("field", ["renewTime", "leaseDurationSeconds"])
def test_check_tells_of_a_lease_that_cannot_be_read(field: str, bad: object) -> None:
    """What is no time is a finding about the operator, not the end of the command."""
    leases = "/apis/coordination.k8s.io/v1/namespaces/slackwater-system/leases"
    answers = {path: json.dumps(body).encode() for path, body in ANSWERS.items()}
    lease = json.loads(answers[leases])
    lease["items"][0]["spec"][field] = bad
    found = check(*clients({**answers, leases: json.dumps(lease).encode()}), None, "slackwater-system", lambda: 0.0)
    (operator,) = (each for each in found if each.part == "operator")
    assert operator.mark is Mark.BAD
    assert "cannot be read" in operator.words


@pytest.mark.parametrize("whole", WHOLES, ids=repr)
@pytest.mark.parametrize("path", ["/v1/nodes/n0", "/v1/explain/team-a/etl-0", "/v1/nodes"])
def test_an_answer_that_is_none_costs_its_own_part_of_the_page(path: str, whole: bytes) -> None:
    """Pod and node are shown all the same, with what is missing in a sentence."""
    answers = {each: json.dumps(body).encode() for each, body in ANSWERS.items()}
    client = dashboard(Live(*clients({**answers, f"{PROXY}{path}": whole})), Settings()).test_client()
    page = client.get("/pods/team-a/etl-0")
    assert page.status_code == 200
    assert TOLD.search(page.text)


def test_a_list_that_never_ends_is_given_up() -> None:
    """A server that always names the same page as the next one."""
    api, _ = clients({"/api/v1/pods": b'{"items": [], "metadata": {"continue": "more"}}'})
    with pytest.raises(Unavailable, match="never ends"):
        api.items("/api/v1/pods")
