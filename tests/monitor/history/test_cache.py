"""Answers on disk belong to one server, one cluster, one tenant and one user or token."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from slackwater.errors import InvalidInput
from slackwater_cluster.api.credentials import Credentials
from slackwater_cluster.prometheus.client import Prometheus
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_monitor.history import fetch
from slackwater_monitor.history.cache import Cache

URL = "http://mimir:8080/prometheus"


def asked(tenant: str = "", username: str = "", url: str = URL) -> QueryConnection:
    """A connection as somebody."""
    return QueryConnection(url, credentials=Credentials(username=username), tenant=tenant)


def test_every_tenant_and_user_has_a_folder_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One address gives each of them other answers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    askers = [asked(), asked("a"), asked("b"), asked(username="a"), asked("a", "a"), asked(url="http://other:9090")]
    assert len({Cache.of(each, None).folder for each in askers}) == len(askers)
    assert Cache.of(asked("a", url=f"{URL}/"), None).folder == Cache.of(asked("a"), None).folder


def test_every_cluster_of_one_server_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As its matchers name it; a given folder is refused to another one. In which order they come is the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    prod, test = (QueryConnection(URL, matchers={"cluster": name, "zone": "a"}) for name in ("prod", "test"))
    assert len({Cache.of(each, None).folder for each in (asked(), prod, test)}) == 3
    turned = QueryConnection(URL, matchers={"zone": "a", "cluster": "prod"})
    assert Cache.of(turned, None).folder == Cache.of(prod, None).folder
    Cache.of(prod, tmp_path / "given")
    with pytest.raises(InvalidInput, match="series with 'cluster=prod,zone=a', not for series with 'cluster=test"):
        Cache.of(test, tmp_path / "given")


def test_a_folder_goes_on_serving_its_tenant(tmp_path: Path) -> None:
    """At another address, too: a forwarded port is a new one each time."""
    for url in (URL, URL, "http://localhost:9090"):
        assert Cache.of(asked("a", "me", url), tmp_path).folder == tmp_path


@pytest.mark.parametrize("other", [asked("b", "me"), asked("a"), asked(username="me"), asked()])
def test_a_folder_of_another_tenant_is_refused(other: QueryConnection, tmp_path: Path) -> None:
    """In a sentence that names both."""
    Cache.of(asked("a", "me"), tmp_path)
    with pytest.raises(InvalidInput, match=r"--cache.*tenant 'a' and user 'me', not for .*another folder"):
        Cache.of(other, tmp_path)


def test_a_folder_of_an_earlier_version_serves_whoever_names_no_tenant(tmp_path: Path) -> None:
    """It does not say whose answers it holds."""
    (tmp_path / "memory-60-0-60-0.npz").touch()
    with pytest.raises(InvalidInput, match="no tenant and no user, not for tenant 'a'"):
        Cache.of(asked("a"), tmp_path)
    Cache.of(asked(), tmp_path)


def test_two_tokens_have_a_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a proxy shows to one of them is not for the other. The token itself is nowhere in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    connections = []
    for token in ("secret-one", "secret-two"):
        (tmp_path / token).write_text(token, encoding="utf-8")
        connections.append(QueryConnection(URL, credentials=Credentials(tmp_path / token)))
    caches = [Cache.of(each, None) for each in (*connections, asked())]
    assert len({each.folder for each in caches}) == 3
    assert "secret" not in (caches[0].folder / "asker.json").read_text(encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"--cache.*token [0-9a-f]{12}, not for token [0-9a-f]{12}.*another folder"):
        Cache.of(connections[1], caches[0].folder)


@pytest.mark.parametrize("text", ["", "[]", "[1]", '{"who": 1}', "\x00"])
def test_a_folder_whose_owner_cannot_be_read_is_refused(text: str, tmp_path: Path) -> None:
    """Rather than guessed."""
    (tmp_path / "asker.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"asker\.json"):
        Cache.of(asked(), tmp_path)


def test_two_clusters_behind_one_address_have_a_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Port 9090 is forwarded to one today and to the other tomorrow."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    clusters = ("2024-01-01T00:00:00+00:00", "2025-01-01T00:00:00+00:00", "")
    assert len({Cache.of(asked(), None, each).folder for each in clusters}) == len(clusters)


def test_a_folder_of_another_cluster_is_refused(tmp_path: Path) -> None:
    """A folder of an earlier version belongs to the first cluster that comes; one that tells no age may be any."""
    for cluster in ("", "2024-01-01T00:00:00+00:00", "", "2024-01-01T00:00:00+00:00"):
        Cache.of(asked(), tmp_path, cluster)
    with pytest.raises(
        InvalidInput, match=r"--cache.*cluster made at 2024-.*, not for .*made at 2025-.*another folder"
    ):
        Cache.of(asked(), tmp_path, "2025-01-01T00:00:00+00:00")


@pytest.mark.parametrize(
    ("value", "cluster"), [("1704067200", "2024-01-01T00:00:00+00:00"), (None, ""), ("NaN", ""), ("1e20", "")]
)
def test_a_cluster_is_known_by_the_age_of_its_oldest_namespace(value: str | None, cluster: str) -> None:
    """As kube-state-metrics tells it; where it does not, or tells nonsense, the cluster is not known."""
    result = [] if value is None else [{"metric": {}, "value": [0, value]}]
    answer = httpx2.Response(200, json={"status": "success", "data": {"result": result}})
    server = Prometheus(asked(), transport=httpx2.MockTransport(lambda _: answer))
    assert fetch.cluster(server, 2e9) == cluster
