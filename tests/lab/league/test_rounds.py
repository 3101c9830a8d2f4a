"""Turns of the league: who plays when, and what is not played again."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from slackwater.errors import UnknownName
from slackwater_lab.league.costs import Taken, cpu_seconds, peak_mebibytes, session
from slackwater_lab.league.rounds import RESULTS, missing, results, turns
from slackwater_lab.peers.catalogue import PEERS, peer


def test_schedulers_take_turns_and_rounds_differ_in_seed_and_order() -> None:
    """Within a round all have the same seed; nobody is always first."""
    wanted = turns(2, ["slack"], ["stock", "slackwater"], 1.0, 7)
    assert [(turn.round, turn.scheduler, turn.seed) for turn in wanted] == [
        (1, "stock", 7),
        (1, "slackwater", 7),
        (2, "slackwater", 8),
        (2, "stock", 8),
    ]


def test_what_was_played_is_not_played_again(tmp_path: Path) -> None:
    """A line that was cut off by the end of the program counts as not played; another size is another play."""
    wanted = turns(1, ["slack", "gang"], ["stock"], 1.0, 1)
    line = json.dumps({"turn": asdict(wanted[0]), "figures": {}})
    (tmp_path / RESULTS).write_text(line + "\n" + line[:20])
    assert missing(wanted, results(tmp_path)) == wanted[1:]
    assert missing(turns(1, ["slack"], ["stock"], 0.5, 1), results(tmp_path)) != []
    assert results(tmp_path / "nowhere") == []


def test_every_scheduler_says_how_it_is_set_up() -> None:
    """For the page: a docstring of its own, what it is told, and a version."""
    assert all(each.about and each.told and each.version for each in PEERS.values())
    assert len({each.about for each in PEERS.values()}) >= 2
    with pytest.raises(UnknownName, match="stock"):
        peer("stok")


def test_cpu_time_and_memory_are_those_of_the_process() -> None:
    """Ours, as the system counts them; a process that is gone took nothing."""
    before = cpu_seconds(os.getpid())
    while sum(os.times()[:4]) < before + 0.05:
        sum(range(1000))
    assert cpu_seconds(os.getpid()) >= before + 0.03
    assert peak_mebibytes(os.getpid()) > 10
    assert session(os.getpid()) == os.getsid(0)
    assert cpu_seconds(2**22 + 1) == peak_mebibytes(2**22 + 1) == 0.0


def test_a_process_that_began_in_between_began_at_nothing() -> None:
    """All of its time belongs to the play."""
    assert Taken({"a": 3.0, "b": 2.0}, {}).since(Taken({"a": 1.0}, {})) == {"a": 2.0, "b": 2.0}
