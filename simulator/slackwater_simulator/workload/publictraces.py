"""Public traces: what they hold, under which licence, where they are, and the checksum of their content.

The checksum is of the unpacked content, so that it does not depend on who compressed it, and how.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slackwater.errors import UnknownName

RAW = "https://raw.githubusercontent.com"
SWIM = f"{RAW}/SWIMProjectUCB/SWIM/1277c5168034c9e4a690a07cbb1d498619000da6/workloadSuite"
PLANETLAB = (
    "https://codeload.github.com/beloglazov/planetlab-workload-traces/tar.gz/344ffdbf7e528bfa6f276014e889e68a0cb640c2"
)
PLANETLAB_PAGE = "https://github.com/beloglazov/planetlab-workload-traces"
# Of 1,600 files, a day of a job each, 800 drawn at random: a line each, its first column (CPU) or its second (memory),
# to two digits. Line n of both tables is the same job and day.
GOOGLE_2011 = "https://github.com/dnhua/CPU-and-Memory-resource-usage-from-Google-Cluster-Data/tree/c71d64b6/GCD_VMs"
RESEARCH = "free for research, source named"


@dataclass(frozen=True, slots=True)
class PublicTrace:
    """One trace. Without an address it is to be had at its page only, and put together as the page says."""

    name: str
    about: str
    file: str  # what it is called here; always compressed
    size: int  # bytes of the content
    licence: str
    sha256: str  # of the content
    page: str  # where it is described
    use: str  # a command that reads it
    url: str = ""
    folder: str = ""  # of an archive whose address `url` is: its files become the lines of one table


def _swim(year: str, size: int, sha256: str, about: str) -> PublicTrace:
    name = f"FB-{year}_samples_24_times_1hr_0.tsv"
    return PublicTrace(
        f"fb-{year}",
        about,
        f"{name}.gz",
        size,
        "New BSD",
        sha256,
        "https://github.com/SWIMProjectUCB/SWIM/wiki",
        f"slackwater simulate '{name}.gz?usage=borg&limit=620' --cluster 16x8c16Gi",
        f"{SWIM}/{name}",
    )


def _planetlab(day: str, size: int, sha256: str, machines: int) -> PublicTrace:
    file = f"planetlab-{day}.csv.gz"
    return PublicTrace(
        f"planetlab-{day}",
        f"CPU use of {machines:,} virtual machines, every 5 minutes of a day",
        file,
        size,
        RESEARCH,
        sha256,
        PLANETLAB_PAGE,
        f"slackwater risk {file} --risk 1%",
        PLANETLAB,
        day,
    )


def _google(kind: str, size: int, sha256: str) -> PublicTrace:
    file = f"google-2011-{kind.lower()}.csv.gz"
    return PublicTrace(
        file.removesuffix(".csv.gz"),
        f"{kind} use of 800 job-days, every 5 minutes, of ClusterData2011",
        file,
        size,
        "CC-BY 4.0",
        sha256,
        GOOGLE_2011,
        f"slackwater risk {file} --risk 1%",
    )


_ALL = (
    _swim(
        "2009",
        198_743,
        "5033ea98faed398b132957e4555c9ba88653d1ffaac470f370b761b79cd44c19",
        "SWIM: 5,894 MapReduce jobs of Facebook in a day, 600 machines",
    ),
    _swim(
        "2010",
        898_688,
        "65f758ecd0495955de30c560b2d57fc351c9b2c89117b82f16b2f8f30fb4e9d9",
        "SWIM: 24,442 MapReduce jobs of Facebook in a day, 3,000 machines",
    ),
    PublicTrace(
        "lcg-2005",
        "188,041 jobs of one processor each, of the LHC computing grid",
        "LCG-2005.swf.gz",
        21_459_793,
        "free use with acknowledgement (Hui Li, David Groep, Lex Wolters)",
        "f8e60cbd08ca990bdd39effc3b3787d7e60539419e2345661c0d5c3b4fa60f4e",
        "https://www.cs.huji.ac.il/labs/parallel/workload/l_lcg/",
        "slackwater simulate LCG-2005.swf.gz --cluster 500x4 -p fcfs,easy",
        "https://www.cs.huji.ac.il/labs/parallel/workload/l_lcg/LCG-2005-1.swf.gz",
    ),
    PublicTrace(
        "rumen-2jobs",
        "2 MapReduce jobs with request and use of 192 attempts, of Hadoop's load simulator",
        "2jobs2min-rumen-jh.json.gz",
        397_998,
        "Apache-2.0",
        "ea345b978bb5ab9de0f3142815cb8573f9112a35b6714d1820e159162010f2a8",
        "https://github.com/apache/hadoop/tree/d1ce9656/hadoop-tools/hadoop-sls",
        "slackwater simulate 2jobs2min-rumen-jh.json.gz --cluster 10x8c16Gi",
        f"{RAW}/apache/hadoop/d1ce9656/hadoop-tools/hadoop-sls/src/main/data/2jobs2min-rumen-jh.json",
    ),
    PublicTrace(
        "rumen-19jobs",
        "19 production jobs of 12,996 attempts on 1,545 hosts, with places of their data",
        "19-jobs.trace.json.gz",
        11_509_915,
        "Apache-2.0",
        "65dbf2e5c58c0f5cca7a3a5c20d4a47c3727a3fcf06137e4c823cafaf0cb35d5",
        "https://github.com/apache/hadoop/tree/cd715778",
        "slackwater simulate 19-jobs.trace.json.gz --cluster 100x8c16Gi",
    ),
    PublicTrace(
        "surf-lisa-week",
        "CPU use of 6,295 jobs of the Lisa cluster at SURF in a week, as run lengths of 30 s",
        "surf-week-cpu-usage.csv.gz",
        2_804_991,
        "MIT",
        "bbedb2dbb65b19805c7e9841c3044c0fb853e49e2255a8bd6da8f4c14d81e560",
        "https://github.com/atlarge-research/opendc",
        "slackwater assess --trace surf-week-cpu-usage.csv.gz",
    ),
    PublicTrace(
        "borg-2019",
        "request, mean and peak use of 3,971 windows of 3,355 jobs, from the sample of ClusterData2019",
        "2019-request-vs-usage-by-job.csv.gz",
        510_268,
        "CC-BY 4.0",
        "c9a05046cb12d6c38c129e648505727eadd9801bef4ce5897e9d55e8a0d09069",
        "https://github.com/google/cluster-data/blob/master/ClusterData2019.md",
        "slackwater assess --trace 2019-request-vs-usage-by-job.csv.gz",
    ),
    _planetlab("20110303", 713_034, "8c39004a5dada01bfdf82275213c691a3b39eaa5e6a7369222a6724eff9f130b", 1052),
    _planetlab("20110309", 707_970, "3465816c6ac250159540ddeae42b28a86afbc365f43c407e1b96296d5316fe5f", 1061),
    _planetlab("20110325", 728_729, "fedd9cd653f268c631aa8ec2b567ca0773caaabe57f70e4bd848e7445e7814b2", 1078),
    _google("CPU", 1_318_336, "57974e550f8c955404073af938e889c581155660ef45f409fff58d7ed13238ed"),
    _google("Memory", 1_286_913, "3ccecaa5bc7ebe3d6d58e430816226e79a67c95af4c4d5059744840edad7c5c1"),
)
TRACES: Mapping[str, PublicTrace] = {trace.name: trace for trace in _ALL}


def named(name: str) -> PublicTrace:
    """A trace by its name."""
    if name not in TRACES:
        raise UnknownName("trace", name, TRACES)
    return TRACES[name]
