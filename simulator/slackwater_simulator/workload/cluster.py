"""The machines a workload is played on, and how to write them down.

A SPEC is `500x4` (500 nodes of 4 cores), `8x24c32Gi` (24 cores and 32 GiB each), several of them joined with `+`, or
a YAML file of node groups:

    nodes:
      - {count: 8, name: big, cpu: 24, memory: 32Gi, racks: 2}
      - {count: 2, name: gpu, cpu: 16, memory: 64Gi, extra: {nvidia.com/gpu: 4}}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ByteSize, ConfigDict, Field, ValidationError, field_validator

from slackwater.errors import InvalidInput
from slackwater.validation import refusal
from slackwater_simulator.workload.workload import GIBI, Request
from slackwater_simulator.workload.yamlfile import document

# A SPEC that names no memory gets this much, so that memory is not what binds on a cluster described by cores alone.
MEMORY_PER_CORE = 4 * GIBI
BASE_KINDS = ("cpu", "memory")
MOST_NODES = 1_000_000  # of one group: each is an object in memory
MOST = 10**18  # of one kind on a node, so that sums over all nodes are finite
SPEC = re.compile(r"(?P<count>\d+)x(?P<cpu>\d+(?:\.\d+)?)(?:c(?P<memory>\d+(?:\.\d+)?[KMGTP]i?)?)?")
REMEDY = "write COUNTxCORES such as 500x4, COUNTxCOREScMEMORY such as 8x24c32Gi, or the path of a YAML file"


def _bytes(value: object) -> object:
    """Kubernetes writes 32Gi where pydantic's ByteSize expects 32GiB."""
    return f"{value}B" if isinstance(value, str) and value[-1:].isalpha() and value[-1] not in "bB" else value


def _number(value: object) -> object:
    """YAML's `true` is no number."""
    if isinstance(value, bool):
        raise ValueError("write a number")  # noqa: TRY004 - pydantic makes sentences of ValueErrors alone
    return value


Whole = Annotated[int, BeforeValidator(_number)]
Amount = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False, le=MOST)]
Bytes = Annotated[ByteSize, BeforeValidator(_bytes), BeforeValidator(_number), Field(gt=0, le=MOST)]


class Group(BaseModel):
    """Equal nodes, as one entry of the YAML file."""

    model_config = ConfigDict(extra="forbid")

    count: Whole = Field(ge=1, le=MOST_NODES)
    cpu: Amount = Field(gt=0)
    memory: Bytes | None = None
    name: str = "node"
    racks: Whole = Field(default=1, ge=1)
    extra: dict[str, Annotated[Amount, Field(ge=0)]] = Field(default_factory=dict)

    @field_validator("extra")
    @classmethod
    def _beside(cls, extra: dict[str, float]) -> dict[str, float]:
        for kind in BASE_KINDS:
            if kind in extra:
                raise ValueError(f"{kind} has a field of its own")
        return extra


class Groups(BaseModel):
    """The YAML file."""

    model_config = ConfigDict(extra="forbid")

    nodes: list[Group] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Node:
    """One machine: its amounts stand in the order of the cluster's kinds."""

    name: str
    capacity: Request
    rack: str = "rack0"


@dataclass(frozen=True, slots=True)
class Cluster:
    """All machines, in the order in which first-fit tries them."""

    name: str
    nodes: tuple[Node, ...]
    kinds: tuple[str, ...] = BASE_KINDS
    assumed: tuple[tuple[str, str], ...] = field(default=())  # what the SPEC left out, and what was taken instead

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def total(self) -> Request:
        """The sum over all nodes, per kind."""
        return tuple(sum(node.capacity[k] for node in self.nodes) for k in range(len(self.kinds)))


def parse(spec: str | Path) -> Cluster:
    """Read a SPEC: a YAML file if there is one of that name, else the short form."""
    spec = str(spec)
    if spec.endswith((".yaml", ".yml")):
        return _from_yaml(Path(spec))
    return _build(spec, [_short(part) for part in spec.split("+")])


def uniform(count: int, cpu: float, memory: float, racks: int = 1) -> Cluster:
    """Equal nodes, for tests and generators; memory in bytes."""
    return _build(
        f"{count}x{cpu:g}c{memory / GIBI:g}Gi", [Group(count=count, cpu=cpu, memory=ByteSize(memory), racks=racks)]
    )


def _short(part: str) -> Group:
    found = SPEC.fullmatch(part.strip())
    if found is None:
        raise InvalidInput("cluster", f"{part!r} is not a cluster", REMEDY)
    return _group(found.groupdict())


def _group(values: dict[str, str | None]) -> Group:
    try:
        return Group.model_validate({key: value for key, value in values.items() if value is not None})
    except ValidationError as error:
        raise InvalidInput("cluster", _first(error), REMEDY) from error


def _from_yaml(path: Path) -> Cluster:
    try:
        groups = Groups.model_validate(document(path, "cluster", "write a list `nodes:` of groups"))
    except ValidationError as error:
        raise InvalidInput(
            "cluster", f"{path}: {_first(error)}", "each group has count, cpu and, if known, memory"
        ) from error
    return _build(path.stem, groups.nodes)


def _first(error: ValidationError) -> str:
    where, wrong = refusal(error.errors())
    return f"{where}: {wrong}" if where else wrong


def _build(name: str, groups: Iterable[Group]) -> Cluster:
    listed = list(groups)
    kinds = BASE_KINDS + tuple(sorted({kind for group in listed for kind in group.extra}))
    assumed = any(group.memory is None for group in listed)
    nodes = tuple(node for number, group in enumerate(listed) for node in _nodes(group, number, kinds, len(listed)))
    _refuse_twins(nodes)
    return Cluster(
        name=name,
        nodes=nodes,
        kinds=kinds,
        assumed=(("memory", f"{MEMORY_PER_CORE / GIBI:g} GiB per core"),) if assumed else (),
    )


def _refuse_twins(nodes: tuple[Node, ...]) -> None:
    """Nodes are known by their names: no two groups may make the same one."""
    seen: set[str] = set()
    for node in nodes:
        if node.name in seen:
            raise InvalidInput(
                "cluster", f"two groups have a node {node.name!r}", "give each group a name that makes others"
            )
        seen.add(node.name)


def _nodes(group: Group, number: int, kinds: tuple[str, ...], groups: int) -> Iterable[Node]:
    memory = float(group.memory) if group.memory is not None else group.cpu * MEMORY_PER_CORE
    capacity = (group.cpu, memory, *(float(group.extra.get(kind, 0.0)) for kind in kinds[2:]))
    prefix = group.name if groups == 1 or group.name != "node" else f"node{number}-"
    for index in range(group.count):
        yield Node(
            f"{prefix}{index}",
            capacity,
            f"rack{number}-{index % group.racks}" if groups > 1 else f"rack{index % group.racks}",
        )
