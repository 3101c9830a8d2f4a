"""How each scheduler is told about jobs, and how its programs are put together; without a lab."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from slackwater.errors import Unavailable
from slackwater_lab.league.workloads import URGENT
from slackwater_lab.live.drivers import Ask
from slackwater_lab.live.play import Create
from slackwater_lab.live.pods import Stage
from slackwater_lab.live.workload import Part, Play, Size
from slackwater_lab.peers import kueue, loadwatcher, sources, volcano
from slackwater_lab.peers.catalogue import PEERS, peer

SIZE = Size(1.0, 2.0**30, 0.4, 2.0**28)
MAPS = Part("map", SIZE, (5.0, 5.0, 5.0))
DRIVEN = Play("etl", 0.0, (MAPS,), driver=SIZE)
GANG = Play("mpi", 0.0, (MAPS,), gang=True)
STAGE = Stage("league", "league", "some-scheduler")


def _driver(play: Play) -> Ask:
    return Ask(f"{play.id}-driver", play)


def _task(play: Play, number: int = 0) -> Ask:
    return Ask(f"{play.id}-map-{number}", play, MAPS, 5.0)


def _pod(creates: Sequence[Create]) -> Mapping[str, Any]:
    meta: Mapping[str, Any] = creates[-1][1]["metadata"]
    return meta


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("ask", [_driver(DRIVEN), _task(DRIVEN), _task(GANG), _task(GANG, 1)], ids=lambda ask: ask.name)
def test_the_pod_itself_is_the_same_for_all(name: str, ask: Ask) -> None:
    """It comes last; schedulers differ in labels, annotations, the group that is named, and what comes before."""
    creates = peer(name).creates(ask, STAGE)
    plain = peer("stock").creates(ask, STAGE)[-1]
    assert creates[-1][0] == plain[0]
    assert {key: value for key, value in creates[-1][1]["spec"].items() if key != "schedulingGroup"} == plain[1]["spec"]
    assert _pod(creates)["annotations"].items() >= plain[1]["metadata"]["annotations"].items()
    assert _pod(creates)["labels"].items() >= plain[1]["metadata"]["labels"].items()


def test_kueue_is_told_a_queue_and_in_groups_the_number_of_pods() -> None:
    """Driver and tasks together; a gang has no driver."""
    assert _pod(peer("kueue").creates(_task(DRIVEN), STAGE))["labels"]["kueue.x-k8s.io/queue-name"] == "league"
    for play, count in ((DRIVEN, "4"), (GANG, "3")):
        meta = _pod(peer("kueue-groups").creates(_task(play), STAGE))
        assert meta["labels"]["kueue.x-k8s.io/pod-group-name"] == play.id
        assert meta["annotations"]["kueue.x-k8s.io/pod-group-total-count"] == count


def test_kueues_webhooks_are_called_on_this_machine_and_others_left_out() -> None:
    """Only those for what the league has."""
    hook = {"clientConfig": {"service": {"path": "/mutate"}}, "rules": [{"resources": ["pods"]}]}
    other = {**hook, "rules": [{"resources": ["rayjobs"]}]}
    written = yaml.safe_dump({"kind": "X", "metadata": {"name": "hooks"}, "webhooks": [hook, other]})
    (body,) = kueue.webhooks(written, "https://127.0.0.1:1", "abc")
    assert body["metadata"]["name"] == "kueue-hooks"
    expected = {"url": "https://127.0.0.1:1/mutate", "caBundle": "abc"}
    assert [each["clientConfig"] for each in body["webhooks"]] == [expected]


def test_volcano_gets_a_group_with_a_jobs_first_pod() -> None:
    """The resources of all for a job with a driver; all members for a gang; none stated where it must not wait."""
    chosen = peer("volcano")
    assert [len(chosen.creates(ask, STAGE)) for ask in (_driver(DRIVEN), _task(DRIVEN))] == [2, 1]
    assert [len(chosen.creates(ask, STAGE)) for ask in (_task(GANG), _task(GANG, 1))] == [2, 1]
    whole = volcano.pod_group(DRIVEN)["spec"]
    assert (whole["minMember"], whole["minResources"]["cpu"]) == (1, "4")
    assert volcano.pod_group(GANG)["spec"]["minMember"] == 3
    assert "minResources" not in volcano.pod_group(Play("now", 0.0, (MAPS,), driver=SIZE, priority=URGENT))["spec"]


def test_yunikorns_gangs_name_their_groups_on_the_first_pod() -> None:
    """Driver and tasks; later pods only say which group they are of."""
    first, later = (_pod(peer("yunikorn-gang").creates(ask, STAGE)) for ask in (_driver(DRIVEN), _task(DRIVEN)))
    groups = json.loads(first["annotations"]["yunikorn.apache.org/task-groups"])
    assert [(group["name"], group["minMember"]) for group in groups] == [("driver", 1), ("map", 3)]
    assert "yunikorn.apache.org/task-groups" not in later["annotations"]
    assert later["annotations"]["yunikorn.apache.org/task-group-name"] == "map"
    assert later["labels"]["applicationId"] == "etl"


def test_coscheduling_groups_gangs_alone() -> None:
    """A job whose driver asks for tasks cannot start all at once."""
    chosen = peer("coscheduling")
    assert [len(chosen.creates(ask, STAGE)) for ask in (_driver(DRIVEN), _task(GANG), _task(GANG, 1))] == [1, 2, 1]


def test_the_load_watcher_tells_every_value_of_a_node() -> None:
    """In the shape that Trimaran reads."""
    told = loadwatcher.answer({("CPU", "AVG"): {"a": 40.0}, ("CPU", "STD"): {"a": 5.0}}, 100)
    metrics = told["data"]["NodeMetricsMap"]["a"]["metrics"]
    assert [(each["type"], each["operator"], each["value"]) for each in metrics] == [
        ("CPU", "AVG", 40.0),
        ("CPU", "STD", 5.0),
    ]
    assert told["window"] == {"duration": "10s", "start": 90, "end": 100}


def test_the_schedulers_own_gangs_have_a_group_that_each_member_names() -> None:
    """Made with the first member; pods of other jobs name none."""
    chosen = peer("stock-gang")
    (path, group), (_, first) = chosen.creates(_task(GANG), STAGE)
    ((_, second),) = chosen.creates(_task(GANG, 1), STAGE)
    ((_, other),) = chosen.creates(_task(DRIVEN), STAGE)
    assert path == "/apis/scheduling.k8s.io/v1alpha2/namespaces/league/podgroups"
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}
    assert first["spec"]["schedulingGroup"] == second["spec"]["schedulingGroup"] == {"podGroupName": "mpi"}
    assert "schedulingGroup" not in other["spec"]


def test_a_change_of_source_that_no_longer_fits_is_told(tmp_path: Path) -> None:
    """Another version may have the line elsewhere, or twice."""
    file = tmp_path / "main.go"
    file.write_text('path := "/etc/x"\n')
    sources.edit(file, '"/etc/x"', '"/tmp/x"')
    assert file.read_text() == 'path := "/tmp/x"\n'
    with pytest.raises(Unavailable, match=r"main\.go"):
        sources.edit(file, '"/etc/x"', '"/tmp/x"')
