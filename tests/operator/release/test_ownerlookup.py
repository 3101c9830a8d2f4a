"""Look-ups of owners: bounded, beside the rounds, and nothing that a tenant writes makes them fail."""

import asyncio

import pytest
from aiohttp import web

from slackwater_cluster.api.session import Session
from slackwater_cluster.apps.questions import IN_LINE, TOGETHER, fair
from slackwater_cluster.objects.records import OwnerRef
from slackwater_operator.release.ownerlookup import OwnerLookup
from support.fakes.cluster import enforcing, node, owned
from support.fakes.loop import hang, leading, release_loop, until
from support.fakes.ownerserver import GROUPS, KINDS, held, learns, memory, served, sound


def test_an_owner_is_looked_up_once() -> None:
    """Groups, kinds, the Job; a second pod of the kind costs one request."""
    cache = memory(held("p"))

    async def work(session: Session) -> None:
        lookup = OwnerLookup(session)
        assert await learns(lookup, cache)
        assert not await learns(lookup, cache)
        cache.set_pods([held("q")], 0.0)
        await learns(lookup, cache)

    assert served(sound, work) == [
        "/apis",
        "/apis/batch/v1",
        "/apis/batch/v1/namespaces/team/jobs/j",
        "/apis/batch/v1/namespaces/team/jobs/j",
    ]
    assert not cache.index.unknown()


@pytest.mark.parametrize(
    "owner",
    [
        {"apiVersion": "./v1", "kind": "Foo", "name": "x"},
        {"apiVersion": "../v1", "kind": "Foo", "name": "x"},
        {"apiVersion": "v1", "kind": "Pod", "name": "../../../pods?watch=true"},
        {"apiVersion": "v1", "kind": "Pod", "name": "?watch=true"},
        {"apiVersion": "v1", "kind": "Pod", "name": "../../../../../healthz"},
        {"apiVersion": "v1", "kind": "Pod", "name": "../../kube-system/secrets/x"},
    ],
    ids=lambda owner: f"{owner['apiVersion']} {owner['name']}",
)
def test_an_owner_that_is_no_name_is_never_asked_about(owner: dict[str, str]) -> None:
    """Nothing goes over the wire, the pod is settled, and its owner is told."""
    cache = memory(held("evil", **owner))

    async def work(session: Session) -> None:
        await learns(OwnerLookup(session), cache)

    assert served(sound, work) == []
    cache.views.refresh()
    assert all(each.settled for each in cache.views.values())
    assert [each.pod.uid for each in cache.quarantine.take()] == ["evil"]


def test_references_that_bypassed_the_reader_are_not_asked_about_either() -> None:
    """Neither a name nor a group that is a path goes over the wire; others are looked up."""
    world = enforcing(node("a"))
    for number, (group, name) in enumerate((("batch", "../../secrets/x"), ("../../api/v1", "x"), ("batch", ".."))):
        bad = OwnerRef(kind="Job", name=name, uid=f"bad-{number}", group=group, controller=True, namespace="team")
        world.create(f"evil-{number}", owners=[bad])
    world.create("good", owners=[owned("Job", "j", group="batch")])

    async def work(session: Session) -> None:
        await learns(OwnerLookup(session), world.cache)

    asked = set(served(sound, work))
    assert asked == {"/apis", "/apis/batch/v1", "/apis/batch/v1/namespaces/team/jobs/j"}
    assert not world.cache.index.unknown()


def test_made_up_groups_cost_no_request_each() -> None:
    """One list of the groups answers for all of them."""
    cache = memory(*(held(f"p{n}", apiVersion=f"g{n}.example/v1") for n in range(40)))

    async def work(session: Session) -> None:
        await learns(OwnerLookup(session), cache)

    assert len(served(sound, work)) <= TOGETHER
    assert not cache.index.unknown()


VERSIONS = {
    "/apis": {
        "groups": [
            {
                "name": "kubeflow.org",
                "preferredVersion": {"version": "v1"},
                "versions": [{"version": "v1"}, {"version": "v2beta1"}],
            }
        ]
    },
    "/apis/kubeflow.org/v1": {"resources": [{"kind": "TFJob", "name": "tfjobs", "namespaced": True}]},
    "/apis/kubeflow.org/v2beta1": {"resources": [{"kind": "MPIJob", "name": "mpijobs", "namespaced": True}]},
}


@pytest.mark.parametrize(
    ("kind", "version", "asked"),
    [
        ("MPIJob", "v2beta1", ["v2beta1", "v2beta1/namespaces/team/mpijobs/j"]),
        ("TFJob", "v2beta1", ["v2beta1", "v1", "v1/namespaces/team/tfjobs/j"]),
        ("TFJob", "v9", ["v1", "v1/namespaces/team/tfjobs/j"]),
        ("Other", "v2beta1", ["v2beta1", "v1"]),
    ],
    ids=["served there only", "served in the preferred one", "a version not served", "a kind not served"],
)
def test_an_owner_is_asked_for_in_the_version_that_its_reference_names(
    kind: str, version: str, asked: list[str]
) -> None:
    """Then in the group's preferred one; a version that a tenant made up costs no request."""
    cache = memory(held("p", apiVersion=f"kubeflow.org/{version}", kind=kind))

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(VERSIONS.get(request.path, {"metadata": {"uid": "j-p"}}))

    async def work(session: Session) -> None:
        await learns(OwnerLookup(session), cache)

    assert served(answer, work) == ["/apis", *(f"/apis/kubeflow.org/{path}" for path in asked)]
    assert not cache.index.unknown()


def test_namespaces_take_turns() -> None:
    """A tenant with a thousand owners does not keep another's one owner waiting."""
    many = [(owned("Job", f"j{n}", group="batch"), "greedy") for n in range(1000)]
    one = (owned("Job", "x", group="batch"), "modest")
    assert one in fair([*many, one])[:2]
    assert len(fair([*many, one])) == 1001 > IN_LINE


def test_a_pod_that_goes_takes_its_question_along() -> None:
    """Owners of pods that are gone are not asked about."""
    pod = held("p")
    cache = memory(pod)
    assert cache.index.unknown()
    cache.drop_pods([pod], 0.0)
    assert not cache.index.unknown()


def test_an_owner_is_known_though_another_is_not_answered() -> None:
    """Also one whose pod comes while that question hangs."""
    world = enforcing(node("a", cpu=1))
    world.objects = {"/apis": GROUPS, "/apis/batch/v1": KINDS}
    begun = hang(world, "/jobs/stuck")
    stuck = owned("Job", "stuck", group="batch")
    world.create("first", owners=[stuck])
    made = release_loop(world)

    async def play() -> None:
        async with leading(made):
            await until(lambda: bool(begun))
            world.create("second", owners=[owned("Job", "sound", group="batch")])
            made.news.set()
            await until(lambda: world.cache.index.unknown() == [(stuck, "team")])

    asyncio.run(play())
