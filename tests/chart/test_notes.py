"""What helm says after an install: each warning where it is due, and only there."""

from __future__ import annotations

import pytest

from support.lab.chart import CHART, NAMESPACE, call, objects, pod_specs

NEWEST = "1.37.0"
PULL = "imagePullSecrets[0].name=pull"
OWN = "watchdog.imagePullSecrets[0].name=there"


def notes(*values: str) -> str:
    """What helm would say with these values."""
    sets = [f"--set={each}" for each in values]
    done = call(
        "install",
        "slackwater",
        str(CHART),
        "--namespace",
        NAMESPACE,
        "--dry-run=client",
        "--kubeconfig=/dev/null",
        *sets,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("NOTES:")[2]


@pytest.mark.parametrize(("values", "names"), [((PULL,), ["pull"]), ((PULL, OWN), ["there"]), ((OWN,), ["there"])])
def test_the_watchdog_pulls_with_secrets_of_its_own_namespace(values: tuple[str, ...], names: list[str]) -> None:
    """A Secret of the release's namespace does not exist where the watchdog lives."""
    specs = pod_specs(objects(NEWEST, *(f"--set={each}" for each in values)))
    assert [each["name"] for each in specs["Deployment/slackwater-watchdog"]["imagePullSecrets"]] == names
    others = [spec.get("imagePullSecrets") for who, spec in specs.items() if "watchdog" not in who]
    assert others == [[{"name": "pull"}] if PULL in values else None] * len(others)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((), False),
        ((PULL,), True),
        ((PULL, OWN), False),
        ((PULL, "watchdog.enabled=false"), False),
        ((PULL, "admission.mutating=off"), False),
    ],
)
def test_pull_secrets_that_the_watchdog_does_not_find_are_named(values: tuple[str, ...], said: bool) -> None:
    """Without its image nobody lets held pods go when the operator is gone."""
    found = notes(*values)
    assert ("watchdog.imagePullSecrets" in found) is said
    assert ("kube-system" in found) is said


@pytest.mark.parametrize(("values", "said"), [((), False), (("admission.guard=false",), True)])
def test_the_guard_is_missed(values: tuple[str, ...], said: bool) -> None:
    """Whoever switches it off is told what bounds nobody then."""
    assert ("admission.guard: false" in notes(*values)) is said
