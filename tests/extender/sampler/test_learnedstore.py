"""The ConfigMap in which what was learned outlives the extender."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import httpx2
import numpy as np
import pytest
from structlog.testing import capture_logs

from slackwater.estimation.calibration import Kept
from slackwater.ledger.learnedstate import Learned, LearnedRisk
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_extender.sampler.learnedcodec import decode, encode
from slackwater_extender.sampler.learnedstore import KEY, LearnedStore
from support.builders import objects
from support.fakes.extender import START, World, world

PATH = "/api/v1/namespaces/slackwater-system/configmaps/slackwater-learned"
GIB = 2.0**30
KNOWN = 1.15 * 0.875  # a peak of 1 GiB with its margin, of which the allowance keeps a part already


class ConfigMapServer:
    """One ConfigMap behind HTTP; `troubles` are answered first."""

    def __init__(self) -> None:
        self.data: dict[str, str] = {}
        self.troubles: list[int] = []
        self.asked: list[str] = []

    def serve(self, request: httpx2.Request) -> httpx2.Response:
        """GET and merge PATCH of this one object."""
        self.asked.append(request.method)
        if self.troubles:
            return httpx2.Response(self.troubles.pop(0), json={"message": "not now"})
        if request.url.path != PATH:
            return httpx2.Response(403, json={"message": "not yours"})
        if request.method == "PATCH":
            self.data |= json.loads(request.content)["binaryData"]
        return httpx2.Response(200, json={"metadata": {"name": "slackwater-learned"}, "binaryData": self.data})

    def client(self) -> ApiClient:
        """A client of it."""
        return ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(self.serve))


def store(made: World, server: ConfigMapServer, interval: float = 3600.0) -> LearnedStore:
    """The store of one extender."""
    return LearnedStore(made.parts.cache, server.client, "slackwater-learned", interval)


def extender() -> World:
    """An extender that has just started."""
    return world(objects.node("n", cpu="64", memory="256Gi"))


def running(name: str) -> dict[str, Any]:
    """A task of the app `etl` on the node since the start."""
    state = {"containerStatuses": [{"name": "c", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}
    labels = {"spark-app-selector": "etl", "spark-role": "executor", "spark-app-name": "etl"}
    return objects.pod(name, cpu="1", memory="4Gi", node="n", phase="Running", labels=labels, status=state)


def teach(made: World) -> None:
    """Ten tasks use a quarter of what they ask for."""
    pods = [running(f"p{number}") for number in range(10)]
    made.show(*pods)
    for _ in range(4):
        made.clock.now += 5.0
        made.sample({"n": (2.0, 10 * GIB)}, {f"uid-batch-p{number}": (0.2, GIB) for number in range(10)})
    assert made.parts.cache.wall() == START + 20.0


def charged(made: World) -> float:
    """What the node's pods count at most, in GiB, with one more task."""
    made.show(running("new"))
    return made.parts.cache.ledger.explain("n", made.clock.now)["memory"].known / GIB


def test_the_next_extender_knows_what_this_one_learned() -> None:
    """Written at the end, read at the start, by the threads that do so in a cluster."""
    server, first, second, stranger = ConfigMapServer(), extender(), extender(), extender()
    keeper = store(first, server)
    keeper.start()
    wait_for(lambda: "GET" in server.asked)
    teach(first)
    keeper.stop()
    assert len(decode(base64.b64decode(server.data[KEY])).apps) == 1
    successor = store(second, server)
    successor.start()
    successor.stop()
    assert charged(stranger) == 4.0
    assert charged(second) == pytest.approx(KNOWN, rel=1e-3)


def test_what_has_not_changed_is_not_written_again() -> None:
    """One reading, one writing, then silence until something is learned."""
    server, made = ConfigMapServer(), extender()
    teach(made)
    keeper = store(made, server)
    with server.client() as api:
        for _ in range(4):
            keeper.turn(api)
    assert server.asked == ["GET", "PATCH"]


def test_nothing_learned_is_not_written() -> None:
    """An extender that starts and ends leaves what it found."""
    server = ConfigMapServer()
    keeper = store(extender(), server)
    with server.client() as api:
        keeper.turn(api)
        keeper.turn(api)
    assert server.asked == ["GET"]


@pytest.mark.parametrize("content", ["no base64 at all", base64.b64encode(b"damaged").decode(), "", None, 7])
def test_what_is_damaged_is_told_and_written_anew(content: Any) -> None:
    """It costs what was learned, not the extender."""
    server, made = ConfigMapServer(), extender()
    server.data = {KEY: content}
    keeper = store(made, server)
    with capture_logs() as logs, server.client() as api:
        keeper.turn(api)
        teach(made)
        keeper.turn(api)
    assert bool(content) == any("cannot be read" in each["event"] for each in logs)
    assert decode(base64.b64decode(server.data[KEY])).apps


