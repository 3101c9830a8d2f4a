"""The generators of papers 001 to 004 make what the evaluations describe."""

import numpy as np
import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.generators import admission, dress, haste, network
from slackwater_simulator.workload.generators.catalogue import GENERATORS, cluster_of, generate
from slackwater_simulator.workload.readers.check import problem
from slackwater_simulator.workload.readers.schema import job_entry
from slackwater_simulator.workload.workload import GIBI


def test_haste_same_jobs() -> None:
    """(a): four jobs of 56 maps of 20 s and 16 reduces of 15 s; the third job's reduces are <1,2>."""
    jobs = haste.generate(case="a").jobs
    assert [[stage.tasks for stage in job.stages] for job in jobs] == [[56, 16]] * 4
    assert [job.stages[0].request for job in jobs] == [(1, GIBI), (1, 3 * GIBI), (3, GIBI), (2, 2 * GIBI)]
    assert [job.stages[1].request for job in jobs] == [(1, 2 * GIBI)] * 2 + [(2, GIBI), (1, 2 * GIBI)]
    assert {float(job.stages[0].durations[0]) for job in jobs} == {20.0}


@pytest.mark.parametrize("seed", range(5))
def test_haste_mixed_jobs(seed: int) -> None:
    """(b): 60–80 maps of 15–30 s and 16–24 reduces of 12–40 s."""
    for job in haste.generate(case="b", seed=seed).jobs:
        maps, reduces = job.stages
        assert 60 <= maps.tasks <= 80
        assert 16 <= reduces.tasks <= 24
        assert 15 <= maps.durations[0] <= 30
        assert 12 <= reduces.durations[0] <= 40


def test_haste_reduces_ask_step_by_step_and_fetch_beside_their_maps() -> None:
    """floor(done share × n), all once every map is assigned; the shuffle is 5 s or 30 s."""
    reduces = haste.generate(case="b", shuffle=5).jobs[0].stages[1]
    assert (reduces.ramp, reduces.start_after, reduces.shuffle, reduces.reduce) == (True, 0.0, 5.0, True)


def test_haste_iterative_jobs() -> None:
    """(c): three ordinary jobs, two of six rounds of 12–16 maps and 6 reduces; each round waits for the one before."""
    jobs = haste.generate(case="c").jobs
    assert [job.iterations for job in jobs] == [0, 0, 0, 6, 6]
    rounds = jobs[3].stages
    assert len(rounds) == 12
    assert 12 <= rounds[0].tasks <= 16
    assert rounds[1].tasks == 6
    assert rounds[2].parents == ("reduce-1",)
    assert rounds[11].iteration == 6


def test_haste_arrivals_are_spread_on_request() -> None:
    """All at once by default; exponential gaps otherwise."""
    assert {job.submit for job in haste.generate(case="b").jobs} == {0.0}
    gaps = [job.submit for job in haste.generate(case="b", gap=30).jobs]
    assert gaps == sorted(gaps)
    assert len(set(gaps)) == 4


def test_admission_jobs() -> None:
    """72 jobs: driver 5–7 s and 1.5 GB, 2 maps of 12–18 s, 1 reduce of 14–20 s after the first map, 1 GB each."""
    jobs = admission.generate(amc=2, tc=3).jobs
    assert len(jobs) == 72
    for job in jobs:
        maps, reduce = job.stages
        assert job.driver is not None
        assert job.driver.request == (2, 1.5 * GIBI)
        assert 5 <= job.driver.startup <= 7
        assert (maps.tasks, maps.request) == (2, (3, GIBI))
        assert ((maps.durations >= 12) & (maps.durations <= 18)).all()
        assert (reduce.tasks, reduce.start_after) == (1, 0.5)
        assert 14 <= reduce.durations[0] <= 20


def test_admission_toy() -> None:
    """ADM-10: 4 jobs, a driver of 1 vcore without overhead, two 10 s tasks of 1 vcore."""
    jobs = admission.generate(case="toy").jobs
    assert len(jobs) == 4
    assert all(job.driver and job.driver.startup == 0 and job.tasks == 2 for job in jobs)


def test_network_graphs() -> None:
    """20 graphs of 20, 20, 10, 20, 5 tasks of 10.24 s; two different parents one level up, 32–96 MB each."""
    jobs = network.generate().jobs
    assert len(jobs) == 20
    assert all(job.tasks == 75 and job.strict and problem(job, 2) is None for job in jobs)
    for stage in jobs[0].stages[20:]:
        assert len(set(stage.parents)) == 2
        assert all(32e6 <= size <= 96e6 for size in stage.transfers)
        assert {int(parent.split(".")[0]) for parent in stage.parents} == {int(stage.name.split(".")[0]) - 1}


