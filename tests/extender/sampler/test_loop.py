"""The heartbeat: rounds of measurement, one after another, and what the ledger is told of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.prometheus.vector import Vector
from slackwater_extender.sampler.loop import WAITED, SamplingLoop
from support.builders import objects
from support.builders.vectors import INQUIRY, answers, by_node, vector
from support.fakes.extender import World, node_record

GI = 2.0**30


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

    def test_a_sample_older_than_its_node_is_counted(self, two: World, pool: ThreadPoolExecutor) -> None:
        """It is of an earlier machine of that name; whoever wonders why the node is not measured is told."""
        dropped = two.parts.metrics.dropped.labels("older than its node")
        self.beat(two, pool, **self.good(two, 0.2))
        assert dropped._value.get() == 0
        young = objects.node("n1")
        young["metadata"]["creationTimestamp"] = "2030-01-01T00:00:00Z"
        two.parts.cache.set_nodes([node_record(young)])
        for _ in range(3):
            two.clock.now += 5
            self.beat(two, pool, **self.good(two, 0.2))
        assert dropped._value.get() == 3

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
