"""The dead-man switch: when nobody leads, nobody is held."""

import asyncio
from math import inf
from typing import Any, cast

import pytest

from slackwater_cluster import names
from slackwater_cluster.api.session import Session
from slackwater_cluster.pods.ungate import FIRST, WORKERS
from slackwater_operator.lease.watchdog import LeaseWatch, Watchdog, WatchdogSettings, holder
from support.fakes.manypods import MEBIBYTE, ManyPods, peak
from support.fakes.watchedserver import WatchedServer

MOST_MEMORY = 64.0  # MiB


class Scene:
    """A watchdog with a clock of its own."""

    def __init__(self, **settings: Any) -> None:
        self.now, self.server = 0.0, WatchedServer()
        self.server.wait = self._wait
        self.pauses: list[float] = []
        self.until: float | None = None  # None: pauses take no time
        self.leads_from = inf  # from when on an operator renews the Lease
        self.settings = WatchdogSettings(**{"patience": 120, "period": 5, **settings})
        self.restart()

    def restart(self) -> None:
        """A new process, which knows what the API server shows and nothing else."""
        self.dog = Watchdog(cast("Session", self.server), self.settings, LeaseWatch(lambda: self.now), self._pause)

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += 0.0 if self.until is None else seconds
        if self.now >= self.leads_from:
            self.server.renewed = str(self.now)
        await asyncio.sleep(0)  # the writes under way go on
        if self.until is not None and self.now >= self.until:
            raise InterruptedError

    async def _wait(self, seconds: float) -> None:
        """Time is moved by the pauses of the watchdog alone: one that makes none waits for this answer."""
        until, before, still = self.now + seconds, self.now, 0
        while self.now < until:
            await asyncio.sleep(0)
            still = still + 1 if self.now == before else 0
            before = self.now
            assert still < 1000, "everything waits for one answer"

    def run(self, seconds: float) -> None:
        """The program itself for so long: answers of the API server take time, too."""
        asyncio.run(self.running(seconds))

    async def running(self, seconds: float) -> None:
        """The same; what is under way in the end stays so."""
        self.until = self.now + seconds
        self.server.spend = self._spend
        with pytest.raises(InterruptedError):
            await self.dog.run()

    def _spend(self, seconds: float) -> None:
        self.now += seconds

    def look(self, seconds: float = 5.0, times: int = 1) -> int:
        """Some looks, time passing before each."""
        done = 0
        for _ in range(times):
            self.now += seconds
            done += asyncio.run(self.dog.look())
        return done


def test_while_somebody_leads_nothing_is_touched() -> None:
    """Every renewal starts the silence anew."""
    scene = Scene()
    scene.server.hold("p", "2026-01-01T00:00:00Z")
    for number in range(100):
        scene.server.renewed = str(number)
        assert scene.look() == 0
    assert scene.server.subjects == [holder("slackwater-system")]


@pytest.mark.parametrize("status", [401, 403])
def test_a_lease_that_may_not_be_read_is_no_dead_operator(status: int) -> None:
    """Somebody took the right away: that says nothing about who leads, so nobody is let go."""
    scene = Scene()
    scene.server.hold("p", "2026-01-01T00:00:00Z")
    scene.look()
    scene.server.forbidden = status
    scene.look(times=120)
    assert not scene.server.freed
    assert not scene.server.switched


@pytest.mark.parametrize("turned", [names.NEVER, "7"], ids=["it never turned", "it turns no more"])
def test_a_leader_whose_loop_does_not_turn_is_no_leader(turned: str) -> None:
    """It renews the Lease all the same, and is started again and again: nobody would ever be let go."""
    scene = Scene()
    scene.server.turned = turned
    scene.server.hold("p", "2026-01-01T00:00:00Z")
    for number in range(30):
        scene.server.renewed = str(number)
        scene.look()
    assert scene.server.freed == ["p"]
    assert scene.server.subjects == []
    scene.server.turned = "8"
    scene.look()
    assert scene.server.subjects == [holder("slackwater-system")]


@pytest.mark.parametrize("lease", ["1", None], ids=["not renewed", "deleted with its namespace"])
def test_without_a_leader_pods_are_let_go_after_the_patience(lease: str | None) -> None:
    """Not before it, whatever the Lease looks like; then the switch goes first."""
    scene = Scene()
    scene.look()
    scene.server.renewed = lease
    scene.server.hold("p", "2026-01-01T00:00:00Z")
    scene.look(times=23)
    assert not scene.server.freed
    assert scene.server.subjects
    scene.look(times=2)
    assert scene.server.freed == ["p"]
    assert scene.server.subjects == []


