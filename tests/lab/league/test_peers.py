"""How each scheduler is told about jobs, and how its programs are put together; without a lab."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from slackwater.errors import Unavailable
from slackwater_lab.live.drivers import Ask
from slackwater_lab.live.play import Create
from slackwater_lab.live.pods import Stage
from slackwater_lab.live.workload import Part, Play, Size
from slackwater_lab.peers import kueue, sources
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
    """It comes last, with the same specification; schedulers differ in labels, annotations and what comes before."""
    creates = peer(name).creates(ask, STAGE)
    plain = peer("stock").creates(ask, STAGE)[-1]
    assert creates[-1][0] == plain[0]
    assert creates[-1][1]["spec"] == plain[1]["spec"]
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


def test_a_change_of_source_that_no_longer_fits_is_told(tmp_path: Path) -> None:
    """Another version may have the line elsewhere, or twice."""
    file = tmp_path / "main.go"
    file.write_text('path := "/etc/x"\n')
    sources.edit(file, '"/etc/x"', '"/tmp/x"')
    assert file.read_text() == 'path := "/tmp/x"\n'
    with pytest.raises(Unavailable, match=r"main\.go"):
        sources.edit(file, '"/etc/x"', '"/tmp/x"')
