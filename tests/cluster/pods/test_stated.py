"""What tenants write is read within bounds, and what is left out is told."""

from typing import Any

import msgspec
import pytest

from slackwater_cluster import names
from slackwater_cluster.objects import wire
from slackwater_cluster.pods import metadata
from slackwater_cluster.watch import trim


def read(annotations: dict[str, str] | None = None, owners: list[dict[str, Any]] | None = None) -> Any:
    """A pod as the watch delivers it."""
    meta = {"name": "p", "namespace": "team", "uid": "u", "annotations": annotations, "ownerReferences": owners}
    return trim.pod(msgspec.convert({"metadata": meta}, wire.Pod))


def owner(**changed: Any) -> dict[str, Any]:
    """A reference to a Job."""
    return {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": True, **changed}


def test_ordinary_statements_are_kept_without_a_word() -> None:
    """Annotations of ours and of frameworks, and the Job above."""
    found = read({names.TASKS: "4", "other.io/x": "y" * 5000}, [owner()])
    assert found.annotations == {names.TASKS: "4"}
    assert [each.name for each in found.owners] == ["j"]
    assert found.problems == ()


@pytest.mark.parametrize(
    "bad",
    [
        {"apiVersion": "./v1"},
        {"apiVersion": "../v1"},
        {"apiVersion": "a b/v1"},
        {"apiVersion": "batch/"},
        {"apiVersion": "v1", "name": "../../../pods?watch=true"},
        {"name": ".."},
        {"name": "a/b"},
        {"name": ""},
        {"name": "x" * 254},
        {"kind": "../Foo"},
        {"kind": ""},
        {"uid": ""},
        {"uid": "u" * 129},
    ],
    ids=lambda bad: ",".join(f"{key}={value[:20]}" for key, value in bad.items()),
)
def test_an_owner_that_cannot_exist_is_left_out(bad: dict[str, Any]) -> None:
    """The pod counts without it, and its owner is told."""
    found = read(owners=[owner(**bad), owner()])
    assert [each.name for each in found.owners] == ["j"]
    assert "names nothing that can exist" in found.problems[0]


def test_long_unprintable_and_too_many_annotations_are_left_out() -> None:
    """Each with a sentence that says which; the readable ones stay."""
    found = read({names.APP: "victim\n", names.STAGE: "s" * 1025, names.TASKS: "3"})
    assert found.annotations == {names.TASKS: "3"}
    assert [problem.split(";")[0] for problem in found.problems] == [
        f"{names.APP} has characters that cannot be printed",
        f"{names.STAGE} is 1025 characters long",
    ]
    many = read({**{f"volcano.sh/{n}": "x" for n in range(500)}, names.TASKS: "3"})
    assert len(many.annotations) == metadata.MOST_ANNOTATIONS
    assert many.annotations[names.TASKS] == "3"


def test_no_number_of_annotations_pushes_out_what_we_wrote() -> None:
    """A hundred under our own prefix, which sort first, hide neither what was sealed, nor a mark, nor a statement."""
    ours = dict.fromkeys((*names.SEALED, names.PARKED, names.REASON, names.OUTPUT), "x")
    crowd = {f"{prefix}a{n:03}": "x" for prefix in (names.PREFIX, "volcano.sh/") for n in range(100)}
    found = read(dict(sorted({**crowd, **ours}.items())))
    assert found.parked
    assert found.annotations.items() >= ours.items()
    assert len(found.annotations) == metadata.MOST_ANNOTATIONS + len(ours) - 1  # the statement is one of the 64


def test_what_nobody_reads_is_not_kept() -> None:
    """An annotation under our prefix that has no meaning."""
    found = read({f"{names.PREFIX}typo": "x", f"{names.PREFIX}long": "x" * 5000, names.GANG: "true"})
    assert (found.annotations, found.problems) == ({names.GANG: "true"}, ())


def test_many_owner_references_are_cut() -> None:
    """The first sixteen are read."""
    found = read(owners=[owner(uid=str(n)) for n in range(40)])
    assert len(found.owners) == metadata.MOST_OWNERS
    assert "40 owner references" in found.problems[0]


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("000000007", 7), ("", None), ("1" * 10, None), ("1" * 4301, None), ("-1", None), ("٣", None)],
)
def test_counts_have_at_most_nine_digits(text: str, number: int | None) -> None:
    """4,301 digits made int() raise, and the operator exit."""
    assert metadata.count(text) == number


def test_parents_are_cut() -> None:
    """By number and by length."""
    assert metadata.parents(" a, b ,,c") == ("a", "b", "c")
    assert len(metadata.parents(",".join(str(n) for n in range(5000)))) == metadata.MOST_PARENTS
    assert metadata.parents("x" * 300) == ()
