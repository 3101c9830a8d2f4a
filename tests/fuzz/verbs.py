"""The extender's verbs, its API and its samples on the same course: whatever is asked or measured, never a 5xx."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

from slackwater.errors import SlackwaterError
from slackwater_cluster.objects.records import NodeRecord, PodRecord
from slackwater_cluster.prometheus.vector import Vector, decode
from slackwater_extender.sampler.measurement import UsageQuery
from slackwater_extender.sampler.presets import NAMES
from support.builders import mutants, objects
from support.builders.longtexts import text
from support.builders.mutants import LARGE, Chance
from support.fakes.extender import World, world

QUESTIONS = 12  # of each kind in a batch
VALUES = ("NaN", "+Inf", "-1", "0", "0.5", "1e308", "1e400", "", "x", "9" * mutants.LONG)
LABELS = ("node", "instance", "namespace", "pod", "pod_name", "exported_pod", "job", "")


def course(
    rng: Chance, bodies: Sequence[dict[str, Any]], nodes: Sequence[NodeRecord], pods: Sequence[PodRecord]
) -> str:
    """Show all of them to an extender, ask it and let it measure; returns what went wrong, "" where nothing did."""
    made = world(objects.node("healthy"), objects.node("node-0"))
    for name in ("team", "other"):
        made.namespace(name)
    made.parts.cache.set_nodes(nodes)
    made.parts.cache.set_pods(pods)
    known = [*(node.name for node in nodes), "healthy", "node-0", "nobody's", ""]
    uids = [*(pod.uid for pod in pods), "nobody's", ""]
    return next(
        (wrong for step in (_measured, _asked, _placed, _shown) if (wrong := step(rng, made, bodies, known, uids))), ""
    )


def _asked(rng: Chance, made: World, bodies: Sequence[Any], known: Sequence[str], uids: Sequence[str]) -> str:
    del uids
    questions = [
        (verb, {"Pod": body, "Nodes": None, "NodeNames": rng.sample(known, min(3, len(known)))})
        for body in rng.sample(bodies, min(QUESTIONS, len(bodies)))
        for verb in ("filter", "prioritize")
    ]
    return _sent(made, [(f"/{verb}", _mangled(rng, body)) for verb, body in questions])


def _placed(rng: Chance, made: World, bodies: Sequence[Any], known: Sequence[str], uids: Sequence[str]) -> str:
    del bodies
    sent: list[tuple[str, Any]] = []
    for _ in range(QUESTIONS):
        chosen = [rng.choice(uids) for _ in range(rng.randrange(8))]
        wish = {
            "group": "g",
            "urgency": 0.5,
            "alignment": 1.0,
            "submitted": 1.0,
            "rank": 0,
            "avoid": rng.sample(known, 1),
        }
        pods = [{"uid": uid, **wish} for uid in chosen]
        sent.append(("/v1/place", _mangled(rng, {"pods": pods, "cold": rng.random() < 0.5, "alpha": 0.1})))
        reserved = [{"uid": uid, "declared": {"cpu": 1.0}, "growth": False} for uid in chosen]
        sent.append(("/v1/reserve", _mangled(rng, {"pods": reserved})))
        sent.append(("/v1/unreserve", _mangled(rng, {"uids": chosen})))
    return _sent(made, sent)


def _shown(rng: Chance, made: World, bodies: Sequence[Any], known: Sequence[str], uids: Sequence[str]) -> str:
    del bodies, uids
    for path in (
        "/v1/nodes",
        "/v1/rooms",
        "/v1/usage?nodes=true",
        "/metrics",
        "/readyz",
        f"/v1/nodes/{rng.choice(known)}",
    ):
        reply = made.client.get(path)
        if reply.status_code >= 500 and path != "/readyz":
            return f"GET {path}: {reply.status_code} {reply.data[:200]!r}"
    return ""


def _sent(made: World, questions: Sequence[tuple[str, bytes]]) -> str:
    for path, body in questions:
        reply = made.client.post(path, data=body, content_type="application/json")
        if reply.status_code >= 500:
            return f"POST {path}: {reply.status_code} {reply.data[:200]!r} for {body[:500]!r}"
    return ""


def _measured(rng: Chance, made: World, bodies: Sequence[Any], known: Sequence[str], uids: Sequence[str]) -> str:
    """Two rounds of samples whose answers are whole, mutated or cut off."""
    names = [body["metadata"].get("name") for body in bodies if isinstance(body.get("metadata"), dict)]
    words = [str(each) for each in (*known, *names, "team", "kubelet")]
    heartbeat = made.parts.sampling
    heartbeat.inquiry = UsageQuery({name: name for name in NAMES}, window=60)
    del uids
    with ThreadPoolExecutor(1) as heartbeat._pool:
        for _ in range(2):
            made.clock.now += 5
            heartbeat.beat(_prometheus(rng, words))
    failed = made.parts.metrics.rounds.labels("error")._value.get()
    return f"{failed:g} rounds of samples failed: {heartbeat.trouble}" if failed else ""


def _prometheus(rng: Chance, words: Sequence[str]) -> Callable[[str], Vector]:
    def ask(_: str) -> Vector:
        series = [
            {
                "metric": {rng.choice(LABELS): _word(rng, words) for _ in range(rng.randrange(4))},
                "value": [rng.choice((0, 1.5, 1_767_225_600.0, 1e18)), rng.choice(VALUES)],
            }
            for _ in range(rng.randrange(30))
        ]
        answer: dict[str, Any] = {"status": "success", "data": {"resultType": "vector", "result": series}}
        body = _mangled(rng, answer)
        try:
            return decode(body[: rng.randrange(len(body) + 1)] if rng.random() < 0.2 else body)
        except SlackwaterError:
            raise
        except ValueError:
            return Vector([body])  # what the client would refuse at once is walked through, too

    return ask


def _word(rng: Chance, words: Sequence[str]) -> str:
    chosen = rng.choice(words)[:300]
    return text(rng.sizes) if rng.sizes.random() < LARGE else chosen


def _mangled(rng: Chance, body: dict[str, Any]) -> bytes:
    """JSON of the body, mutated half the time; what no JSON can hold is left as it was."""
    changed = mutants.mutated(rng, body) if rng.random() < 0.5 else body
    for each in (changed, body):
        try:
            return orjson.dumps(each)
        except (TypeError, ValueError):
            continue
    return b"{}"