@pytest.mark.parametrize("status", [403, 404, 500])
def test_nothing_is_overwritten_before_it_was_read(status: int) -> None:
    """An API server that is away at the start costs nothing that was learned; it is told once."""
    server, made = ConfigMapServer(), extender()
    server.troubles = [status, status]
    teach(made)
    keeper = store(made, server)
    with capture_logs() as logs, server.client() as api:
        for _ in range(4):
            keeper.turn(api)
    assert server.asked == ["GET", "GET", "GET", "PATCH"]
    assert len([each for each in logs if each["log_level"] == "warning"]) == 1


def scores(made: World) -> dict[str, int]:
    """How many scores are known of each kind for which a risk is stated."""
    return {kind: each.count for kind, each in made.parts.cache.ledger.risks().items()}


def risky() -> ConfigMapServer:
    """What was learned about a stated risk."""
    server, some = ConfigMapServer(), np.random.default_rng(0).normal(size=500)
    risks = {kind: LearnedRisk(0.01, 600.0, some, Kept(500, 4)) for kind in ("cpu", "memory")}
    learned = Learned(("cpu", "memory"), {}, np.ones((2, 64)), risks)
    server.data = {KEY: base64.b64encode(encode(learned)).decode()}
    return server


@pytest.mark.parametrize("last", ["SlackPolicy", "nodes"])
def test_nothing_is_read_before_it_is_known_what_can_be_used_of_it(last: str) -> None:
    """Without the policy there is no risk that scores belong to: they would be dropped, and then overwritten."""
    server, made = risky(), extender()
    made.parts.cache.synced.discard(last)
    keeper = store(made, server)
    with server.client() as api:
        keeper.turn(api)
        assert server.asked == []
        made.policy(mode="enforce", estimation={"risk": "1%"})
        made.parts.cache.synced.add(last)
        keeper.turn(api)
        assert scores(made) == {"cpu": 500, "memory": 500}
        keeper.turn(api)
    assert decode(base64.b64decode(server.data[KEY])).risks.keys() == {"cpu", "memory"}


def test_it_is_read_as_soon_as_policies_and_nodes_are_listed() -> None:
    """And not an interval later."""
    server, made = risky(), extender()
    made.parts.cache.synced.clear()
    keeper = store(made, server)
    keeper.start()
    made.policy(mode="enforce", estimation={"risk": "1%"})
    made.parts.cache.synced.update(("SlackPolicy", "nodes"))
    wait_for(lambda: scores(made) == {"cpu": 500, "memory": 500})
    keeper.stop()


def test_an_extender_that_ends_before_it_has_listed_anything_leaves_what_was_learned() -> None:
    """It ends at once, too."""
    server, made = risky(), extender()
    made.parts.cache.synced.clear()
    keeper = store(made, server)
    keeper.start()
    keeper.stop()
    assert server.asked == []


def test_scores_outlive_a_policy_that_goes_and_comes_back() -> None:
    """Delivered anew, or edited in two steps: meanwhile no ledger has a use for them."""
    server, made = risky(), extender()
    keeper = store(made, server)
    with server.client() as api:
        keeper.turn(api)
        keeper.turn(api)
        assert scores(made) == {}
        made.policy(mode="enforce", estimation={"risk": "1%"})
        keeper.turn(api)
        assert scores(made) == {"cpu": 500, "memory": 500}
        made.policy(mode="enforce")
        teach(made)
        keeper.turn(api)
        written = decode(base64.b64decode(server.data[KEY]))
        assert len(written.apps) == 1
        assert {kind: len(each.scores) for kind, each in written.risks.items()} == {"cpu": 500, "memory": 500}
        made.policy(mode="enforce", estimation={"risk": "1%"})
        keeper.turn(api)
    assert scores(made) == {"cpu": 500, "memory": 500}
    assert len(made.parts.cache.ledger.learned().apps) == 1


def test_scores_are_known_again_at_once_when_their_policy_comes_back() -> None:
    """Whatever is written when: where that is seldom, other promises are over before, and would take their place."""
    server, made = risky(), extender()
    keeper = store(made, server)
    with server.client() as api:
        keeper.turn(api)
    for without in ({"allowance": 0.8}, {"allowance": 0.9}):
        made.policy(mode="enforce", estimation=without)
        assert scores(made) == {}
    made.policy(mode="enforce", estimation={"risk": "1%"})
    assert scores(made) == {"cpu": 500, "memory": 500}


def test_another_policy_keeps_what_was_learned() -> None:
    """The ledger is made anew with other terms, its knowledge goes along."""
    made = extender()
    teach(made)
    made.policy(estimation={"allowance": 0.9})
    assert made.parts.cache.ledger.terms.allowance == 0.9
    assert len(made.parts.cache.ledger.learned().apps) == 1


def wait_for(condition: Any) -> None:
    """Until it holds, at most five seconds."""
    until = time.monotonic() + 5.0
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)
    assert condition()
