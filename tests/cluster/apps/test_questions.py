"""Questions to the API server: few at a time, in turn, each answer by itself, and none outlives whoever asks."""

import asyncio

import pytest

from slackwater_cluster.apps.questions import LOOK_SECONDS, REPEATED, TOGETHER, Questions


class Asker:
    """Asks about names; an answer comes once a test gives it."""

    def __init__(self, *wanted: tuple[str, str]) -> None:
        self.wanted = list(wanted)
        self.questions = Questions[str](lambda: self.now)
        self.now = 0.0
        self.answers: dict[str, asyncio.Future[bool]] = {}
        self.begun: list[str] = []

    async def ask(self, name: str) -> bool:
        """Note the question and wait for its answer."""
        self.begun.append(name)
        self.answers[name] = asyncio.get_running_loop().create_future()
        answered = await self.answers[name]
        if answered:
            self.wanted = [each for each in self.wanted if each[0] != name]
        return answered

    def start(self) -> asyncio.Task[None]:
        """Begin to ask."""
        return asyncio.create_task(self.questions.run(lambda: self.wanted, self.ask))

    async def answer(self, name: str, answered: bool) -> None:
        """Give an answer, and let what follows happen."""
        self.answers[name].set_result(answered)
        await settle()


async def settle() -> None:
    """Let everything happen that waits for nothing."""
    for _ in range(10):
        await asyncio.sleep(0)


def names(count: int, namespace: str) -> list[tuple[str, str]]:
    """So many names of a namespace."""
    return [(f"{namespace}-{number}", namespace) for number in range(count)]


def test_a_free_hand_takes_the_next_question_at_once() -> None:
    """While all others are still under way."""

    async def play() -> None:
        asker = Asker(*names(TOGETHER + 2, "a"))
        run = asker.start()
        await settle()
        assert len(asker.begun) == TOGETHER
        await asker.answer("a-3", True)
        assert asker.begun[TOGETHER:] == [f"a-{TOGETHER}"]
        run.cancel()

    asyncio.run(play())


def test_questions_under_way_are_turns_of_their_namespace() -> None:
    """All hands are busy for one namespace: the next free one asks for another that came later."""

    async def play() -> None:
        asker = Asker(*names(3 * TOGETHER, "a"))
        run = asker.start()
        await settle()
        asker.wanted += names(1, "b")
        await asyncio.sleep(2 * LOOK_SECONDS)
        await asker.answer("a-0", True)
        assert asker.begun[TOGETHER] == "b-0"
        run.cancel()

    asyncio.run(play())


def test_what_nobody_answered_comes_after_what_was_never_asked() -> None:
    """And takes a part of the hands only."""

    async def play() -> None:
        asker = Asker(*names(TOGETHER, "a"))
        run = asker.start()
        await settle()
        for name in list(asker.begun):
            await asker.answer(name, False)
        await run
        asker.now, asker.begun = 100.0, []
        asker.wanted += [("new-0", "a"), ("new-1", "a")]
        run = asker.start()
        await settle()
        assert asker.begun[:2] == ["new-0", "new-1"]
        assert len(asker.begun) == 2 + REPEATED
        run.cancel()

    asyncio.run(play())


def test_many_that_are_answered_at_once_are_looked_at_once() -> None:
    """At start-up the owners of all pods are due: to look at all of them after each eight would cost seconds."""
    due, looks = names(20 * TOGETHER, "a"), list[int]()

    def wanted() -> list[tuple[str, str]]:
        looks.append(len(due))
        return list(due)

    async def ask(name: str) -> bool:
        due.remove((name, "a"))
        return True

    asyncio.run(Questions[str]().run(wanted, ask))
    assert not due
    assert len(looks) == 2


def test_what_nobody_answered_does_not_wait_for_all_that_another_namespace_never_asked() -> None:
    """That may be a thousand questions of which none is answered."""

    async def play() -> None:
        asker = Asker(("a-0", "a"))
        run = asker.start()
        await settle()
        await asker.answer("a-0", False)
        await run
        asker.now, asker.begun = 100.0, []
        asker.wanted += names(100, "b")
        run = asker.start()
        await settle()
        assert "a-0" in asker.begun
        run.cancel()

    asyncio.run(play())


@pytest.mark.parametrize("fails", [True, False], ids=["an answer that cannot be used", "whoever asks is cancelled"])
def test_no_question_outlives_whoever_asks(fails: bool) -> None:
    """Its task ends with it."""

    async def play() -> None:
        asker = Asker(*names(TOGETHER, "a"))
        run = asker.start()
        await settle()
        if fails:
            asker.answers["a-0"].set_exception(ValueError("broken"))
        else:
            run.cancel()
        with pytest.raises((ValueError, asyncio.CancelledError)):
            await run
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(play())
