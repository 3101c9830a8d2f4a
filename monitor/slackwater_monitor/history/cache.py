"""Answers on disk, one Parquet file per question and chunk: an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # ships no types
from numpy.typing import NDArray

from slackwater.errors import InvalidInput
from slackwater_monitor.history.grid import Chunk

Row = tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.float64]]
AT, VALUE = "at", "value"


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of answers of one server."""

    folder: Path

    @classmethod
    def of(cls, url: str, folder: Path | None) -> Cache:
        """The given folder, or one of the user's cache that belongs to this server."""
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        digest = hashlib.sha256(url.rstrip("/").encode()).hexdigest()[:12]
        chosen = folder or home / "slackwater" / "history" / digest
        try:
            chosen.mkdir(parents=True, exist_ok=True)
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
        return self.folder / f"{name}-{chunk.step}-{chunk.first}-{chunk.last}-{digest}.parquet"

    def forget_parts(self, keep: set[Path]) -> None:
        """Remove answers about incomplete chunks of earlier runs: nobody will ask for those again."""
        for path in self.folder.glob("*.part"):
            path.unlink(missing_ok=True)
        for path in self.folder.glob("*.parquet"):
            if path not in keep and path.with_suffix(".whole") not in keep and not _whole(path):
                path.unlink(missing_ok=True)


def _whole(path: Path) -> bool:
    metadata = pq.read_metadata(path).metadata or {}
    return bool(metadata.get(b"whole") == b"1")


def write(path: Path, keys: Sequence[str], rows: Iterator[Row], chunk: Chunk) -> None:
    """Write one answer; it appears under its name only when complete."""
    columns: dict[str, list[Any]] = {key: [] for key in (*keys, AT, VALUE)}
    for labels, at, value in rows:
        for key, label in zip(keys, labels, strict=True):
            columns[key].append(label)
        columns[AT].append(at)
        columns[VALUE].append(value)
    arrays = [pa.array(columns[key], pa.dictionary(pa.int32(), pa.string())) for key in keys]
    arrays.append(pa.array(columns[AT], pa.list_(pa.int64())))
    arrays.append(pa.array(columns[VALUE], pa.list_(pa.float64())))
    table = pa.table(arrays, names=[*keys, AT, VALUE])
    part = path.with_suffix(".part")
    pq.write_table(table.replace_schema_metadata({"whole": "1" if chunk.whole else "0"}), part, compression="zstd")
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
    table = pq.read_table(path, memory_map=False)
    at, value = table.column(AT).combine_chunks(), table.column(VALUE).combine_chunks()
    if isinstance(at, pa.ChunkedArray):
        at, value = pa.concat_arrays(at.chunks), pa.concat_arrays(value.chunks)
    labels = {name: [text or "" for text in table.column(name).to_pylist()] for name in table.column_names[:-2]}
    return Answer(
        labels,
        at.offsets.to_numpy(zero_copy_only=False).astype(np.int64),
        at.values.to_numpy(zero_copy_only=False),
        value.values.to_numpy(zero_copy_only=False),
    )