def test_the_oldest_go_first_at_a_bounded_rate() -> None:
    """And nobody touches the gates of others."""
    scene = Scene(rate=2.0)  # ten in a period of five seconds
    for number in range(600):
        scene.server.hold(f"p{number:05}", f"2026-01-01T00:00:{59 - number % 60:02}Z")
    scene.server.hold("other", "2025-01-01T00:00:00Z", gate="example.com/other")
    scene.look(times=24)
    assert scene.look() == 10
    assert scene.server.freed == sorted(scene.server.freed)
    assert {int(name[1:]) % 60 for name in scene.server.freed} == {59}
    assert scene.pauses == [0.5] * 10


@pytest.mark.parametrize(("rate", "period"), [(10.0, 5.0), (2.0, 5.0), (1.0, 10.0), (0.1, 5.0)])
def test_the_rate_is_reached(rate: float, period: float) -> None:
    """Whatever the list and the writes take of each period, and never more than it."""
    scene = Scene(rate=rate, period=period)
    for number in range(2000):
        scene.server.hold(f"p{number:05}", f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z")
    scene.look(times=30)
    before = len(scene.server.freed)
    scene.run(100.0)
    assert rate * 90 <= len(scene.server.freed) - before <= rate * 110


def test_pods_that_cannot_be_changed_keep_nobody_waiting() -> None:
    """They come again when all others had their turn; a hundred old ones once kept everybody held for ever."""
    scene = Scene(rate=2.0)  # ten in a period
    for number in range(150):
        scene.server.hold(f"p{number:05}", f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z")
    scene.server.refused = {f"p{number:05}" for number in range(100)}
    scene.look(times=24)
    assert scene.look(times=15) == 50
    assert scene.server.tried == sorted(scene.server.tried)
    scene.server.refused.clear()
    assert scene.look(times=10) == 100
    assert not scene.server.pods


def crowd(scene: Scene, slow: int, seconds: float) -> None:
    """Pods whose writes are answered late, and a hundred younger ones of others."""
    for number in range(slow + 100):
        name = f"{'slow' if number < slow else 'other'}{number:05}"
        scene.server.hold(name, f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z")
        if number < slow:
            scene.server.slow[name] = seconds


@pytest.mark.parametrize("slow", [20, 100, 300])
@pytest.mark.parametrize("seconds", [10.0, 1000.0], ids=["refused late", "never answered"])
def test_pods_that_are_refused_late_keep_nobody_waiting(slow: int, seconds: float) -> None:
    """A webhook whose backend is gone, as after the outage that took the operators: all others go at the usual rate."""
    scene = Scene()
    crowd(scene, slow, seconds)
    scene.server.refused = set(scene.server.slow)
    scene.look(times=24)
    scene.run(1.1 * (slow + 100) / scene.settings.rate + 3 * scene.settings.period)
    assert len(scene.server.freed) == 100
    assert scene.server.tried[: slow + 100] == sorted(scene.server.tried[: slow + 100], key=lambda name: name[-5:])


@pytest.mark.parametrize("rate", [10.0, 500.0])
def test_neither_the_rate_nor_the_writes_at_once_grow_by_late_answers(rate: float) -> None:
    """Who is answered late is waited for by few; nobody is tried twice at once, nor faster than was set."""
    scene = Scene(rate=rate)
    crowd(scene, 500, 1000.0)
    scene.look(times=24)
    scene.run(20.0)
    assert 10 <= scene.server.most <= WORKERS
    assert len(scene.server.tried) <= 22 * min(rate, WORKERS / FIRST)


def test_a_new_leader_is_seen_while_writes_are_not_answered() -> None:
    """One look later nobody is tried any more, what is under way is given up, and pods are held again."""
    scene = Scene()
    crowd(scene, 1000, 1000.0)
    scene.look(times=24)
    scene.leads_from = scene.now + 20

    async def play() -> None:
        await scene.running(20 + 2 * scene.settings.period)
        assert scene.server.switched == [False, True]
        assert scene.server.under_way == 0
        tried = len(scene.server.tried)
        assert 0 < tried <= scene.settings.rate * (20 + scene.settings.period)
        await scene.running(60)
        assert len(scene.server.tried) == tried

    asyncio.run(play())


def test_who_is_answered_late_is_waited_for_when_its_turn_comes_again() -> None:
    """A slow webhook that lets pods pass keeps them for a minute, not for ever."""
    scene = Scene()
    crowd(scene, 20, 8.0)
    scene.look(times=24)
    scene.run(60.0)
    assert not scene.server.pods


def test_parked_pods_are_let_go_too() -> None:
    """Nobody else would take the mark away, and the scheduler refuses a pod that carries it."""
    scene = Scene()
    scene.server.hold("p", "2026-01-01T00:00:00Z", gate="example.com/other")
    scene.server.pods["p"]["metadata"]["annotations"] = {names.PARKED: "now"}
    scene.look(times=25)
    assert scene.server.freed == ["p"]


def test_marks_that_anybody_wrote_elsewhere_keep_no_held_pod_waiting() -> None:
    """In a namespace that is not managed nobody refuses them: thousands of old pods took everybody's turns."""
    scene = Scene(rate=10)
    for number in range(2000):
        scene.server.hold(
            f"marked-{number}", f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}Z", gate="other.io/gate"
        )
        scene.server.pods[f"marked-{number}"]["metadata"]["annotations"] = {names.PARKED: "now"}
    for number in range(20):
        scene.server.hold(f"held-{number}", f"2026-01-02T00:00:{number:02d}Z")
    scene.look(times=26)
    assert scene.server.freed[:20] == [f"held-{number}" for number in range(20)]
    scene.look(times=5)
    assert len(scene.server.freed) > 100  # a pod that was parked is let go, too


@pytest.mark.parametrize(("count", "size"), [(100, MEBIBYTE), (8_000, 12_000)], ids=["large pods", "many pods"])
def test_its_memory_depends_neither_on_how_many_pods_are_held_nor_on_their_size(count: int, size: int) -> None:
    """Its limit is 256 MiB; the program itself takes some 70."""

    async def free(session: Session) -> None:
        dog = Watchdog(session, WatchdogSettings(rate=1.0), LeaseWatch(), pause)
        await dog._free()
        await dog._ungater.finish()

    async def pause(_: float) -> None:
        """No time passes."""

    server = ManyPods(count, size)
    assert peak(server, free) < MOST_MEMORY
    assert server.lifted == set(range(5))


def test_when_a_leader_is_back_pods_are_held_again() -> None:
    """The switch is all there is to set."""
    scene = Scene()
    scene.look(times=30)
    assert scene.server.subjects == []
    scene.server.renewed = "2"
    scene.look()
    assert scene.server.subjects == [holder("slackwater-system")]


def test_an_api_server_that_is_away_is_no_dead_operator() -> None:
    """Ten minutes without an answer count for nothing: the operator could not renew either."""
    scene = Scene()
    scene.look()
    scene.server.away = True
    scene.look(times=120)
    scene.server.away = False
    scene.server.hold("p", "2026-01-01T00:00:00Z")
    scene.look(times=20)
    assert not scene.server.freed


@pytest.mark.parametrize("lease", ["1", None], ids=["not renewed", "deleted with its namespace"])
def test_one_that_starts_anew_while_nobody_leads_goes_on(lease: str | None) -> None:
    """The switch stays off all the time, and the rest is let go without another patience."""
    scene = Scene(rate=0.2)  # one in a period
    scene.look()
    scene.server.renewed = lease
    for name in ("a", "b", "c"):
        scene.server.hold(name, "2026-01-01T00:00:00Z")
    scene.look(times=24)
    assert scene.server.freed == ["a"]
    for _ in range(2):
        scene.restart()
        scene.look(times=2)
    assert scene.server.freed == ["a", "b", "c"]
    assert scene.server.switched == [False]


def test_one_that_starts_anew_beside_a_leader_holds_pods_again() -> None:
    """Even if the switch is still off: a second look shows a renewal, and nothing is let go before it."""
    scene = Scene()
    scene.look(times=30)
    scene.server.hold("p", "2026-01-01T00:00:00Z")
    scene.restart()
    for renewed in ("2", "3"):
        scene.server.renewed = renewed
        scene.look()
    assert scene.server.subjects == [holder("slackwater-system")]
    assert not scene.server.freed


def test_one_that_starts_anew_in_time_waits_for_its_whole_patience() -> None:
    """It cannot know how long nobody has led; the switch is on, so that was not long."""
    scene = Scene()
    scene.server.hold("p", "2026-01-01T00:00:00Z")
    scene.look(times=20)
    scene.restart()
    scene.look(times=24)
    assert not scene.server.freed
    scene.look()
    assert scene.server.freed == ["p"]


@pytest.mark.parametrize("wrong", [b"<html>", b"[]", b'{"spec": 7, "subjects": 7, "items": "none"}'], ids=str)
def test_answers_that_cannot_be_read_are_none(wrong: bytes) -> None:
    """It neither ends nor takes them for a dead operator; and afterwards it goes on."""
    scene = Scene()
    scene.look()
    scene.server.hold("p", "2026-01-01T00:00:00Z")
    scene.server.wrong = wrong
    scene.look(times=120)
    scene.server.wrong = None
    scene.look(times=20)
    assert not scene.server.freed
    scene.look(times=10)
    assert scene.server.freed == ["p"]
