"""Pods freed by hand, as far as the command's own tests do not go."""

from __future__ import annotations

from threading import Barrier, BrokenBarrierError

import httpx2

from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_monitor.release import FREED, IN_FLIGHT, NOT_FREED, Held, released


def test_pods_whose_writes_hang_do_not_hold_up_those_behind_them() -> None:
    """All but one of the places are taken by writes that end only when the last pod was freed."""
    hanging = [f"aaa-{number}" for number in range(IN_FLIGHT - 1)]
    others = [f"etl-{number}" for number in range(20)]
    over = Barrier(len(hanging) + 1)

    def answer(request: httpx2.Request) -> httpx2.Response:
        name = request.url.path.rpartition("/")[2]
        if name in (*hanging, others[-1]):
            try:
                over.wait(timeout=20)
            except BrokenBarrierError:
                return httpx2.Response(504, json={"message": "it hung while others waited"})
        if name in hanging:
            raise httpx2.ReadTimeout("no answer", request=request)
        return httpx2.Response(200, json={})

    held = [Held("team", name, f"uid-{name}", "etl", gates=(names.GATE,)) for name in (*hanging, *others)]
    with ApiClient(Endpoint("http://api", True, dict), httpx2.MockTransport(answer)) as api:
        found = released(api, held)
    assert [each.name for each in found] == [each.name for each in held]
    assert {each.name for each in found if each.result == FREED} == set(others)
    assert all("no answer" in each.problem for each in found if each.result == NOT_FREED)
