"""One batch of mutated objects on their way through operator and extender: decoded, trimmed, cached, decided on.

Between the decoder and the decision nothing may raise for what an object holds, and no pod or app may fall into the
last net. The extender's verbs, its API and its samples follow in `verbs`; look-ups, status and Events in `telling`.
"""

import asyncio
import traceback
from functools import cache
from time import process_time
from typing import Any

import orjson

from fuzz import telling, verbs
from slackwater.errors import SlackwaterError
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import CustomRecord, NodeRecord, PodRecord
from slackwater_cluster.watch import trim
from slackwater_cluster.watch.decoding import Decoding
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.settings import Decisions
from support.builders import longtexts, mutants
from support.builders.mutants import Chance
from support.fakes.cluster import World, enforcing
from support.fakes.cluster import node as healthy_node
from support.logs import quietly

BATCH = 200
LENGTHS = 10  # every tenth batch: one place of its pods holds long texts of every kind
TELLING = 3  # every third batch: it takes as long again
TIMES = (
    8.0  # how much dearer a batch may be than one of plain objects; what stands still takes hundreds of times as long
)


class Failure(Exception):  # noqa: N818 - a finding, not a mistake
    """Something raised for what an object holds, or was caught by the last net only."""


def run(seed: int) -> float:
    """One batch; raises Failure. Returns how many times the CPU of a plain batch it took."""
    share = 0.0
    for _ in range(3):  # a machine that is busy otherwise slows some batches and not others
        share = _spent(Chance(seed), seed) / unit()
        if share < TIMES:
            return share
        unit.cache_clear()
    raise Failure(f"the batch took {share:.0f} times the CPU of one of plain objects")


@cache
def unit() -> float:
    """Seconds of CPU of a batch in which nothing is changed."""
    return min(_spent(Chance(seed, plain=True), 0) for seed in range(3))


def _spent(rng: Chance, seed: int) -> float:
    world = enforcing(healthy_node("healthy", cpu=64, memory=256, kind="healthy"))
    world.namespace("other")
    extender = ClusterCache(Decisions(), lambda: 0.0, lambda: 0.0)
    began = process_time()
    try:
        with quietly():
            _course(seed, rng, world, extender)
    except Exception as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        raise Failure(f"{type(problem).__name__}: {problem!s:.1500} at {last.filename}:{last.lineno}") from problem
    return process_time() - began


def _course(seed: int, rng: Chance, world: World, extender: ClusterCache) -> None:
    pods, nodes, customs = [], [], []
    for number in range(BATCH):
        kind = rng.random()
        if kind < 0.8:
            pods.append(mutants.mutated(rng, mutants.pod(rng, number)))
        elif kind < 0.9:
            nodes.append(mutants.mutated(rng, mutants.node(rng, number)))
        else:
            name, body = mutants.custom(rng, number)
            customs.append((name, mutants.mutated(rng, body)))
    if seed % LENGTHS == 1 and not rng.plain:
        pods, nodes, customs = _long(rng, seed // LENGTHS)
    node_records: list[NodeRecord] = _trimmed(wire.Node, trim.node, nodes)
    pod_records: list[PodRecord] = _trimmed(wire.Pod, trim.pod, pods)
    world.cache.set_nodes(node_records)
    extender.set_nodes(node_records)
    configured: list[tuple[str, CustomRecord]] = []
    for name, body in customs:
        custom_records: list[CustomRecord] = _trimmed(wire.Custom, trim.custom, [body])
        world.cache.governing.set(name, custom_records)
        configured += [(name, record) for record in custom_records]
    world.cache.govern()
    extender.set_pods(pod_records)
    world.put(*pod_records)
    operator = world.operator()
    asyncio.run(operator._step())
    asyncio.run(operator._step())
    world.cache.drop_pods(pod_records[: BATCH // 4], world.now)
    extender.drop_pods(pod_records[: BATCH // 4])
    asyncio.run(operator._step())
    if wrong := verbs.course(rng, _encodable(pods), node_records, pod_records):
        raise Failure(wrong)
    if seed % TELLING == 0 and (wrong := telling.course(rng, node_records, pod_records[: BATCH // 2], configured)):
        raise Failure(wrong)
    for each in world.cache.quarantine.take():
        if each.part.value in ("pod", "app"):  # the last net: a bound should have caught it before
            raise Failure(f"{each.part.value} {each.pod.name} was set aside: {each.problem}")


def _long(rng: Chance, turn: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Objects that are right but for one place, another one each turn, which holds long texts of every kind."""
    pods = [mutants.pod(rng, number, whole=True) for number in range(BATCH)]
    nodes = [mutants.node(rng, number) for number in range(BATCH // 4)]
    customs = [mutants.custom(rng, number) for number in range(BATCH // 4)]
    longtexts.in_one_place(rng.sizes, pods, turn, mutants.OURS)
    longtexts.in_one_place(rng.sizes, nodes, turn)
    for kind in sorted({kind for kind, _ in customs}):
        longtexts.in_one_place(rng.sizes, [body for its, body in customs if its == kind], turn)
    return pods, nodes, customs


def _trimmed(shape: Any, trimming: Any, bodies: list[dict[str, Any]]) -> list[Any]:
    """Records of the objects that can be read, as the reflector makes them."""
    body = orjson.dumps({"metadata": {"resourceVersion": "1"}, "items": _encodable(bodies)})
    listed = Decoding(shape, lambda problem, meta: None).chunk(body)
    records = []
    for item in listed.items:
        try:
            records.append(trimming(item))
        except SlackwaterError:
            continue  # it says what is wrong with it
    return records


def _encodable(bodies: list[dict[str, Any]]) -> list[Any]:
    found = []
    for body in bodies:
        try:
            orjson.dumps(body)
        except TypeError:  # an integer beyond 64 bits: no JSON of an API server has it
            continue
        found.append(body)
    return found
