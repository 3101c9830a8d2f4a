"""Certificates of mode helm are kept by an upgrade, and made anew when anything they are made from is different.

helm finds the Secrets of the release before by asking the API server; here one of a few answers stands for it.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml

from support.fakes.httpcluster import Cluster, served
from support.lab.chart import CHART, NAMESPACE, Object, call, named, objects, pod_specs

NEWEST = "1.37.0"
ENFORCED = "--set=admission.mutating=webhook,policy.spec.mode=enforce"
SECRETS = ("slackwater-extender-tls", "slackwater-scheduler-tls", "slackwater-webhook-tls")
OWNED = {"meta.helm.sh/release-name": "slackwater", "meta.helm.sh/release-namespace": NAMESPACE}
MARK = "slackwater.io/tls-renewal"
P256 = bytes.fromhex("06082a8648ce3d030107")  # how a certificate names the curve of its key
# What upgrades differ in, each alone, and which of the certificates' names follows.
DIFFERENCES = ("tls.renew=again", "tls.clientName=x", "clusterDomain=cluster.example")
# The same Secrets with another content.
ELSEWHERE = {
    "days": "tls.days=30",
    "cert-manager": "tls.mode=certManager",
    "another issuer": "tls.mode=certManager,tls.certManager.issuerRef.name=house",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """An API server that knows the kinds of the chart and has the Secrets of an install."""
    first = objects(NEWEST, ENFORCED)
    with served(Cluster()) as made:
        made.answers["/version"] = {"gitVersion": f"v{NEWEST}", "major": "1", "minor": "37"}
        made.answers["/api"] = {"kind": "APIVersions", "versions": ["v1"]}
        versions = sorted({each["apiVersion"] for each in first})
        made.answers["/apis"] = {
            "kind": "APIGroupList",
            "groups": [group(version) for version in versions if "/" in version],
        }
        for version in versions:
            kinds = sorted({each["kind"] for each in first if each["apiVersion"] == version})
            resources = [{"name": plural(kind), "kind": kind, "namespaced": True, "verbs": ["get"]} for kind in kinds]
            path = f"/apis/{version}" if "/" in version else f"/api/{version}"
            made.answers[path] = {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
        install(made, first)
        made.kubeconfig(tmp_path)
        yield made


def group(version: str) -> Object:
    """A group of kinds as an API server names it."""
    name = {"groupVersion": version, "version": version.partition("/")[2]}
    return {"name": version.partition("/")[0], "versions": [name], "preferredVersion": name}


def plural(kind: str) -> str:
    """As paths name a kind."""
    return kind.lower().removesuffix("y") + ("ies" if kind.endswith("y") else "s")


def install(cluster: Cluster, rendered: list[Object]) -> None:
    """Keep the Secrets of a release, with what helm writes on its own."""
    for name in SECRETS:
        secret = named(rendered, "Secret", name)
        secret["metadata"]["annotations"] |= OWNED
        cluster.answers[f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}"] = secret


def kept(cluster: Cluster) -> dict[str, Object]:
    """The Secrets that are there."""
    return {name: cluster.answers[f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}"] for name in SECRETS}  # type: ignore[misc] # bodies


def upgraded(folder: Path, *values: str) -> list[Object]:
    """What an upgrade with these values would write."""
    options = (
        f"--namespace={NAMESPACE}",
        "--dry-run=server",
        "--disable-openapi-validation",
        f"--kubeconfig={folder / 'kubeconfig'}",
        ENFORCED,
    )
    done = call("template", "slackwater", str(CHART), *options, *(f"--set={each}" for each in values))
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]


def data(rendered: list[Object]) -> dict[str, Object]:
    """Certificates and keys."""
    return {name: named(rendered, "Secret", name)["data"] for name in SECRETS}


def alternatives(secret: Object, folder: Path) -> set[str]:
    """The names for which a certificate of a Secret is good."""
    path = folder / "tls.crt"
    path.write_bytes(base64.b64decode(secret["tls.crt"]))
    found = ssl._ssl._test_decode_cert(str(path))  # type: ignore[attr-defined] # the one reader that Python has
    return {name for kind, name in found["subjectAltName"] if kind == "DNS"}


def test_keys_are_small_and_quickly_made(tmp_path: Path) -> None:
    """P-256, as the chart asks of cert-manager: five RSA keys took longer than all of the rest of a rendering."""
    authority, certificate, key = (tmp_path / name for name in ("ca.crt", "tls.crt", "tls.key"))
    for secret in data(objects(NEWEST, ENFORCED)).values():
        for path in (authority, certificate, key):
            path.write_bytes(base64.b64decode(secret[path.name]))
        assert P256 in ssl.PEM_cert_to_DER_cert(certificate.read_text())
        assert P256 in ssl.PEM_cert_to_DER_cert(authority.read_text())
        assert key.read_text().startswith("-----BEGIN EC PRIVATE KEY-----")
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)  # refuses what is no pair


def test_an_upgrade_that_changes_nothing_keeps_them(cluster: Cluster, tmp_path: Path) -> None:
    """And restarts nobody for their sake."""
    found = upgraded(tmp_path)
    assert data(found) == {name: each["data"] for name, each in kept(cluster).items()}
    assert marks(found) == marks(objects(NEWEST, ENFORCED))


def marks(rendered: list[Object]) -> dict[str, str]:
    """By what the pods of each program notice new certificates."""
    templates = {
        each["metadata"]["name"]: each["spec"]["template"]["metadata"].get("annotations", {})
        for each in rendered
        if each["kind"] == "Deployment"
    }
    return {name: notes[MARK] for name, notes in templates.items() if MARK in notes}


def test_whoever_signs_them_and_for_how_long_their_pods_restart_with_others() -> None:
    """Programs read them at their start; the names of the Secrets alone would restart nobody."""
    every = [
        marks(objects(NEWEST, ENFORCED, *(f"--set={value}" for value in more)))
        for more in ((), *zip(ELSEWHERE.values()))
    ]
    for name in every[0]:
        assert len({found[name] for found in every}) == len(every), name


def test_an_issuer_that_is_not_asked_restarts_nobody() -> None:
    """In mode helm nobody asks cert-manager, and there its days are its own."""
    one, other = ("tls.certManager.issuerRef.name=house", "tls.mode=certManager,tls.days=30")
    assert marks(objects(NEWEST, ENFORCED, f"--set={one}")) == marks(objects(NEWEST, ENFORCED))
    assert marks(objects(NEWEST, ENFORCED, f"--set={other}")) == marks(
        objects(NEWEST, ENFORCED, "--set=tls.mode=certManager")
    )


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("value", [*DIFFERENCES, ELSEWHERE["days"]])
def test_what_they_are_made_from_makes_new_ones(value: str, tmp_path: Path) -> None:
    """With the names that are asked for now, for all who talk to each other at once; and their pods restart."""
    found, before = upgraded(tmp_path, value), objects(NEWEST, ENFORCED)
    now, then = data(found), data(before)
    assert all(now[name]["tls.crt"] != then[name]["tls.crt"] for name in SECRETS)
    assert now[SECRETS[0]]["ca.crt"] == now[SECRETS[1]]["ca.crt"]
    assert all(each != old for each, old in zip(marks(found).values(), marks(before).values(), strict=True))
    settings = yaml.safe_load(named(found, "ConfigMap", "slackwater-extender")["data"]["extender.yaml"])
    assert set(settings["tls"]["client_names"]) <= alternatives(now[SECRETS[1]], tmp_path)
    domain = value.partition("clusterDomain=")[2] or "cluster.local"
    assert f"slackwater-extender.{NAMESPACE}.svc.{domain}" in alternatives(now[SECRETS[0]], tmp_path)


@pytest.mark.parametrize(("value", "keeps"), [("tls.renew=", True), *((each, False) for each in DIFFERENCES)])
def test_secrets_of_an_earlier_chart_are_kept_where_their_names_fit(
    cluster: Cluster, value: str, keeps: bool, tmp_path: Path
) -> None:
    """They say tls.renew alone; what else they were made from stands in the certificates."""
    for secret in kept(cluster).values():
        secret["metadata"]["annotations"][MARK] = ""
    found = upgraded(tmp_path, value)
    # The webhook's certificate does not hold the scheduler's name, which it has nothing to do with.
    names = SECRETS[:2] if "clientName" in value else SECRETS
    same = [data(found)[name] == kept(cluster)[name]["data"] for name in names]
    assert same == [keeps] * len(names)
    install(cluster, found)
    assert data(upgraded(tmp_path, value)) == data(found)


def grow_old(cluster: Cluster, days: int) -> None:
    """Let the certificates that are there have been made that many days before; nobody checks who signed them."""
    for secret in kept(cluster).values():
        body = ssl.PEM_cert_to_DER_cert(base64.b64decode(secret["data"]["tls.crt"]).decode())
        body = re.sub(rb"(?:\x17\x0d|\x18\x0f)\d+Z", lambda found: earlier(found[0], days), body)
        secret["data"]["tls.crt"] = base64.b64encode(ssl.DER_cert_to_PEM_cert(body).encode()).decode()


def earlier(date: bytes, days: int) -> bytes:
    """The date of a certificate, that many days before."""
    form = "%y%m%d%H%M%SZ" if date[1] == 13 else "%Y%m%d%H%M%SZ"
    then = datetime.strptime(date[2:].decode(), form) - timedelta(days=days)  # noqa: DTZ007 - a date that stays itself
    return date[:2] + then.strftime(form).encode()


@pytest.mark.parametrize(
    ("life", "age", "keeps"),
    [(3650, 3000, True), (3650, 3300, False), (3650, 4000, False), (36500, 3300, True), (90, 85, False)],
    ids=["in its life", "in the last tenth", "ended", "until after 2050", "short"],
)
def test_certificates_whose_end_is_near_are_made_anew(
    cluster: Cluster, life: int, age: int, keeps: bool, tmp_path: Path
) -> None:
    """In the last tenth of their life; their pods restart with them, once."""
    value = f"tls.days={life}"
    installed = objects(NEWEST, ENFORCED, f"--set={value}")
    install(cluster, installed)
    grow_old(cluster, age)
    found = upgraded(tmp_path, value)
    assert [data(found)[name] == kept(cluster)[name]["data"] for name in SECRETS] == [keeps] * 3
    before, after = marks(installed), marks(found)
    assert [after[name] == before[name] for name in before] == [keeps] * len(before)
    install(cluster, found)
    again = upgraded(tmp_path, value)
    assert (data(again), marks(again)) == (data(found), after)


@pytest.mark.parametrize("missing", ["mark", "data", "ca.crt", "tls.key"])
def test_secrets_that_somebody_else_made_or_emptied_are_not_kept(
    cluster: Cluster, missing: str, tmp_path: Path
) -> None:
    """Cert-manager's carry no mark of ours; without its authority a pair proves nothing to anybody."""
    for secret in kept(cluster).values():
        if missing == "mark":
            del secret["metadata"]["annotations"][MARK]
        elif missing == "data":
            del secret["data"]
        else:
            del secret["data"][missing]
    found = data(upgraded(tmp_path))
    for name, secret in kept(cluster).items():
        assert set(found[name]) == {"ca.crt", "tls.crt", "tls.key"}
        assert found[name]["tls.crt"] != secret.get("data", {}).get("tls.crt")


def test_every_program_that_reads_them_restarts_with_them() -> None:
    """Each Deployment with such a volume carries the mark."""
    found = objects(NEWEST, ENFORCED)
    users = {
        who.removeprefix("Deployment/")
        for who, spec in pod_specs(found).items()
        if who.startswith("Deployment/")
        and any(volume.get("secret", {}).get("secretName") in SECRETS for volume in spec.get("volumes", []))
    }
    assert users == set(marks(found))
