"""The hook before uninstall: every gate goes, whatever pods there are."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from time import monotonic
from types import ModuleType
from typing import Any

import pytest

from slackwater.errors import SlackwaterError, Unavailable
from slackwater_cluster.api.session import Session
from slackwater_cluster.pods.unbound import UnboundPod
from slackwater_cluster.pods.ungate import FIRST, WORKERS
from support.fakes.manypods import MEBIBYTE, ManyPods, peak
from support.lab.chart import CHART, LIVE, objects, pod_specs

MOST_MEMORY = 64.0  # MiB; the limit of the hook is 256, and the program itself takes some 70


@pytest.fixture
def hook() -> Iterator[ModuleType]:
    """The script, as the chart holds it."""
    spec = importlib.util.spec_from_file_location("leave", CHART / "files" / "hooks" / "leave.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["leave"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["leave"]


@pytest.mark.parametrize(("count", "size"), [(100, MEBIBYTE), (2_000, 50_000)], ids=["large pods", "many pods"])
def test_its_memory_depends_neither_on_how_many_pods_wait_nor_on_their_size(
    hook: ModuleType, count: int, size: int
) -> None:
    """It once kept every pod that waits, whole."""
    server = ManyPods(count, size)
    assert peak(server, lambda session: looked(hook, session)) < MOST_MEMORY
    assert len(server.lifted) == count


async def looked(hook: ModuleType, session: Session) -> None:
    """One look is enough to lift all gates."""
    with pytest.raises(Unavailable, match="pods still wait"):
        await hook.leave(session, -1.0)


def leave(hook: ModuleType, server: ManyPods, patience: float = 60.0, **more: Any) -> str:
    """What the hook says in the end."""

    async def run() -> str:
        async with server.session() as session:
            return str(await hook.leave(session, patience, 0.0, **more))

    return asyncio.run(run())


def test_a_pod_that_cannot_be_changed_keeps_no_other_held(hook: ModuleType) -> None:
    """All others are let go, and it is named with the reason."""
    server = ManyPods(300, 10, refused=frozenset({0, 150}))
    with pytest.raises(Unavailable, match=r"cannot be lifted \(team/p000000: 422: not this one; team/p000150"):
        leave(hook, server, -1.0)
    assert len(server.lifted) == 298


def test_pods_whose_writes_are_not_answered_keep_no_other_held(hook: ModuleType) -> None:
    """They are tried side by side, and given up after seconds: helm waits for minutes, not for hours."""
    server = ManyPods(100, 10, silent=frozenset(range(WORKERS + 1)))
    began = monotonic()
    with pytest.raises(Unavailable, match=r"100 pods still wait .*cannot be lifted"):
        leave(hook, server, -1.0)
    assert len(server.lifted) == 100 - len(server.silent)
    assert monotonic() - began < 10 * FIRST


def test_it_says_so_where_time_was_over_before_all_were_tried_again(hook: ModuleType) -> None:
    """Nobody is told that gates are lifted which are not."""
    look = hook.Look()
    for number in range(2):
        look.see(UnboundPod("", "team", f"p{number}", f"u{number}", "slackwater", ("slackwater.io/admission",), ()))
    look.told(UnboundPod("", "team", "p0", "u0", "slackwater", ("slackwater.io/admission",), ()), True, "")
    assert "2 pods still wait" in look.left()
    assert "1 not tried any more" in look.left()


def test_it_ends_when_nobody_waits(hook: ModuleType) -> None:
    """Even where the list gets too old while gates are lifted."""
    assert "250 pods released, none waits" in leave(hook, ManyPods(250, 10, expires=100))


OWNED = {"meta.helm.sh/release-name": "slackwater", "meta.helm.sh/release-namespace": "slackwater-system"}
TRACKED = {"argocd.argoproj.io/tracking-id": "slackwater:apps/Deployment:slackwater-system/slackwater-operator"}


def test_it_touches_nothing_where_somebody_applied_its_job_by_hand(hook: ModuleType) -> None:
    """`helm template | kubectl apply` starts every Job of a rendering at once, uninstall or not."""
    server = ManyPods(3, 10, operator={"deployment.kubernetes.io/revision": "1"})
    with pytest.raises(SlackwaterError, match="nobody uninstalls"):
        leave(hook, server)
    assert (server.deleted, server.lifted) == ([], set())


@pytest.mark.parametrize("operator", [OWNED, TRACKED, None], ids=["helm", "Argo CD", "gone in an uninstall before"])
def test_it_leaves_where_those_who_know_an_uninstall_manage_the_release(
    hook: ModuleType, operator: dict[str, str] | None
) -> None:
    """Helm marks what it owns, and Argo CD runs such a Job only before it deletes an application."""
    server = ManyPods(3, 10, operator=operator)
    assert "3 pods released" in leave(hook, server)
    assert server.deleted


def test_it_leaves_all_the_same_where_it_is_told_not_to_look(hook: ModuleType) -> None:
    """Argo CD that tracks by label marks nothing that could be known."""
    server = ManyPods(3, 10, operator={})
    assert "3 pods released" in leave(hook, server, owned=None)


@pytest.mark.parametrize(("options", "rendered"), [((), False), (LIVE, True)], ids=["offline", "by helm at work"])
def test_it_is_rendered_only_where_helm_talks_to_a_cluster(options: tuple[str, ...], rendered: bool) -> None:
    """What `helm template` writes is applied by others, also over a release that helm made."""
    assert any(each["metadata"]["name"] == "slackwater-leave" for each in objects("1.37.0", *options)) is rendered


@pytest.mark.parametrize(("create", "name"), [("true", "slackwater-control"), ("false", None)])
def test_its_pod_finds_room_on_a_full_cluster(create: str, name: str | None) -> None:
    """By the class of our own programs, where it is made; the Job before an upgrade asks whether it is there yet."""
    specs = pod_specs(objects("1.37.0", *LIVE, f"--set=priorityClasses.create={create}"))
    assert specs["Job/slackwater-leave"].get("priorityClassName") == name
    assert "priorityClassName" not in specs["Job/slackwater-definitions"]
