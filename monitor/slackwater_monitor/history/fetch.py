"""Fetching a period, piece by piece.

1. learn what this server has and how it names things
2. choose pieces small enough for its and our memory
3. ask every question about every piece, unless the answer is on disk
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import Unavailable
from slackwater_cluster.frameworks import FrameworkTable
from slackwater_cluster.prometheus.client import Prometheus, Series
from slackwater_cluster.prometheus.transport import TooHeavy
from slackwater_monitor.history import labels as words
from slackwater_monitor.history.cache import Answer, Cache, Row, read, write
from slackwater_monitor.history.grid import Chunk, Grid, chunks, fitted
from slackwater_monitor.history.labels import METRICS, Names, choose, spelled
from slackwater_monitor.history.queries import Question, questions

# Samples in one answer: some 20 MB decoded, so the largest answer stays a small part of half a gigabyte.
SAMPLES = 150_000
POINTS = (288, 144, 72, 36, 24, 12, 6)
LATEST = 1e11  # Unix seconds that a date can be made of
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class History:
    """A period on disk: which windows, which pieces, which answers."""

    grid: Grid
    pieces: tuple[Chunk, ...]
    asked: tuple[Question, ...]
    files: Mapping[tuple[str, int], Path]  # (question, first window's end) → answer
    names: Names
    notes: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether this question was asked."""
        return any(question.name == name for question in self.asked)

    def answer(self, name: str, piece: Chunk) -> Answer:
        """One answer."""
        return read(self.files[name, piece.first])

    def answers(self, name: str) -> Iterator[Answer]:
        """All answers to one question, in order of time; none where it could not be asked."""
        return (self.answer(name, piece) for piece in self.pieces) if self.has(name) else iter(())


def cluster(server: Prometheus, moment: float) -> str:
    """When this cluster was made: the age of its oldest namespace, kube-system or default, which none can delete.

    Where a server knows many clusters it is the oldest of them: those that join later change nothing. "" where nobody
    tells.
    """
    answer = server.instant("min(last_over_time(kube_namespace_created[1h]))", moment)
    made = [value for _, value in answer if 0 < value < LATEST]
    return datetime.fromtimestamp(made[0], UTC).isoformat() if made else ""


# Seconds of samples that tell how often a container is scraped.
LOOK = 3600
# Parts of the period that are looked through for a metric that the usual moments do not show.
LOOKS = 20


def survey(server: Prometheus, windows: Grid, given: Mapping[str, str]) -> Names:
    """What this server has, and what it calls it."""
    pattern = "|".join(name for names in METRICS.values() for name in names)
    metrics = choose(server.names(windows.start, windows.end, pattern))
    if words.CPU not in metrics and words.MEMORY not in metrics:
        raise Unavailable(
            f"Prometheus at {server.connection.address} has no samples of container use between the asked times: "
            f"neither {METRICS[words.CPU][0]} nor {METRICS[words.MEMORY][0]}; scrape the kubelets' "
            "/metrics/cadvisor or /metrics/resource, or ask for another time with --since and --until"
        )
    labels = {need: spelled(_example(server, name, windows), given) for need, name in metrics.items()}
    for need, name in metrics.items():
        if not labels[need] and "pod" not in _family(metrics, labels, name):
            labels[need] = spelled(_anywhere(server, name, windows), given)
    return Names(metrics, {need: labels[need] or _family(metrics, labels, name) for need, name in metrics.items()})


def _family(metrics: Mapping[str, str], labels: Mapping[str, dict[str, str]], name: str) -> dict[str, str]:
    """How siblings of a metric, of the same exporter, are spelled: for one of which no series was seen just then."""
    found: dict[str, str] = {}
    for need, sibling in metrics.items():
        if sibling.partition("_")[0] == name.partition("_")[0]:
            found = labels[need] | found
    return found


def _example(server: Prometheus, metric: str, windows: Grid) -> dict[str, str]:
    """One series of a metric, with as many labels as any: looked for at the end and at two earlier moments."""
    chosen = '{container!="",container!="POD"}' if metric.startswith("container_") else ""
    for moment in _moments(windows):
        for query in (f"topk(1, {metric}{chosen})", f"topk(1, {metric})"):
            found = [labels for labels, _ in server.instant(query, moment)]
            if found:
                return max(found, key=len)
    return {}


