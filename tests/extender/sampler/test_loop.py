"""Measurements that may be wrong in every way, and what the ledger is told of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.prometheus.vector import PodLabels, Vector, VectorSeries, pod_of
from slackwater_extender.sampler.labels import NodeNames, without_port
from slackwater_extender.sampler.loop import WAITED, SamplingLoop
from slackwater_extender.sampler.measurement import SampleRound, UsageQuery, largest
from slackwater_extender.sampler.presets import NAMES
from support.builders import objects
from support.fakes.extender import World, node_record, world

GI = 2.0**30


def vector(*rows: tuple[dict[str, str], object]) -> Vector:
    return Vector.of([VectorSeries(labels, (1.0, str(value))) for labels, value in rows])


def by_node(**values: object) -> Vector:
    return vector(*[({"node": name}, value) for name, value in values.items()])


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


def answers(**by_name: Vector | Exception) -> Callable[[str], Vector]:
    """A Prometheus that answers each query by its name."""

    def ask(promql: str) -> Vector:
        found = by_name.get(promql, Vector())
        if isinstance(found, Exception):
            raise found
        return found

    return ask


INQUIRY = UsageQuery({name: name for name in NAMES}, window=60)


def measured(pool: ThreadPoolExecutor, made: World, **by_name: Vector | Exception) -> SampleRound:
    """One round over the world's nodes and pods."""
    cache = made.parts.cache
    return INQUIRY.run(answers(**by_name), pool, cache.nodes, cache.names_of, ".+")


@pytest.fixture
def two() -> World:
    made = world(objects.node("n1", address="10.0.0.1"), objects.node("n2", address="10.0.0.2"))
    made.show(objects.pod("p", node="n1", phase="Running", status=objects.running()))
    return made


class TestMapping:
    """Series to nodes and pods, whatever the exporter calls them."""

    @pytest.mark.parametrize(
        "labels",
        [
            {"node": "n1"},
            {"instance": "n1"},
            {"instance": "n1:9100"},
            {"instance": "10.0.0.1"},
            {"instance": "10.0.0.1:10250"},
            {"kubernetes_node": "n1", "instance": "10.9.9.9:9100"},
            {"node": "unknown", "instance": "10.0.0.1:9100"},
        ],
        ids=lambda labels: "-".join(labels.values()),
    )
    def test_node_by_any_name(self, labels: dict[str, str]) -> None:
        """Name, IP, IP:port or another label."""
        assert NodeNames([node_record(objects.node("n1", address="10.0.0.1"))]).find(labels) == "n1"

    def test_the_settings_may_name_the_label(self) -> None:
        """Then only that one counts."""
        names = NodeNames([node_record(objects.node("n1"))], label="machine")
        assert names.find({"machine": "n1"}) == "n1"
        assert names.find({"node": "n1"}) is None

    @pytest.mark.parametrize(
        ("address", "host"),
        [("a:1", "a"), ("a", "a"), ("[::1]:9100", "::1"), ("fe80::1", "fe80::1"), ("a:b", "a:b"), ("", "")],
    )
    def test_ports_are_cut_off(self, address: str, host: str) -> None:
        """IPv6 included."""
        assert without_port(address) == host

    def test_pods_by_either_pair_of_labels(self) -> None:
        """Kubelet's and the exporters' own."""
        assert pod_of(PodLabels(namespace="a", pod="p")) == ("a", "p")
        assert pod_of(PodLabels(pod_namespace="a", pod_name="p")) == ("a", "p")
        assert pod_of(PodLabels(exported_namespace="a", exported_pod="p")) == ("a", "p")
        assert pod_of(PodLabels()) == ("", "")


