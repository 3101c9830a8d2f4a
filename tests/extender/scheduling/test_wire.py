"""Conformance: requests recorded from a real kube-scheduler, and replies in exactly the shape Go decodes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from slackwater.errors import InvalidInput
from slackwater_extender.scheduling import wire
from support.builders import objects
from support.fakes.extender import World, world

RECORDED = Path(__file__).parent / "recorded"
WIRE = Path(__file__).parent / "wire"
NODES = [f"node-{index:03d}" for index in range(6)]


def recorded(name: str) -> bytes:
    return (RECORDED / f"{name}.json").read_bytes()


def six() -> World:
    """The nodes that were there when the requests were recorded; the last one is small."""
    # The scheduler that sends whole nodes was a second one, with a name of its own.
    made = world(
        *[objects.node(name) for name in NODES], settings={"decisions": {"schedulers": ["slackwater", "whole"]}}
    )
    made.nodes(objects.node(NODES[5], cpu="1500m"))
    made.sample(dict.fromkeys(NODES, (0.0, 0.0)))
    return made


def post(made: World, verb: str, body: bytes) -> bytes:
    reply = made.client.post(f"/{verb}", data=body, content_type="application/json")
    assert reply.status_code == 200
    assert reply.content_type == "application/json"
    return bytes(reply.data)


@pytest.mark.parametrize("name", ["filter-names", "filter-nodes"])
def test_filter_answers_what_was_recorded(name: str) -> None:
    """Both ways of sending nodes are read; the reply has every key of ExtenderFilterResult and no other."""
    question = wire.read(recorded(name))
    assert sorted(question.names) == NODES
    answer = json.loads(post(six(), "filter", recorded(name)))
    assert list(answer) == ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"]
    assert answer["FailedAndUnresolvableNodes"] == {"node-005": "slackwater: measured cpu room too small"}
    assert answer["Error"] == ""


def test_names_are_answered_with_names() -> None:
    """`Nodes` stays null: a whole node in the reply would be taken for the truth about it."""
    answer = json.loads(post(six(), "filter", recorded("filter-names")))
    assert answer["Nodes"] is None
    assert sorted(answer["NodeNames"]) == NODES[:5]


def test_whole_nodes_are_answered_with_the_same_bytes() -> None:
    """What the scheduler gets back becomes its view of the node, so nothing of it may be lost."""
    sent = {item["metadata"]["name"]: item for item in json.loads(recorded("filter-nodes"))["Nodes"]["items"]}
    answer = json.loads(post(six(), "filter", recorded("filter-nodes")))
    assert answer["NodeNames"] is None
    returned = answer["Nodes"]["items"]
    assert sorted(item["metadata"]["name"] for item in returned) == NODES[:5]
    assert all(item == sent[item["metadata"]["name"]] for item in returned)


def test_a_nominated_pod_is_asked_about_with_one_name() -> None:
    """The common case."""
    question = wire.read(recorded("filter-nominated"))
    assert list(question.names) == ["node-003"]
    assert json.loads(post(six(), "filter", recorded("filter-nominated")))["NodeNames"] == ["node-003"]


@pytest.mark.parametrize("name", ["prioritize-names", "prioritize-nodes"])
def test_prioritize_answers_a_bare_array_of_integers(name: str) -> None:
    """Go refuses a float, even 7.0, and drops the whole list for it: no dot may stand in the reply."""
    text = post(six(), "prioritize", recorded(name))
    scores = json.loads(text)
    assert {each["Host"] for each in scores} == set(NODES)
    assert all(list(each) == ["Host", "Score"] for each in scores)
    assert all(type(each["Score"]) is int and 0 <= each["Score"] <= 10 for each in scores)
    assert b"." not in text
    assert b"NaN" not in text


def test_recorded_pods_are_counted_as_the_scheduler_counts() -> None:
    """1 core + 50m sidecar beats 100m init + sidecar; declared from the sealed annotations, clamped."""
    made = six()
    post(made, "filter", recorded("filter-names"))
    (claim,) = made.parts.cache.ledger.claims()
    assert claim.native == pytest.approx((1.05, 2 * 2**30))
    assert claim.charged == pytest.approx((2.0, 3 * 2**30))


def test_prioritize_follows_filter() -> None:
    """The placement moves with the node that leads now."""
    made = six()
    post(made, "filter", recorded("filter-names"))
    body = orjson.loads(recorded("prioritize-names"))
    body["NodeNames"] = ["node-004"]
    post(made, "prioritize", orjson.dumps(body))
    (claim,) = made.parts.cache.ledger.claims()
    assert claim.node == "node-004"


@pytest.mark.parametrize(
    ("nodes", "names"),
    [(None, None), (None, []), ({"items": None}, None), ({"metadata": {}, "items": []}, None)],
    ids=["both-null", "no-names", "null-items", "no-items"],
)
def test_no_nodes_is_a_legal_question(nodes: Any, names: Any) -> None:
    """Nothing asked, nothing answered."""
    body = orjson.dumps({"Pod": objects.pod(), "Nodes": nodes, "NodeNames": names})
    answer = json.loads(post(six(), "filter", body))
    assert answer["FailedNodes"] == answer["FailedAndUnresolvableNodes"] == {}
    assert json.loads(post(six(), "prioritize", body)) == []


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b'{"Pod":null}', b'{"Pod":{}}', b'{"Pod":[]}', b'{"Pod":{"metadata":7}}', b"{" * 5000],
    ids=["empty", "null", "list", "nothing", "null-pod", "nameless", "pod-list", "bad-meta", "unclosed"],
)
def test_what_is_no_question_is_refused_in_words(body: bytes) -> None:
    """400, with what to send."""
    with pytest.raises(InvalidInput, match="kube-scheduler"):
        wire.read(body)
    reply = six().client.post("/filter", data=body)
    assert reply.status_code == 400
    assert "kube-scheduler" in orjson.loads(reply.data)["error"]


def test_a_bad_quantity_is_the_pod_s_own_error() -> None:
    """The API server would not let it pass; if it comes, it is told."""
    body = orjson.dumps({"Pod": objects.pod(cpu="lots"), "Nodes": None, "NodeNames": ["node-000"]})
    reply = six().client.post("/filter", data=body)
    assert reply.status_code == 400
    assert "lots" in orjson.loads(reply.data)["error"]


def test_an_internal_error_is_that_pod_s_error_only(caplog: pytest.LogCaptureFixture) -> None:
    """Answered with Error, counted each time, logged once; the next pod is served."""
    made = six()
    guard = made.parts.cache.guard

    class Broken(type(guard)):  # type: ignore[misc] # the class of an object known at run time
        """A guard with a mistake in it."""

        def verdict(self, *_: Any, **__: Any) -> None:
            """Fail."""
            raise ZeroDivisionError("mistake")

    made.parts.cache.guard = Broken(made.parts.cache.governance)
    made.get("/v1/rooms")  # an operator leads: the guard is asked
    for _ in range(2):
        answer = json.loads(post(made, "filter", recorded("filter-names")))
        assert answer["Error"] == "slackwater: internal error, see the extender's log"
        assert {each["Score"] for each in json.loads(post(made, "prioritize", recorded("prioritize-names")))} == {0}
    made.parts.cache.guard = guard
    assert json.loads(post(made, "filter", recorded("filter-names")))["Error"] == ""
    assert 'slackwater_extender_errors_total{verb="filter"} 2.0' in made.client.get("/metrics").text


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Go program that decodes replies in kube-scheduler's own types and refuses fields they do not have."""
    go, made = shutil.which("go"), tmp_path_factory.mktemp("wire") / "wire"
    if go is None:
        pytest.skip("Go is not installed")
    offline = {**os.environ, "GOPROXY": "off", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"}
    built = subprocess.run(
        [go, "build", "-o", str(made), "."], cwd=WIRE, env=offline, capture_output=True, text=True, check=False
    )
    if "GOPROXY=off" in built.stderr:
        pytest.skip("k8s.io/kube-scheduler is not in Go's module cache; run: go mod download, in tests/extender/wire")
    assert built.returncode == 0, built.stderr
    return made


def decoded(decoder: Path, verb: str, reply: bytes) -> Any:
    """The reply as Go writes it after having read it."""
    found = subprocess.run([str(decoder), verb], input=reply, capture_output=True, check=False)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.mark.lab
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name", ["filter-names", "filter-nodes", "filter-nominated", "prioritize-names", "prioritize-nodes"]
)
def test_replies_decode_in_go_s_types(decoder: Path, name: str) -> None:
    """Strictly, and without loss: what Go read of our reply is what we wrote."""
    verb, reply = name.partition("-")[0], post(six(), name.partition("-")[0], recorded(name))
    found = decoded(decoder, verb, reply)
    if verb == "prioritize":
        assert found == json.loads(reply)
        return
    ours = json.loads(reply)
    assert {key: found[key] for key in found if key != "Nodes"} == {key: ours[key] for key in ours if key != "Nodes"}
    mine, theirs = ((each["Nodes"] or {"items": []})["items"] for each in (ours, found))
    assert [each["metadata"]["name"] for each in theirs] == [each["metadata"]["name"] for each in mine]


@pytest.mark.lab
@pytest.mark.timeout(300)
def test_refusals_and_errors_decode_in_go_s_types(decoder: Path) -> None:
    """Every node refused, an extender that is starting, and an error of ours."""
    parked = orjson.loads(recorded("filter-names"))
    parked["Pod"]["metadata"]["annotations"]["slackwater.io/parked"] = "timeout"
    parked["Pod"]["metadata"]["resourceVersion"] = "999999"
    refused = decoded(decoder, "filter", post(six(), "filter", orjson.dumps(parked)))
    assert refused["FailedAndUnresolvableNodes"] == dict.fromkeys(NODES, "slackwater: pod is parked")
    assert decoded(decoder, "filter", wire.failed("slackwater: why"))["Error"] == "slackwater: why"


@pytest.mark.lab
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "reply", [b'[{"Host":"n","Score":7.0}]', b'[{"Host":"n","Score":7,"Why":"x"}]', b'[{"Host":"n","Score":NaN}]']
)
def test_go_refuses_what_we_never_send(decoder: Path, reply: bytes) -> None:
    """The decoder is as strict as it is said to be."""
    found = subprocess.run([str(decoder), "prioritize"], input=reply, capture_output=True, check=False)
    assert found.returncode == 1