def _moments(windows: Grid) -> list[float]:
    """The end and two earlier moments."""
    return [windows.start + share * (windows.end - windows.start) for share in (1.0, 0.5, 0.05)]


def sampled(server: Prometheus, windows: Grid, names: Names) -> float:
    """Seconds between two samples of use, as one container's were scraped; 0 where no two are found."""
    metric = names.metrics.get(words.MEMORY) or names.metrics[words.CPU]
    labels = {key: value for key, value in _example(server, metric, windows).items() if key != "__name__"}
    chosen = ",".join(f"{key}={json.dumps(value)}" for key, value in labels.items())
    for moment in _moments(windows) if chosen else ():
        for series in server.samples(f"{metric}{{{chosen}}}", moment, LOOK):
            if len(series.values) > 1:
                return round(float(np.median(np.diff([at for at, _ in series.values]))), 3)
    return 0.0


def _anywhere(server: Prometheus, metric: str, windows: Grid) -> dict[str, str]:
    """One series of a metric that is there now and then only, as pods are where nothing but batch runs."""
    length = (windows.end - windows.start) / LOOKS
    query = f"topk(1, last_over_time({metric}[{math.ceil(length)}s]))"
    for look in range(LOOKS):
        for labels, _ in server.instant(query, windows.end - look * length):
            return labels
    return {}


def pieces(server: Prometheus, cache: Cache, windows: Grid, names: Names) -> tuple[Chunk, ...]:
    """Pieces of a length that suits the number of series, the same as in earlier runs into this cache."""
    metric = names.metrics.get(words.MEMORY) or names.metrics[words.CPU]
    moments = (windows.end, (windows.start + windows.end) / 2)
    counts = [value for at in moments for _, value in server.instant(f"count({metric})", at)]
    series = max(counts, default=1.0)
    points = next((points for points in POINTS if points * series <= SAMPLES), POINTS[-1])
    return tuple(chunks(windows, cache.remembered(f"points-{windows.step}", points)))


def collect(
    server: Prometheus,
    cache: Cache,
    windows: Grid,
    table: FrameworkTable,
    *,
    given: Mapping[str, str] | None = None,
    user_labels: Iterable[str] = (),
    namespaces: Sequence[str] = (),
    stated: bool = False,
    progress: Progress | None = None,
) -> History:
    """Fetch the period, or what of it is not on disk yet; windows that hold too little are longer, unless `stated`."""
    names = survey(server, windows, given or {})
    windows = fitted(windows, sampled(server, windows, names), stated=stated)
    asked = tuple(questions(names, table, user_labels, namespaces))
    parts = pieces(server, cache, windows, names)
    files: dict[tuple[str, int], Path] = {}
    total = len(asked) * len(parts)
    for piece in parts:
        for question in asked:
            path = cache.path(question.name, question.filled(windows.step), piece)
            if not path.exists():
                write(path, list(question.keys), _fetched(server, question, piece), piece)
            files[question.name, piece.first] = path
            if progress is not None:
                progress(len(files) / total)
    cache.forget_parts(set(files.values()))
    notes = tuple(f"Prometheus says: {warning}" for warning in sorted(server.warnings))
    return History(windows, parts, asked, files, names, (*names.missing, *names.renamed, *notes))


def _fetched(server: Prometheus, question: Question, piece: Chunk) -> Iterator[Row]:
    """The answer about one piece; where the server finds it too heavy, in two halves, and so on."""
    try:
        yield from list(_whole(server, question, piece))
    except TooHeavy:
        if piece.first == piece.last:
            raise
        for half in piece.halves():
            yield from _fetched(server, question, half)


def _whole(server: Prometheus, question: Question, piece: Chunk) -> Iterator[Row]:
    keys = list(question.keys.values())
    if not question.windows:
        for labels, value in server.instant(question.filled(piece.seconds), piece.last):
            yield _named(labels, keys), np.array([piece.last]), np.array([value])
        return
    for series in server.range(question.filled(piece.step), piece.first, piece.last, piece.step):
        yield _named(series.metric, keys), *_numbers(series)


def _named(labels: Mapping[str, str], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(labels.get(key, "") for key in keys)


def _numbers(series: Series) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    at = np.array([round(time) for time, _ in series.values], dtype=np.int64)
    value = np.array([float(text) for _, text in series.values])
    known = np.isfinite(value)
    return at[known], value[known]
