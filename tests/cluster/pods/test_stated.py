"""What tenants write is read within bounds, and what is left out is told."""

import gc
import time
from typing import Any

import msgspec
import pytest

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods import metadata, nodeterms, requests
from slackwater_cluster.watch import trim


def read(
    annotations: dict[str, str] | None = None, owners: list[dict[str, Any]] | None = None, **spec: Any
) -> PodRecord:
    """A pod as the watch delivers it."""
    meta = {"name": "p", "namespace": "team", "uid": "u", "annotations": annotations, "ownerReferences": owners}
    return trim.pod(msgspec.convert({"metadata": meta, "spec": spec}, wire.Pod))


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


def affinity(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    """A node affinity of some terms."""
    listed = [{"matchExpressions": each} for each in terms]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": listed}}}


def test_a_node_affinity_of_too_many_terms_is_read_in_part() -> None:
    """One of them has to hold, so fewer of them accept fewer nodes; what each term requires stays whole."""
    asked = {"key": "zone", "operator": "In", "values": ["a"]}
    pod = read(affinity=affinity(*[[asked, asked]] * 10_000))
    assert pod.constraints.terms is not None
    assert [len(term) for term in pod.constraints.terms] == [2] * (nodeterms.MOST_REQUIREMENTS // 2)
    assert pod.problems == ("a node affinity of 10000 terms; only the first 128 are read",)


def test_a_term_that_is_too_long_accepts_no_node() -> None:
    """Nothing that it requires may be left out."""
    hosts = [f"host-{number}" for number in range(nodeterms.MOST_VALUES + 1)]
    pod = read(affinity=affinity([{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": hosts}]))
    assert pod.constraints.terms == ()
    assert "only the first 0 are read" in pod.problems[0]


def test_a_node_selector_that_is_too_long_accepts_no_node() -> None:
    """Each of its labels is required."""
    many = {f"label-{number}": "x" for number in range(nodeterms.MOST_LABELS + 1)}
    pod = read(nodeSelector=many)
    assert (pod.constraints.selector, pod.constraints.terms) == ((), ())
    assert "a node selector of more than 256 labels" in pod.problems[0]


def test_only_so_many_tolerations_are_read() -> None:
    """Each lets a pod onto more nodes, so that fewer of them let it onto fewer."""
    pod = read(tolerations=[{"key": f"taint-{number}", "operator": "Exists"} for number in range(5000)])
    assert len(pod.constraints.tolerations) == nodeterms.MOST_TOLERATIONS
    assert pod.problems == ("5000 tolerations; only the first 256 are read",)


def test_a_long_list_of_hosts_is_read_whole() -> None:
    """As batch systems write that choose among thousands of nodes."""
    hosts = [f"host-{number}" for number in range(5000)]
    pod = read(affinity=affinity([{"key": "kubernetes.io/hostname", "operator": "In", "values": hosts}]))
    assert pod.constraints.terms is not None
    assert len(pod.constraints.terms[0][0].values) == 5000
    assert pod.problems == ()


def made_up(number: int, kinds: int = 10_000) -> PodRecord:
    """A pod that asks for kinds of resources which nobody else ever asked for."""
    asked = {"cpu": "1", "memory": "1Gi", **{f"p{number}.io/{kind:05d}": "1" for kind in range(kinds)}}
    return read(containers=[{"name": "c", "resources": {"requests": asked}}])


def test_a_pod_counts_with_a_few_kinds_of_resources() -> None:
    """Cpu, memory and the first others by name; its owner is told."""
    pod = made_up(0)
    assert set(pod.native) == {"cpu", "memory", *(f"p0.io/{kind:05d}" for kind in range(requests.MOST_KINDS))}
    assert pod.problems == (
        "9984 kinds of resources that it requests; only cpu, memory, what nodes offer and 16 more count",
    )
    assert (len(made_up(0, 16).native), made_up(0, 16).problems) == (18, ())


def test_requests_of_pods_that_are_gone_are_not_remembered() -> None:
    """Of pods of 10,000 kinds each, one after the other, nothing large stays behind."""
    for number in range(3):
        made_up(number)
    assert not [each for each in gc.get_objects() if isinstance(each, Resources) and len(each) > 1000]


def test_a_pod_of_many_containers_and_kinds_is_read_in_time() -> None:
    """All kinds were looked at again for each container: one pod of 4,000 held up everybody's watch for 27 s."""
    asked = [{"cpu": "1m", f"p.io/{number:05d}": "1"} for number in range(2000)]
    began = time.process_time()
    pod = read(
        containers=[{"name": f"c{number}", "resources": {"requests": each}} for number, each in enumerate(asked)]
    )
    assert time.process_time() - began < 2
    assert pod.native["cpu"] == pytest.approx(2.0)
    assert set(pod.native) == {"cpu", *(f"p.io/{number:05d}" for number in range(requests.MOST_KINDS))}
    assert pod.problems == (
        "1984 kinds of resources that it requests; only cpu, memory, what nodes offer and 16 more count",
    )
