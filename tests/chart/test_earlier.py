"""Values and definitions of an earlier chart (commit 639cd46, `earlier.tgz`) go on working with this one.

`helm upgrade --reuse-values` reads the values of the release before and no new default; manifests of users hold fields
that their version knew.
"""

from __future__ import annotations

import itertools
import json
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.lab.chart import CHART, EARLIER, call, objects

NEWEST = "1.37.1"
# Defaults that changed on purpose, as the earlier release would say them.
CHANGED = "--set=scheduler.extender.ignorable=true,scheduler.percentageOfNodesToScore=10"
KINDS = ("admissionqueues", "reservationpools", "slackpolicies", "trackedapps")

Object = dict[str, Any]


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The earlier chart, unpacked."""
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(EARLIER) as packed:
        packed.extractall(folder, filter="data")
    return folder / "slackwater"


def read(path: Path) -> Object:
    """A file of YAML."""
    found: Object = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def mixed(earlier: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This chart, as `--reuse-values` renders it: the values of the release before take the place of its own."""
    made = tmp_path_factory.mktemp("mixed") / "slackwater"
    shutil.copytree(CHART, made)
    shutil.copy(earlier / "values.yaml", made)
    return made


def reused(mixed: Path, *more: str) -> list[Object]:
    """What an upgrade with reused values, and some more, would write."""
    options = ("--namespace=slackwater-system", f"--kube-version={NEWEST}", CHANGED, *more)
    done = call("template", "slackwater", str(mixed), *options)
    assert done.returncode == 0, done.stderr
    return [comparable(each) for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]


WEBHOOK = "--set=admission.mutating=webhook"


@pytest.mark.parametrize("more", [(), (WEBHOOK,)], ids=["policy", "webhook"])
def test_a_release_that_reuses_its_values_gets_the_defaults_of_new_ones(mixed: Path, more: tuple[str, ...]) -> None:
    """Sections that its chart did not know are there as a whole."""
    assert reused(mixed, *more) == list(map(comparable, objects(NEWEST, *more)))


def test_one_value_of_a_new_section_leaves_all_others_of_it_at_their_defaults(mixed: Path) -> None:
    """One value of each depth, with `--reuse-values --set`: the section is there then, and almost empty."""
    additions = read(CHART / "files" / "additions.yaml")
    shown = (
        "templates/watchdog/watchdog.yaml",
        "templates/webhook/deployment.yaml",
        "templates/extender/settings.yaml",
    )
    options = (WEBHOOK, *(f"--show-only={each}" for each in shown))
    wanted = reused(mixed, *options)
    sections = [
        list({each.count("."): each for each in leaves(value, (name,))}.values()) for name, value in additions.items()
    ]
    for together in itertools.zip_longest(*sections, fillvalue=""):  # one of each section at a time
        chosen = [f"--set-json={each}" for each in together if each]
        assert reused(mixed, *options, *chosen) == wanted, chosen


def leaves(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Every single value as `--set-json` takes it."""
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from leaves(part, (*path, name))
    else:
        yield f"{'.'.join(path)}={json.dumps(value)}"


def test_what_somebody_says_in_a_new_section_is_heard(mixed: Path) -> None:
    """Nothing and no are values, too."""
    found = reused(mixed, WEBHOOK, "--set=watchdog.enabled=false,webhook.resources.limits.memory=1Gi")
    names = {each["metadata"]["name"]: each for each in found if each["kind"] == "Deployment"}
    assert "slackwater-watchdog" not in names
    (container,) = names["slackwater-webhook"]["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "1Gi"}}


def comparable(body: Object) -> Object:
    """An object without what is made anew at each rendering: certificates, and the digest by which pods notice them."""
    text = json.dumps({key: value for key, value in body.items() if key != "data" or body["kind"] != "Secret"})
    found: Object = json.loads(text)
    notes = found.get("spec", {}).get("template", {}).get("metadata", {}).get("annotations", {})
    for key in [key for key in notes if key.startswith("checksum/")]:
        del notes[key]
    for hook in found.get("webhooks", []):
        hook["clientConfig"].pop("caBundle", None)
    return found


def test_every_value_that_is_new_has_its_default_where_templates_find_it(earlier: Path) -> None:
    """A path that is missing in helm/additions.py would be a nil pointer in somebody's upgrade."""
    before = read(earlier / "values.yaml")
    known = set(fresh(before, read(CHART / "files" / "additions.yaml")))
    assert set(fresh(before, read(CHART / "values.yaml"))) == known


def fresh(before: Object, after: Object, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The paths of values that came after; a section that is new as a whole is one."""
    for name, value in after.items():
        if name not in before:
            yield ".".join((*path, name))
        elif isinstance(value, dict) and isinstance(before[name], dict):
            yield from fresh(before[name], value, (*path, name))


def test_every_template_fills_in_new_values_first() -> None:
    """Helm renders them in any order."""
    folder = CHART / "templates"
    for path in (*folder.rglob("*.yaml"), folder / "NOTES.txt"):
        assert path.read_text(encoding="utf-8").startswith('{{- include "slackwater.additions" . }}'), path


@pytest.mark.parametrize("name", ["values", "values-observe", "values-enforce", "values-kind"])
def test_earlier_values_are_still_accepted(earlier: Path, name: str) -> None:
    """A file that somebody copied then is no error now."""
    assert objects(NEWEST, "-f", str(earlier / f"{name}.yaml"))


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_of_an_earlier_definition_is_gone_or_narrower(earlier: Path, kind: str) -> None:
    """`kubectl apply` refuses a manifest with a field that the definition does not know."""
    before, after = (schema(chart, kind) for chart in (earlier, CHART))
    assert list(lost(before, after)) == []


def schema(chart: Path, kind: str) -> Object:
    """What users may write: the schema of a spec."""
    version = read(chart / "crds" / f"{kind}.yaml")["spec"]["versions"][0]
    found: Object = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


BOUNDS = {"minimum": 1, "minLength": 1, "minItems": 1, "maximum": -1, "maxLength": -1, "maxItems": -1}


def lost(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "spec") -> Iterator[str]:
    """What a manifest could say before and cannot say now."""
    if before.get("type") != after.get("type"):
        yield f"{path}: {before.get('type')} became {after.get('type')}"
    if left := set(before.get("enum", ())) - set(after.get("enum", before.get("enum", ()))):
        yield f"{path}: {sorted(left)}"
    for bound, sign in BOUNDS.items():
        if bound in after and (bound not in before or sign * after[bound] > sign * before[bound]):
            yield f"{path}: {bound} {before.get(bound)} became {after[bound]}"
    if new := set(after.get("required", ())) - set(before.get("required", ())):
        yield f"{path}: {sorted(new)} became required"
    children = {**before.get("properties", {}), **({"*": before["items"]} if "items" in before else {})}
    now = {**after.get("properties", {}), **({"*": after["items"]} if "items" in after else {})}
    for name, child in children.items():
        if name in now:
            yield from lost(child, now[name], f"{path}.{name}")
        else:
            yield f"{path}.{name}"


def test_a_limit_that_somebody_takes_away_stays_away() -> None:
    """Null takes a default away; it does not come back as that of a section which an earlier chart did not know."""
    taken = ("--set=webhook.resources.limits.memory=null", "--set=watchdog.resources.limits=null")
    found = [each for each in objects(NEWEST, WEBHOOK, *taken) if each["kind"] == "Deployment"]
    limits = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]["containers"][0]["resources"].get("limits") or {}
        for each in found
    }
    assert (limits["slackwater-webhook"], limits["slackwater-watchdog"]) == ({}, {})
