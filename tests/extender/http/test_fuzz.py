"""Whatever is sent: a valid answer or a clear 4xx, never a 5xx, and nothing grows."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.builders import objects
from support.fakes.extender import World, world

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(["metadata", "spec", "status"])
KEYS = st.sampled_from(
    [
        "name",
        "namespace",
        "uid",
        "labels",
        "annotations",
        "ownerReferences",
        "containers",
        "initContainers",
        "overhead",
        "resources",
        "nodeName",
        "schedulerName",
        "tolerations",
        "affinity",
        "phase",
        "conditions",
        "containerStatuses",
    ]
)


def one() -> World:
    made = world(objects.node("n"), settings={"server": {"body_limit": 2**20}})
    made.sample({"n": (0.0, 0.0)})
    return made


WORLD = one()


def sent(body: bytes, verb: str = "filter") -> int:
    """The status; the answer must be JSON in the right shape."""
    reply = WORLD.client.post(f"/{verb}", data=body, content_type="application/json")
    answer = json.loads(reply.data)
    if reply.status_code == 200:
        assert isinstance(answer, list) if verb == "prioritize" else set(answer) >= {"NodeNames", "Error"}
    else:
        assert 400 <= reply.status_code < 500
        assert answer["error"]
    return reply.status_code


@given(st.binary(max_size=400), st.sampled_from(["filter", "prioritize"]))
def test_any_bytes(body: bytes, verb: str) -> None:
    """Noise."""
    assert sent(body, verb) == 400


@given(JSON, st.sampled_from(["filter", "prioritize"]))
def test_any_json(value: Any, verb: str) -> None:
    """JSON that is no question, or happens to be one."""
    sent(orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS, default=str) if _encodable(value) else b"", verb)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(FIELDS, st.dictionaries(KEYS, JSON, max_size=5)),
    st.one_of(st.none(), st.lists(st.text(max_size=6), max_size=5), JSON),
    st.sampled_from(["filter", "prioritize"]),
)
def test_pods_with_anything_in_them(parts: dict[str, Any], names: Any, verb: str) -> None:
    """Right keys, wrong types."""
    pod = objects.pod()
    for part, values in parts.items():
        pod[part] |= values
    body = {"Pod": pod, "Nodes": None, "NodeNames": names}
    if _encodable(body):
        sent(orjson.dumps(body), verb)


def _encodable(value: Any) -> bool:
    """Integers beyond 64 bits and lone surrogates cannot be written as JSON by anyone."""
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


def question(names: Any, **pod: Any) -> bytes:
    return json.dumps({"Pod": objects.pod(**pod), "Nodes": None, "NodeNames": names}).encode()


CORPUS = {
    "truncated": question(["n"])[:-20],
    "trailing": question(["n"]) + b"}}",
    "deep": b'{"Pod":' + b'{"metadata":' * 20_000,
    "deep-list": b'{"Pod":{"metadata":{"name":"x"},"spec":' + b"[" * 100_000,
    "byte-order-mark": b"\xef\xbb\xbf" + question(["n"]),
    "utf-16": question(["n"]).decode().encode("utf-16"),
    "bad-utf-8": question(["n"]).replace(b'"n"', b'"\xff\xfe"'),
    "lone-surrogate": question(["n"]).replace(b'"n"', b'"\\ud800"'),
    "nan": question(["n"]).replace(b'"phase": "Pending"', b'"phase": NaN'),
    "huge-number": question(["n"]).replace(b'"Pending"', b"1" * 400),
    "names-are-numbers": question([1, 2]),
    "names-are-one-text": question("n"),
    "null-name": question([None]),
    "negative-quantity": question(["n"], cpu="-1"),
}


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.parametrize("verb", ["filter", "prioritize"])
def test_broken_bodies(name: str, verb: str) -> None:
    """Each is refused in words; none ends the process."""
    assert sent(CORPUS[name], verb) == 400


@pytest.mark.parametrize(
    "names",
    [["n", "n", "n"], ["", " "], ["é", "名前", "n\u0000"], ["n" * 10_000], [f"x{i}" for i in range(20_000)]],
    ids=["duplicates", "blank", "unicode", "long", "many"],
)
def test_odd_names_are_answered(names: list[str]) -> None:
    """Unknown nodes are refused for being unknown; duplicates are one node."""
    reply = WORLD.client.post("/filter", data=question(names))
    answer = orjson.loads(reply.data)
    assert set(answer["NodeNames"]) <= set(names)
    assert set(answer["NodeNames"]) | set(answer["FailedAndUnresolvableNodes"]) == set(names)


def test_an_amount_next_to_nothing_is_judged_like_others() -> None:
    """It fits or it does not."""
    assert sent(question(["n"], cpu="0.000000000000000000001")) == 200


@pytest.mark.parametrize("cpu", ["9" * 60, "1e300", "1e999"])
def test_amounts_beyond_64_bits_are_judged_as_what_kubernetes_caps_them_to(cpu: str) -> None:
    """The API server takes them; sums of them are finite all the same."""
    assert sent(question(["n"], cpu=cpu)) == 200


def test_an_amount_that_nobody_can_mean_is_refused() -> None:
    """The API server writes no quantity of more than 64 characters; whoever sends one is told."""
    assert sent(question(["n"], cpu="9" * 300)) == 400


def test_a_body_over_the_limit_is_refused() -> None:
    """413, before it is read."""
    reply = WORLD.client.post("/filter", data=b" " * (2**20 + 1))
    assert reply.status_code == 413
    assert WORLD.client.post("/v1/place", data=b" " * (2**20 + 1)).status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/filter", 405),
        ("GET", "/nowhere", 404),
        ("DELETE", "/v1/nodes", 405),
        ("GET", "/v1/nodes/ghost", 404),
        ("GET", "/v1/decisions?limit=many", 400),
        ("GET", "/v1/nodes?selector=x", 400),
        ("GET", "/v1/wakeups?after=-1", 400),
        ("GET", "/v1/explain/batch/ghost", 404),
    ],
)
def test_other_mistakes_are_told_in_json(method: str, path: str, status: int) -> None:
    """People and programs get the same sentence."""
    reply = WORLD.client.open(path, method=method)
    assert reply.status_code == status
    assert orjson.loads(reply.data)["error"]


def test_nothing_grows() -> None:
    """After hundreds of refused and strange questions the cache holds what it held."""
    made = one()
    for index in range(600):
        made.client.post("/filter", data=question([f"ghost-{index}"], uid=f"u{index}", cpu="99"))
        made.client.post("/filter", data=CORPUS["truncated"])
    cache = made.parts.cache
    assert len(cache.ledger) == 0
    assert len(cache.index.pods) == 0
    assert len(made.parts.decisions) <= made.parts.settings.decisions.remembered
    assert len(made.client.get("/metrics").data) < 20_000
