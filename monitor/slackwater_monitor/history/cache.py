"""Answers on disk, a file of arrays per question and chunk: an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import InvalidInput
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_monitor.history.grid import Chunk

Row = tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.float64]]
# The arrays of a file: times and values of all series in a row, where each series begins, all labels as JSON.
AT, VALUE, OFFSETS, LABELS, WHOLE = "at", "value", "offsets", "labels", "whole"


@dataclass(frozen=True, slots=True)
class Asker:
    """As whom a server is asked, and about which cluster.

    One address shows each tenant, and maybe each user, answers of their own; a forwarded port is now one cluster's,
    now another's.
    """

    tenant: str = ""
    username: str = ""
    cluster: str = ""  # when it was made; "" where nobody tells
    token: str = ""  # a digest of whom it names
    matchers: str = ""  # that tell the cluster from others of the same server

    @classmethod
    def of(cls, connection: QueryConnection, cluster: str) -> Asker:
        """The one that a connection names."""
        known = connection.credentials
        matchers = ",".join(f"{label}={value}" for label, value in sorted(connection.matchers.items()))
        return cls(connection.tenant, known.username, cluster, known.holder(), matchers)

    def agrees(self, other: Asker) -> bool:
        """Whether both get the same answers; a cluster that is not known may be any."""
        same = replace(self, cluster="") == replace(other, cluster="")
        return same and (self.cluster == other.cluster or not (self.cluster and other.cluster))

    def __str__(self) -> str:
        named = (("tenant", self.tenant), ("user", self.username), ("series with", self.matchers))
        told = [f"{what} {name!r}" for what, name in named if name]
        told += [f"token {self.token}"] if self.token else []
        told += [f"the cluster made at {self.cluster}"] if self.cluster else []
        return " and ".join(told) or "no tenant and no user"


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of answers that one server gave to one asker about one cluster."""

    folder: Path

    @classmethod
    def of(cls, connection: QueryConnection, folder: Path | None, cluster: str = "") -> Cache:
        """The given folder, or one of the user's cache that belongs to this server and to who asks about what."""
        asker = Asker.of(connection, cluster)
        chosen = folder or _usual(connection.url, asker)
        try:
            chosen.mkdir(parents=True, exist_ok=True)
            _claim(chosen, asker)
        except OSError as problem:
            raise InvalidInput("--cache", f"{chosen} cannot be made ({problem.strerror})", "name another folder") from (
                problem
            )
        return cls(chosen)

    def remembered(self, key: str, value: int) -> int:
        """A choice of an earlier run, kept so that its chunks fit ours; else this one."""
        path = self.folder / "choices.json"
        try:
            known: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            known = {}
        if key not in known:
            known[key] = value
            path.write_text(json.dumps(known), encoding="utf-8")
        return known[key]

    def path(self, name: str, promql: str, chunk: Chunk) -> Path:
        """Where an answer lies. The query is part of the name: another question never finds this answer."""
        digest = hashlib.sha256(promql.encode()).hexdigest()[:8]
        return self.folder / f"{name}-{chunk.step}-{chunk.first}-{chunk.last}-{digest}.npz"

    def forget_parts(self, keep: set[Path]) -> None:
        """Remove answers about incomplete chunks of earlier runs: nobody will ask for those again."""
        for path in self.folder.glob("*.part"):
            path.unlink(missing_ok=True)
        for path in self.folder.glob("*.npz"):
            if path not in keep and path.with_suffix(".whole") not in keep and not _whole(path):
                path.unlink(missing_ok=True)


def _usual(url: str, asker: Asker) -> Path:
    """A folder of the user's cache, named after the address and what is known of tenant, user, cluster and token."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parts = (url.rstrip("/"), asker.tenant, asker.username, asker.cluster, asker.token, asker.matchers)
    words = "\n".join(parts).rstrip("\n")
    return home / "slackwater" / "history" / hashlib.sha256(words.encode()).hexdigest()[:12]


def _claim(folder: Path, asker: Asker) -> None:
    """Write down whose answers lie here; refuse a folder of somebody else."""
    path = folder / "asker.json"
    owner = _owner(path)
    if owner is not None and not owner.agrees(asker):
        raise InvalidInput("--cache", f"{folder} holds answers for {owner}, not for {asker}", "name another folder")
    if owner is None or (asker.cluster and not owner.cluster):
        path.write_text(json.dumps(asdict(asker)), encoding="utf-8")


def _owner(path: Path) -> Asker | None:
    """Who asked for the answers of a folder; none where it is empty. Earlier versions did not write it down."""
    try:
        return Asker(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Asker() if any(path.parent.glob("*.npz")) else None
    except (TypeError, ValueError) as problem:
        raise InvalidInput("--cache", f"{path} cannot be read", "name another folder") from problem


def _whole(path: Path) -> bool:
    with np.load(path) as arrays:
        return bool(arrays[WHOLE])


def write(path: Path, keys: Sequence[str], rows: Iterator[Row], chunk: Chunk) -> None:
    """Write one answer; it appears under its name only when complete."""
    labels: dict[str, list[str]] = {key: [] for key in keys}
    at, value = [np.zeros(0, np.int64)], [np.zeros(0, np.float64)]
    for found, times, values in rows:
        for key, label in zip(keys, found, strict=True):
            labels[key].append(label)
        at.append(times)
        value.append(values)
    arrays: dict[str, NDArray[Any]] = {
        AT: np.concatenate(at),
        VALUE: np.concatenate(value),
        OFFSETS: np.cumsum([len(times) for times in at], dtype=np.int64),
        LABELS: np.frombuffer(json.dumps(labels).encode(), np.uint8),
        WHOLE: np.array(chunk.whole),
    }
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    part.replace(path)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as columns: labels per series, and the samples of all series one after the other."""

    labels: Mapping[str, list[str]]
    offsets: NDArray[np.int64]  # series i has samples offsets[i] … offsets[i + 1]
    at: NDArray[np.int64]
    value: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self) -> Iterator[tuple[dict[str, str], float]]:
        """Labels and first value of each series: for facts, which have one."""
        keys = list(self.labels)
        for index, found in enumerate(zip(*self.labels.values(), strict=True)):
            yield dict(zip(keys, found, strict=True)), float(self.value[self.offsets[index]])


def read(path: Path) -> Answer:
    """Read one answer."""
    with np.load(path, allow_pickle=False) as arrays:
        return Answer(json.loads(arrays[LABELS].tobytes()), arrays[OFFSETS], arrays[AT], arrays[VALUE])
