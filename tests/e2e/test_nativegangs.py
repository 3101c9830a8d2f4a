"""Gangs of kube-scheduler itself: PodGroups of the Workload API, held and released by us, bound by its gang plugin."""

from collections.abc import Iterator

import pytest

from slackwater_cluster.watch.sources import POD_GROUP_VERSIONS
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.programs.versions import other
from support.lab.running import running
from support.lab.testcluster import ENFORCE, Field, needs_own_lab
from support.lab.testnamespace import Ground, Object, bound, gated, until

pytestmark = pytest.mark.lab
NEWEST, BEFORE = POD_GROUP_VERSIONS
USUAL, FIRST = "v1.36.4", 36  # the lab's own version, and the first whose pods name a PodGroup
ROOM = {"no-room", "no-node-has-room"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    """A lab whose API server serves PodGroups, and whose schedulers place gangs."""
    needs_own_lab()
    minor = int((other() or USUAL).split(".")[1])
    if minor < FIRST:
        pytest.skip("pods name a PodGroup from Kubernetes 1.36 on")
    gates = ("GenericWorkload",) if minor > FIRST else ("GenericWorkload", "GangScheduling")
    plan = Plan(nodes=1, shape=Shape(cpu="2", memory="4Gi"), values=ENFORCE, gates=gates)
    with running(plan, tmp_path_factory.mktemp("labs")) as lab, lab.api() as api:
        yield Field(api, lab.site.url("extender"), lab)


def test_a_native_gang_starts_together_and_the_rest_of_its_group_later(served: Field) -> None:
    """Eight cores: pods of two wait for their PodGroup, then for the last of four; the fifth comes when one is gone."""
    with served.ground("gang", nodes=2, shape=Shape(cpu="4", memory="16Gi")) as ground:
        ground.create([_member(ground, number) for number in range(3)])
        until("they wait for their PodGroup", lambda: _reasons(ground) == {"being-looked-up"}, 40)
        _group(ground, 4)
        until("they wait for the fourth", lambda: _reasons(ground) == {"gang-incomplete"}, 40)
        assert all(map(gated, ground.pods()))
        ground.create([_member(ground, number) for number in (3, 4)])
        started = {pod["metadata"]["name"] for pod in ground.until_bound(4, 60)}
        assert {"m-0", "m-1", "m-2"} < started
        until("kube-scheduler tells that the group is placed", lambda: _placed(ground), 30)
        (last,) = {"m-3", "m-4"} - started
        until("the fifth waits for room", lambda: gated(ground.get(last)) and _reasons(ground) <= ROOM, 40)
        served.api.delete(f"{ground.pods_path}/m-0")
        until("the fifth is bound", lambda: bound([ground.get(last)]), 60)


def test_a_native_gang_that_can_never_fit_is_refused(served: Field) -> None:
    """Nine of two cores do not fit eight cores, however long they wait; a group without a gang goes pod by pod."""
    with served.ground("toolarge", nodes=2, shape=Shape(cpu="4", memory="16Gi")) as ground:
        _group(ground, 9)
        ground.create([_member(ground, 0)])
        until("it is refused", lambda: _reasons(ground) == {"gang-larger-than-cluster"}, 40)
        _group(ground, 0, name="basic")
        ground.create([_member(ground, 1, group="basic")])
        ground.until_bound(1, 40)
        assert gated(ground.get("m-0"))


def _member(ground: Ground, number: int, group: str = "mpi") -> Object:
    """A pod that keeps its request and uses all of it, and that names a PodGroup."""
    use, named = ("2", "1Gi"), {"podGroupName": group}
    return ground.pod(f"m-{number}", app=group, role="", cpu="2", use=use, schedulingGroup=named)


def _group(ground: Ground, least: int, name: str = "mpi") -> None:
    """A PodGroup in the version that is served; `least` 0 is one with the basic policy."""
    policy: Object = {"gang": {"minCount": least}} if least else {"basic": {}}
    path = _groups(ground)
    body = {"apiVersion": path.removeprefix("/apis/").rpartition("/namespaces")[0], "kind": "PodGroup"}
    ground.api.create(path, {**body, "metadata": {"name": name}, "spec": {"schedulingPolicy": policy}})


def _groups(ground: Ground) -> str:
    newest = ground.api.find(f"/apis/scheduling.k8s.io/{NEWEST}/podgroups") is not None
    return f"/apis/scheduling.k8s.io/{NEWEST if newest else BEFORE}/namespaces/{ground.name}/podgroups"


def _placed(ground: Ground) -> bool:
    status = (ground.api.find(f"{_groups(ground)}/mpi") or {}).get("status", {})
    return any(each["status"] == "True" for each in status.get("conditions", ()))


def _reasons(ground: Ground) -> set[str | None]:
    held = [pod for pod in ground.pods() if gated(pod)]
    return {pod["metadata"]["annotations"].get("slackwater.io/reason") for pod in held}
