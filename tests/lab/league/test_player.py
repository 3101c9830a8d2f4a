"""The player against a small API server: writes that get no answer, and plays in which nothing moves."""

from aiohttp import web

from slackwater_lab.live.drivers import Ask
from slackwater_lab.live.play import Create, Player, pod_alone
from slackwater_lab.live.pods import Stage
from slackwater_lab.live.workload import Part, Play, Size
from support.fakes.apiserver import ApiServer

STAGE = Stage("league", "league")
PODS = "/api/v1/namespaces/league/pods"
ONE = Play("job", 0.0, (Part("map", Size(1.0, 2.0**30), (0.1,)),))


class Forgetful(ApiServer):
    """Hangs up on the first so many writes; a pod that is created has succeeded at once, unless pods are to wait."""

    def __init__(self, hang_ups: int = 0, *, waits: bool = False) -> None:
        super().__init__()
        self.hang_ups, self.waits = hang_ups, waits
        self.written: list[str] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, or none."""
        if request.method != "POST":
            return await super().handle(request)
        self.written.append(request.path)
        if self.hang_ups:
            self.hang_ups -= 1
            assert request.transport is not None
            request.transport.close()
        elif request.path == PODS:
            pod = await request.json()
            pod["metadata"] |= {"uid": pod["metadata"]["name"], "namespace": "league"}
            self.put(PODS, {**pod, "status": {"phase": "Pending" if self.waits else "Succeeded"}})
        return web.json_response({}, status=201)


async def test_a_write_without_an_answer_is_sent_again() -> None:
    """A busy machine must not end a play."""
    server = Forgetful(hang_ups=1)
    async with server.running() as where:
        (course,) = await Player(where, STAGE, clean=False).play([ONE], 20.0)
    assert course.over
    assert server.written == [PODS, PODS]


async def test_a_play_in_which_nothing_moves_is_stopped() -> None:
    """Long before its limit; its job is not over."""
    async with Forgetful(waits=True).running() as where:
        (course,) = await Player(where, STAGE, patience=0.3, clean=False).play([ONE], 60.0)
    assert not course.over


async def test_what_comes_before_a_pod_is_created_before_it() -> None:
    """As a group is before its members."""

    def creates(ask: Ask, stage: Stage) -> list[Create]:
        return [("/groups", {"kind": "Group"}), *pod_alone(ask, stage)]

    server = Forgetful()
    async with server.running() as where:
        await Player(where, STAGE, creates=creates, clean=False).play([ONE], 20.0)
    assert server.written == ["/groups", PODS]
