"""Modelled use follows the Borg quantiles it was fitted on."""

from pathlib import Path

import numpy as np
import pytest

from slackwater_simulator.workload.imputation import BORG_AT, BORG_CPU, BORG_MEMORY, borg_levels, with_borg_usage
from slackwater_simulator.workload.readers.formats import open_workload

SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.mark.parametrize(("kind", "median"), [(0, 0.269), (1, 0.551)], ids=["cpu", "memory"])
def test_job_levels_have_the_median_of_borg(kind: int, median: float) -> None:
    """Average CPU over request 0.269; maximum memory over request 0.551."""
    level = borg_levels(np.full(4000, 5), np.random.default_rng(0))[kind].reshape(-1, 5)
    assert np.median(level.mean(axis=1)) == pytest.approx(median, rel=0.06)


def test_memory_never_exceeds_the_request_and_cpu_twice_it() -> None:
    """A container above its memory request would have been killed."""
    cpu, memory = borg_levels(np.full(4000, 5), np.random.default_rng(0))
    assert cpu.max() <= 2.0
    assert memory.max() <= 1.0
    assert min(cpu.min(), memory.min()) > 0


def test_use_is_added_only_where_none_was_measured() -> None:
    """Measured stages keep their measurement, and the addition is marked."""
    before = open_workload(SAMPLES / "rumen.json")
    after = with_borg_usage(before, seed=4)
    assert after.jobs[1].stages[0].usage is before.jobs[1].stages[0].usage
    assert after.jobs[1].stages[1].usage is not None
    assert after.modelled[-1] == ("usage", "borg-2019 (seed 4)")


def test_committed_quantiles_are_those_of_the_public_sample(traces: Path) -> None:
    """The table can be refitted from the original file."""
    duckdb = pytest.importorskip("duckdb")
    path = traces / "google-borg" / "2019-request-vs-usage-by-job.csv.gz"
    at = list(BORG_AT[2:18])
    fitted = duckdb.sql(
        f"select quantile_cont(avg_cpu / req_cpu, {at}), quantile_cont(max_mem / req_mem, {at}) "
        f"from '{path}' where req_cpu > 0 and req_mem > 0"
    ).fetchall()[0]
    assert np.allclose(fitted[0], BORG_CPU[2:18], atol=0.001)
    assert np.allclose(fitted[1], BORG_MEMORY[2:18], atol=0.001)
