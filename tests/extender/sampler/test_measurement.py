"""Measurements that may be wrong in every way, and what the ledger is told of them."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.prometheus.vector import PodLabels, Vector, pod_of
from slackwater_extender.sampler.labels import NodeNames, without_port
from slackwater_extender.sampler.measurement import UsageQuery, largest
from support.builders import objects
from support.builders.vectors import answers, by_node, measured, vector
from support.fakes.extender import World, node_record

GI = 2.0**30


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

    @pytest.mark.parametrize("turned", [False, True])
    def test_an_object_that_a_replaced_machine_left_behind_takes_no_samples(self, turned: bool) -> None:
        """Both have the address; the one that is ready means it, in whatever order they are listed."""
        both = [node_record(objects.node("new")), node_record(objects.node("old", ready=False))]
        names = NodeNames(both[::-1] if turned else both)
        assert names.find({"instance": "10.0.0.1:9100"}) == "new"
        assert names.find({"node": "old"}) == "old"

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

    @pytest.mark.parametrize(
        "part", [b'"metric":{"node":"\xff"}', b'"strange":' + b"[" * 5000 + b"]" * 5000], ids=["no UTF-8", "deep"]
    )
    def test_an_answer_that_python_refuses_costs_its_kind_only(
        self, pool: ThreadPoolExecutor, two: World, part: bytes
    ) -> None:
        """Not every store that speaks Prometheus's language looks at the texts that it is sent."""
        series = b'[{"value":[1.0,"2"],' + part + b"}]"
        found = measured(pool, two, node_cpu=Vector([series]), node_memory=by_node(n1=GI), node_time=by_node(n1=1))
        assert found.nodes == {"cpu": {}, "memory": {"n1": GI}}
        assert found.troubles[0].startswith("node_cpu: ")

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