class TestRounds:
    """What is believed, what is dropped, and what is told about it."""

    def test_everything_well(self, pool: ThreadPoolExecutor, two: World) -> None:
        """Cores, bytes and timestamps by node; use by pod."""
        found = measured(
            pool,
            two,
            node_cpu=by_node(n1=2, n2=3),
            node_memory=by_node(n1=GI, n2=2 * GI),
            node_time=by_node(n1=100, n2=101),
            pod_cpu=vector(({"namespace": "batch", "pod": "p"}, 0.5)),
            pod_memory=vector(({"namespace": "batch", "pod": "p"}, 5e8)),
            node_network=by_node(n1=1e6),
        )
        assert found.used("n2", ("cpu", "memory")) == (3, 2 * GI)
        assert found.stamps == {"n1": 100, "n2": 101}
        uids, uses = found.pods.joined(("cpu", "memory", "gpu"))
        assert (uids, uses.T.tolist()) == (["uid-batch-p"], [[0.5, 5e8, 0.0]])
        assert (found.network, found.troubles, found.dropped) == ({"n1": 1e6}, [], {})

    @pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "nonsense", ""])
    def test_values_that_are_no_amounts_are_dropped(self, pool: ThreadPoolExecutor, two: World, value: str) -> None:
        """The node counts as not measured, not as idle."""
        found = measured(pool, two, node_cpu=by_node(n1=value, n2=1), node_time=by_node(n1=1, n2=1))
        assert math.isnan(found.used("n1", ("cpu",))[0])
        assert found.dropped == {"not a number": 1}

    def test_of_duplicates_the_larger_is_believed(self, pool: ThreadPoolExecutor, two: World) -> None:
        """Two scrapers of one node."""
        twice = vector(({"node": "n1"}, 3), ({"instance": "10.0.0.1:9100"}, 5), ({"node": "n1"}, 4))
        found = measured(pool, two, node_cpu=twice, node_time=by_node(n1=1))
        assert found.nodes["cpu"] == {"n1": 5}
        assert found.dropped == {"duplicate": 2}

    def test_of_a_pod_measured_twice_the_larger_is_believed(self, pool: ThreadPoolExecutor, two: World) -> None:
        """However far apart its two series stand."""
        p, other = ({"namespace": "batch", "pod": name} for name in ("p", "q"))
        two.show(objects.pod("q", node="n1"))
        found = measured(pool, two, pod_cpu=vector((p, 0.2), (other, 0.1), (p, 0.7)), pod_memory=vector((p, 3), (p, 2)))
        uids, uses = largest(*found.pods.joined(("cpu", "memory")))
        assert dict(zip(uids, uses.T.tolist(), strict=True))["uid-batch-p"] == [0.7, 3.0]
        same = measured(pool, two, pod_cpu=vector((p, 0.2), (p, 0.7)), pod_memory=vector((p, 3), (p, 2)))
        uids, uses = largest(*same.pods.joined(("cpu", "memory")))
        assert (uids, uses.tolist()) == (["uid-batch-p"], [[0.7], [3.0]])

    @pytest.mark.parametrize(
        ("query", "value", "unit"),
        [("node_cpu", 2000, "cores"), ("node_memory", 4096, "bytes"), ("node_memory", 1e15, "bytes")],
        ids=["millicores", "megabytes", "absurd"],
    )
    def test_a_wrong_unit_is_found_out(
        self, pool: ThreadPoolExecutor, two: World, query: str, value: float, unit: str
    ) -> None:
        """No node can use more than it has, or a few kilobytes; the query is not believed and said to be wrong."""
        found = measured(pool, two, **{query: by_node(n1=value, n2=value), "node_time": by_node(n1=1, n2=1)})
        assert found.nodes["cpu" if unit == "cores" else "memory"] == {}
        assert f"cannot be {unit}" in found.troubles[0]

    def test_one_impossible_value_costs_one_node(self, pool: ThreadPoolExecutor, two: World) -> None:
        """A glitch is no wrong unit."""
        found = measured(pool, two, node_cpu=by_node(n1=9999, n2=1), node_time=by_node(n1=1, n2=1))
        assert found.nodes["cpu"] == {"n2": 1}
        assert found.troubles == []

    def test_an_idle_node_may_use_nothing(self, pool: ThreadPoolExecutor, two: World) -> None:
        """Zero is an amount."""
        assert measured(pool, two, node_memory=by_node(n1=0, n2=0)).nodes["memory"] == {"n1": 0, "n2": 0}

    def test_a_failed_query_costs_its_kind_only(self, pool: ThreadPoolExecutor, two: World) -> None:
        """Slow or broken, the others still count."""
        found = measured(
            pool, two, node_cpu=Unavailable("ReadTimeout"), node_memory=by_node(n1=GI), node_time=by_node(n1=1)
        )
        assert found.nodes == {"cpu": {}, "memory": {"n1": GI}}
        assert found.troubles == ["node_cpu: ReadTimeout"]

    def test_an_answer_that_breaks_off_costs_its_kind_only(self, pool: ThreadPoolExecutor, two: World) -> None:
        """Even in the middle of a walk through it."""
        pieces = [b'[{"metric":{"node":"n1"},"value":[1.0,"2"]}]', b'[{"metric":']
        found = measured(pool, two, node_cpu=Vector(pieces), node_time=by_node(n1=1))
        assert found.troubles[0].startswith("node_cpu: an answer that breaks off")

    def test_a_partial_answer_is_used_and_told(self, pool: ThreadPoolExecutor, two: World) -> None:
        """Thanos says so in a warning."""
        partial = Vector.of(by_node(n1=1).series(), ("store down",))
        found = measured(pool, two, node_cpu=partial, node_time=by_node(n1=1))
        assert found.nodes["cpu"] == {"n1": 1}
        assert found.troubles == ["node_cpu: partial answer: store down"]

    def test_series_nobody_knows_are_told(self, pool: ThreadPoolExecutor, two: World) -> None:
        """A wrong preset must not look like an idle cluster."""
        found = measured(pool, two, node_cpu=by_node(other=1), node_time=by_node(other=1))
        assert found.dropped == {"unknown node": 2}
        assert "names a known node" in found.troubles[0]

    def test_without_a_time_query_the_question_s_time_counts(self, pool: ThreadPoolExecutor, two: World) -> None:
        """For sources that keep no timestamps."""
        cache = two.parts.cache
        inquiry = UsageQuery({"node_cpu": "node_cpu"}, window=60)
        found = inquiry.run(answers(node_cpu=by_node(n1=1)), pool, cache.nodes, cache.names_of, ".+")
        assert found.stamps == {"n1": 1.0}