def test_network_fabric() -> None:
    """A quarter of 200 hosts is hot: a fifth of the bandwidth inbound, 64 MB queued per sender; racks of 20."""
    made = network.fabric(100)
    hot = made.queued.any(axis=0)
    assert hot.sum() == 50
    assert (made.bandwidth[:, ~hot] == 12.5e6).all()
    assert (made.bandwidth[:, hot] == 2.5e6).all()
    assert made.queued.sum() == pytest.approx(50 * 199 * 64e6)
    assert np.bincount(made.rack).tolist() == [20] * 10


@pytest.mark.parametrize(("case", "small"), [("spark", (4, 5, 7, 9, 10, 12)), ("mapreduce", (4, 5, 6, 8, 10, 11))])
def test_dress_small_jobs_stand_where_the_paper_has_them(case: str, small: tuple[int, ...]) -> None:
    """20 jobs 5 s apart; large ones ask for 15–28 containers, small ones for 2–9."""
    jobs = dress.generate(case=case, seed=2).jobs
    assert [job.submit for job in jobs] == [5.0 * index for index in range(20)]
    assert tuple(index + 1 for index, job in enumerate(jobs) if job.tasks <= 9) == small
    assert all(15 <= job.tasks <= 28 for index, job in enumerate(jobs) if index + 1 not in small)
    assert all(job.gang for job in jobs)


def test_dress_lengths_follow_their_distributions() -> None:
    """Medians of 300 s and 95 s; containers come up within 8 s."""
    jobs = [job for seed in range(40) for job in dress.generate(seed=seed).jobs]
    for name, median in (("large", 300), ("small", 95)):
        lengths = [float(job.stages[0].durations.min()) for job in jobs if job.name == name]
        assert np.median(lengths) == pytest.approx(median, rel=0.06)
    assert max(float(np.ptp(job.stages[0].durations)) for job in jobs) <= 8


@pytest.mark.parametrize(("share", "count"), [(0.1, 2), (0.2, 4), (0.3, 6), (0.4, 8)])
def test_dress_mixed_share(share: float, count: int) -> None:
    """10 % to 40 % small jobs at drawn positions."""
    assert sum(job.name == "small" for job in dress.generate(small=share).jobs) == count


def test_dress_figure() -> None:
    """DRS-15: submissions 0–3 s, 3, 4, 3 and 2 containers, 10, 20, 10 and 10 s."""
    jobs = dress.generate(case="figure1").jobs
    assert [(job.submit, job.tasks, float(job.stages[0].durations[0])) for job in jobs] == [
        (0, 3, 10),
        (1, 4, 20),
        (2, 3, 10),
        (3, 2, 10),
    ]


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_same_seed_same_jobs_and_another_seed_others(name: str) -> None:
    """Every generator is seeded, valid, marked as modelled and knows its cluster."""
    text = f"gen:{name}" + ("?case=b" if name == "haste" else "?tasks=300" if name == "estimation" else "")
    one, two, other = ([job_entry(job) for job in generate(text, seed=seed).jobs] for seed in (1, 1, 2))
    assert one == two
    assert one != other
    assert all(problem(job, 2) is None for job in generate(text).jobs)
    assert generate(text, seed=5).modelled[0][1].endswith("(seed 5)")
    assert "x" in cluster_of(text)


def test_parameters_are_read_from_the_name() -> None:
    """`gen:dress?small=0.2&jobs=10` has 10 jobs, 2 of them small; a seed in the text wins."""
    workload = generate("gen:dress?small=0.2&jobs=10&seed=7", seed=1)
    assert (len(workload.jobs), sum(job.name == "small" for job in workload.jobs)) == (10, 2)
    assert "seed 7" in workload.modelled[0][1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("gen:tetris", "gen:dress", id="unknown-name"),
        pytest.param("gen:dress?smallest=1", "use one of: .*small", id="unknown-parameter"),
        pytest.param("gen:dress?jobs=few", "'few' is not a whole number", id="not-a-number"),
        pytest.param("gen:dress?small=nan", "finite", id="nan"),
        pytest.param("gen:dress?small", "name=value", id="no-value"),
        pytest.param("gen:dress?small=1.5", "from 0 to 1", id="out-of-range"),
        pytest.param("gen:dress?case=flink", "figure1, mapreduce, spark", id="unknown-case"),
        pytest.param("gen:dress?gap=-5", "job-2: submitted at -5", id="before-the-beginning"),
        pytest.param("gen:haste?shuffle=-30", "negative", id="negative-shuffle"),
        pytest.param("gen:admission?amc=-1&jobs=4", "negative", id="negative-driver"),
        pytest.param("gen:hour?apps=5&noise=-1", "negative", id="negative-noise"),
        pytest.param("gen:haste?case=z", "a, b, c", id="unknown-haste-case"),
        pytest.param("gen:admission?case=z", "terasort, toy", id="unknown-admission-case"),
    ],
)
def test_bad_text_is_refused_with_what_to_write(text: str, said: str) -> None:
    """Every refusal names the right spelling."""
    with pytest.raises(InvalidInput, match=said):
        generate(text)
