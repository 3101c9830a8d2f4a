"""Many names at once are found where one by one would find them."""

from __future__ import annotations

import json
from string import ascii_lowercase, digits

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater_extender.scheduling.evaluate import Scores
from slackwater_extender.scheduling.nodenames import NodeNameList, RowFinder, hashes, lot
from slackwater_extender.scheduling.wire import Priorities, filtered, prioritised, read
from support.builders import objects

# By alphabet, not by pattern: the same names at a tenth of the time.
NAMES = st.lists(st.text(f"{ascii_lowercase}{digits}.-", max_size=40), min_size=60, max_size=90)
STYLES = {"go": (",", ":"), "python": (", ", ": ")}


def written(names: list[str], style: str) -> bytes:
    return json.dumps(names, separators=STYLES[style]).encode()


@given(NAMES, st.sampled_from(sorted(STYLES)))
def test_rows_are_those_of_the_index(names: list[str], style: str) -> None:
    """Known and unknown, doubled, empty and of any length, in any order."""
    known = tuple(dict.fromkeys(names[::2]))
    index = {name: row for row, name in enumerate(known)}
    asked = lot(written(names, style))
    if asked is None:  # too short to be worth it
        assert len(written(names, style)) < 400
        return
    assert list(asked) == names
    assert asked[3:5] == names[3:5]
    finder = RowFinder()
    for _ in range(2):
        assert finder.rows(asked, known, index).tolist() == [index.get(name, -1) for name in names]
    assert finder.rows(asked, (), {}).tolist() == [-1] * len(names)


def test_names_that_share_a_place_are_found() -> None:
    """70,000 names in 2^16 places: most share theirs with another; each is still told apart."""
    known = tuple(f"node-{number:05d}.pool.example" for number in range(70_000))
    index = {name: row for row, name in enumerate(known)}
    asked = lot(written(list(known), "go"))
    assert asked is not None
    assert RowFinder().rows(asked, known, index).tolist() == list(range(len(known)))
    assert len(set(hashes(asked.text, asked.begins, asked.ends).tolist())) == len(known)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(["n"] * 10).encode(), id="short"),
        pytest.param(json.dumps([f"n{i}" for i in range(200)], separators=(" ,", ":")).encode(), id="other-spaces"),
        pytest.param(json.dumps([*[f"n{i}" for i in range(200)], 7]).encode(), id="a-number-at-the-end"),
        pytest.param(json.dumps([*["n"] * 99, 7, *["n"] * 99]).encode(), id="a-number-inside"),
        pytest.param(json.dumps([*["n"] * 99, ["x"], *["n"] * 99]).encode(), id="a-list-inside"),
        pytest.param(json.dumps([*["n"] * 99, 'a"b', *["n"] * 99]).encode(), id="an-escape"),
        pytest.param(json.dumps([*["n"] * 199, "ñ"], ensure_ascii=False).encode(), id="not-ascii"),
        pytest.param(json.dumps({"n" * 500: "n"}).encode(), id="an-object"),
        pytest.param(b"null", id="null"),
    ],
)
def test_anything_odd_is_read_as_any_json(text: bytes) -> None:
    """No lot is made of it, so that the usual decoder says what is right and what is wrong."""
    assert lot(text) is None


@pytest.mark.parametrize("style", STYLES)
def test_what_passes_untouched_goes_back_as_it_came(style: str) -> None:
    """The very bytes of the names."""
    names = [f"node-{number}" for number in range(100)]
    body = b'{"Pod":%s,"Nodes":null,"NodeNames":%s}' % (json.dumps(objects.pod()).encode(), written(names, style))
    question = read(body)
    assert isinstance(question.names, NodeNameList)
    answer = filtered(question, question.names, {}, {})
    assert msgspec.json.decode(answer)["NodeNames"] == names
    assert written(names, style) in answer


@given(st.data(), st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=9, unique=True).map(tuple))
def test_scores_from_pieces_are_those_written_one_by_one(data: st.DataObject, names: tuple[str, ...]) -> None:
    """Names of any length, some rows in any order, one digit or two: the same list as the encoder writes."""
    rows = data.draw(st.lists(st.sampled_from(range(len(names)))))
    points = data.draw(st.lists(st.integers(0, 10), min_size=len(rows), max_size=len(rows)))
    asked = [names[row] for row in rows]
    made = Priorities().written(Scores(asked, np.array(points, np.int16), np.array(rows, np.intp), names))
    assert msgspec.json.decode(made) == msgspec.json.decode(prioritised([names[row] for row in rows], points))
    assert b"\0" not in made
