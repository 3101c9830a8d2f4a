"""The presets: which queries are asked of which exporter."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from promql_parser import parse

from slackwater.errors import InvalidInput, UnknownName
from slackwater_extender.sampler.measurement import regex
from slackwater_extender.sampler.presets import JOBS, NAMES, PRESETS, filled, queries
from slackwater_extender.settings import Preset, Prometheus
from support.builders import promql

GI = 2.0**30


class TestPresets:
    """Queries as data."""

    @pytest.mark.parametrize("preset", get_args(Preset.__value__))
    def test_every_query_is_promql(self, preset: Preset) -> None:
        """Parsed by a real parser, blanks filled in."""
        for query in PRESETS[preset].values():
            assert parse(filled(query, 120, "a|b")) is not None

    @pytest.mark.parametrize("preset", get_args(Preset.__value__))
    def test_every_preset_measures_nodes_and_pods(self, preset: Preset) -> None:
        """Network is optional, the rest is not."""
        assert set(NAMES) - set(PRESETS[preset]) <= {"node_network"}

    @pytest.mark.parametrize("preset", get_args(Preset.__value__))
    def test_every_series_of_a_preset_is_asked_of_named_jobs(self, preset: Preset) -> None:
        """A target that anybody may add is not believed: each selector of each query names the jobs."""
        for query in queries(Prometheus(preset=preset)).values():
            selected = list(promql.selectors(filled(query, 120, "a|b")))
            assert selected
            assert all("job" in labels for _, labels in selected)

    @pytest.mark.parametrize(
        "job", ["tenant", "kubelet2", "my-kubelet", "batch/kubelet", "kubernetes-service-endpoints"]
    )
    @pytest.mark.parametrize("preset", get_args(Preset.__value__))
    def test_a_job_of_a_tenant_is_not_among_those_believed(self, preset: Preset, job: str) -> None:
        """Prometheus matches the whole name, and so do we."""
        assert re.fullmatch(JOBS[preset], job) is None

    def test_the_settings_may_name_the_jobs(self) -> None:
        """As a regular expression, whose backslashes and quotes PromQL wants escaped."""
        chosen = queries(Prometheus(jobs='k\\.l"', queries={"node_memory": "m"}))
        assert 'job=~"k\\\\.l\\""' in chosen["node_cpu"]
        assert parse(filled(chosen["node_cpu"], 120, "")) is not None
        assert chosen["node_memory"] == "m"

    def test_own_queries_replace_and_switch_off(self) -> None:
        """An empty query is not asked."""
        chosen = queries(Prometheus(queries={"node_cpu": "my_cpu", "node_time": ""}))
        assert chosen["node_cpu"] == "my_cpu"
        assert "node_time" not in chosen

    def test_a_misspelt_query_is_an_error(self) -> None:
        """With the names that would have been right."""
        with pytest.raises(UnknownName, match="node_cpu"):
            queries(Prometheus(queries={"node-cpu": "x"}))

    def test_a_query_that_cannot_be_narrowed_is_an_error_at_the_start(self) -> None:
        """Where it is to be about one cluster of several."""
        own = {"node_cpu": "WITH (m = my_cpu) m"}
        assert queries(Prometheus(queries=own))["node_cpu"] == own["node_cpu"]
        with pytest.raises(InvalidInput, match=r"prometheus.queries: WITH"):
            queries(Prometheus(queries=own, matchers={"cluster": "prod"}))

    def test_many_namespaces_are_asked_for_at_once(self) -> None:
        """A regular expression of thousands of names would be refused."""
        assert regex(["a", "b"]) == "a|b"
        assert regex(f"n{i}" for i in range(501)) == ".+"