class TestHeartbeat:
    """Rounds applied to the ledger."""

    def beat(self, two: World, pool: ThreadPoolExecutor, **by_name: Vector | Exception) -> SamplingLoop:
        """One beat."""
        sampling = two.parts.sampling
        sampling.inquiry = INQUIRY
        sampling._pool = pool
        sampling.beat(answers(**by_name))
        return sampling

    def good(self, two: World, cpu: float = 2.0, **more: Vector) -> dict[str, Vector]:
        """A round in which all is well."""
        now = two.clock.wall()
        return {
            "node_cpu": by_node(n1=cpu, n2=cpu),
            "node_memory": by_node(n1=GI, n2=GI),
            "node_time": by_node(n1=now, n2=now),
            **more,
        }

    def test_use_reaches_the_ledger(self, two: World, pool: ThreadPoolExecutor) -> None:
        """And the extender is sampled from then on."""
        sampling = self.beat(two, pool, **self.good(two))
        assert two.get("/v1/nodes/n1")["resources"]["cpu"]["used"] == 2
        assert sampling.sampled
        assert sampling.trouble == ""
        assert sampling.age() == 0

    def test_a_pod_decays_only_with_samples_that_saw_it(self, two: World, pool: ThreadPoolExecutor) -> None:
        """A pod without series keeps its whole request; one that is measured gives way."""
        two.show(objects.pod("unseen", node="n2", phase="Running", status=objects.running("2025-12-31T23:59:00Z")))
        two.show(objects.pod("p", node="n1", phase="Running", status=objects.running("2025-12-31T23:59:00Z")))
        seen = vector(({"namespace": "batch", "pod": "p"}, 0.1))
        memory = vector(({"namespace": "batch", "pod": "p"}, 1e8))
        for _ in range(4):
            two.clock.now += 5
            self.beat(two, pool, **self.good(two, 0.2, pod_cpu=seen, pod_memory=memory))
        assert two.get("/v1/nodes/n1")["resources"]["cpu"]["residual"] < 0.2
        assert two.get("/v1/nodes/n2")["resources"]["cpu"]["residual"] == 1.0

    @pytest.mark.parametrize("broken", ["pod_cpu", "pod_memory"])
    def test_a_pod_is_measured_where_all_kinds_of_it_are(
        self, two: World, pool: ThreadPoolExecutor, broken: str
    ) -> None:
        """While one question about pods goes unanswered, its whole request stays charged, of every kind."""
        two.show(objects.pod("p", node="n1", phase="Running", status=objects.running("2025-12-31T23:59:00Z")))
        pods = {name: vector(({"namespace": "batch", "pod": "p"}, 0.1)) for name in ("pod_cpu", "pod_memory")}
        del pods[broken]
        for _ in range(3):
            two.clock.now += 5
            unanswered = {broken: Unavailable("timed out")}
            sampling = self.beat(two, pool, **self.good(two, 0.2, **pods), **unanswered)
        assert broken in sampling.trouble
        assert two.get("/v1/nodes/n1")["resources"]["cpu"]["residual"] == 1.0

    def test_a_series_of_an_earlier_pod_of_the_same_name_is_not_believed(
        self, two: World, pool: ThreadPoolExecutor
    ) -> None:
        """The container started after the sample was taken."""
        two.show(objects.pod("p", node="n1", phase="Running", status=objects.running("2026-01-01T01:00:00Z")))
        pods = {name: vector(({"namespace": "batch", "pod": "p"}, 0.1)) for name in ("pod_cpu", "pod_memory")}
        for _ in range(3):
            two.clock.now += 5
            self.beat(two, pool, **self.good(two, 0.2, **pods))
        assert two.get("/v1/nodes/n1")["resources"]["cpu"]["residual"] == 1.0

    def test_a_pod_that_is_said_to_use_more_than_its_node_has_is_set_aside(
        self, two: World, pool: ThreadPoolExecutor
    ) -> None:
        """Counted, and its whole request stays charged; other pods are measured as ever."""
        two.show(objects.pod("p", node="n1", phase="Running", status=objects.running("2025-12-31T23:59:00Z")))
        two.show(objects.pod("q", node="n1", phase="Running", status=objects.running("2025-12-31T23:59:00Z")))
        p, q = ({"namespace": "batch", "pod": name} for name in ("p", "q"))
        for _ in range(4):
            two.clock.now += 5
            pods = {"pod_cpu": vector((p, 1000), (q, 0.1)), "pod_memory": vector((p, 1e8), (q, 1e8))}
            self.beat(two, pool, **self.good(two, 0.2, **pods))
        assert 1.0 <= two.get("/v1/nodes/n1")["resources"]["cpu"]["residual"] < 1.2
        dropped = two.parts.metrics.dropped.labels("more than its node")
        assert dropped._value.get() == 4

    def test_pods_of_others_are_seen_by_their_node(self, two: World, pool: ThreadPoolExecutor) -> None:
        """Their own series are not asked for; their requests must still give way to measured use."""
        two.show(objects.pod("x", "web", node="n1", phase="Running", status=objects.running("2025-12-31T23:00:00Z")))
        for _ in range(8):
            two.clock.now += 5
            self.beat(two, pool, **self.good(two, 0.2))
        assert two.get("/v1/nodes/n1")["resources"]["cpu"]["residual"] < 1.05  # p's own request is left

    def test_what_pods_used_can_be_asked_for(self, two: World, pool: ThreadPoolExecutor) -> None:
        """Our own pods only, and only what was measured."""
        two.show(objects.pod("x", "web", node="n1", phase="Running", status=objects.running()))
        cpu = vector(({"namespace": "batch", "pod": "p"}, 0.25), ({"namespace": "web", "pod": "x"}, 1))
        self.beat(two, pool, **self.good(two, pod_cpu=cpu))
        assert two.get("/v1/usage") == {"pods": {"uid-batch-p": {"cpu": 0.25}}}

    def test_what_nodes_used_can_be_asked_for_with_the_age_of_it(self, two: World, pool: ThreadPoolExecutor) -> None:
        """Everything on the node, pods of others too; when it was measured, and whether that is too long ago."""
        now = two.clock.wall()
        self.beat(two, pool, **self.good(two, 0.5, node_memory=by_node(n1=3 * GI)))
        nodes = two.get("/v1/usage?nodes=true")["nodes"]
        charged = {name: each.pop("charged") for name, each in nodes.items()}
        assert charged == {"n1": {"cpu": 1.0, "memory": 3 * GI}, "n2": {"cpu": 0.5, "memory": 0.0}}
        assert all(each.pop("drivers") == {"cpu": 0.0, "memory": 0.0} for each in nodes.values())
        assert nodes == {
            "n1": {"used": {"cpu": 0.5, "memory": 3 * GI}, "measured": now, "stale": False},
            "n2": {"used": {"cpu": 0.5}, "measured": now, "stale": False},
        }
        two.clock.now += 60
        assert all(each["stale"] for each in two.get("/v1/usage?nodes=true")["nodes"].values())

    def test_late_and_lost_rounds(self, two: World, pool: ThreadPoolExecutor) -> None:
        """Damping follows the samples' own time: one sample after 10 s weighs as two after 5 s each."""
        self.beat(two, pool, **self.good(two, 4.0))
        two.clock.now += 5
        self.beat(two, pool, node_time=Unavailable("down"))
        two.clock.now += 5
        self.beat(two, pool, **self.good(two, 1.0))
        learned = two.get("/v1/nodes/n2")["resources"]["cpu"]["learned"]
        assert learned == pytest.approx(1 + 3 * 0.875**10)

    def test_a_repeated_sample_changes_nothing(self, two: World, pool: ThreadPoolExecutor) -> None:
        """We ask more often than Prometheus scrapes."""
        first = self.good(two, 4.0)
        self.beat(two, pool, **first)
        before = two.get("/v1/nodes/n1")["resources"]
        two.clock.now += 5
        self.beat(two, pool, **{**first, "node_cpu": by_node(n1=9, n2=9)})
        assert two.get("/v1/nodes/n1")["resources"] == before

    def test_trouble_is_told_and_taken_back(self, two: World, pool: ThreadPoolExecutor) -> None:
        """Readiness shows it while it lasts."""
        assert "down" in self.beat(two, pool, node_time=Unavailable("down")).trouble
        assert two.parts.readiness().status == "degraded"
        assert self.beat(two, pool, **self.good(two)).trouble == ""
        assert two.parts.readiness().status == "ready"

    def test_an_unexpected_error_does_not_end_the_thread(self, two: World, pool: ThreadPoolExecutor) -> None:
        """The next round may work."""
        sampling = self.beat(two, pool, node_cpu=RuntimeError("surprise"))
        assert "surprise" in sampling.trouble
        self.beat(two, pool, **self.good(two))
        assert sampling.trouble == ""

    def asked(self, two: World, pool: ThreadPoolExecutor, **by_name: Vector) -> str:
        """Which namespaces a round of five seconds later asks for, in which this is answered."""
        two.clock.now += 5
        sampling = self.beat(two, pool, **{**self.good(two), **by_name})
        return sampling.asked

    @staticmethod
    def show_stranger(two: World, node: str, started: str = "2025-12-31T23:00:00Z") -> None:
        """A pod of somebody else that runs on a node, for an hour unless told otherwise."""
        two.namespace("web", managed=False)
        two.show(objects.pod(f"x-{node}", "web", node=node, phase="Running", status=objects.running(started)))

    def test_only_managed_namespaces_are_asked_for_once_nodes_are_measured(
        self, two: World, pool: ThreadPoolExecutor
    ) -> None:
        """Pods of others are many, and their own use is nobody's question; a node's first sample builds on it."""
        self.show_stranger(two, "n1")
        assert [self.asked(two, pool) for _ in range(3)] == [".+", "batch", "batch"]

    def test_a_ledger_made_anew_asks_for_pods_of_others_again(self, two: World, pool: ThreadPoolExecutor) -> None:
        """All its nodes begin anew: without the use of those pods their room was gone for ten minutes."""
        self.show_stranger(two, "n1")
        self.asked(two, pool)
        two.policy(mode="enforce", estimation={"staleAfterPeriods": 4})
        assert [self.asked(two, pool) for _ in range(2)] == [".+", "batch"]

    def test_a_node_that_is_measured_late_is_asked_for_with_all_its_pods(
        self, two: World, pool: ThreadPoolExecutor
    ) -> None:
        """One that is never measured makes some rounds longer, not all; rounds without any sample do not count."""
        self.show_stranger(two, "n2")
        late = {"node_cpu": by_node(n1=2.0), "node_memory": by_node(n1=GI)}
        for _ in range(2 * WAITED):
            assert self.asked(two, pool, node_time=Vector()) == ".+"
        found = [self.asked(two, pool, **late, node_time=by_node(n1=two.clock.wall())) for _ in range(WAITED + 3)]
        assert found == [".+"] * (WAITED + 1) + ["batch"] * 2

    @pytest.mark.parametrize("started", ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"])
    def test_a_node_of_young_pods_needs_no_more_than_ours(
        self, two: World, pool: ThreadPoolExecutor, started: str
    ) -> None:
        """They count with their requests, measured or not: a node that has just joined makes no round longer."""
        self.show_stranger(two, "n1", started)
        assert self.asked(two, pool) == "batch"

    def test_a_round_that_was_asked_for_another_ledger_is_not_its_first(
        self, two: World, pool: ThreadPoolExecutor
    ) -> None:
        """A policy changed while Prometheus answered: the next round asks for all that a first sample needs."""
        self.show_stranger(two, "n1")
        self.asked(two, pool)
        two.clock.now += 5
        good, ledger = self.good(two), two.parts.cache.ledger

        def ask(promql: str) -> Vector:
            if two.parts.cache.ledger is ledger:
                two.policy(mode="enforce", estimation={"staleAfterPeriods": 4})
            return answers(**good)(promql)

        with ThreadPoolExecutor(1) as alone:
            two.parts.sampling._pool = alone
            two.parts.sampling.beat(ask)
        assert two.parts.cache.ledger.unsampled() == ["n1", "n2"]
        assert self.asked(two, pool) == ".+"
        assert two.parts.cache.ledger.unsampled() == []
