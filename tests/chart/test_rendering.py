"""The chart renders valid, safe objects for every supported version of Kubernetes and every switch."""

from __future__ import annotations

import base64
import json
import re
import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped] # no types
import kubernetes_validate  # type: ignore[import-untyped] # no types
import pytest
import yaml
from kubernetes_validate import utils

from support.builders.chartvalues import ALL, PROFILES, SWITCHES
from support.handshakes import serving, shake_hands
from support.lab.chart import CHART, LIVE, NAMESPACE, Object, call, named, objects, pod_specs, template, text

# It reads its definitions anew for every object, which takes most of its time.
utils.schema_contents = cache(utils.schema_contents)

VERSIONS = ("1.33.2", "1.34.0", "1.35.1", "1.36.4", "1.37.0")
NEWEST = VERSIONS[-1]
MADE_ANEW = re.compile("[A-Za-z0-9+/=]{60,}")  # certificates, keys, and what is computed from them
BUILT_IN = ("k8s.io", "apps", "batch", "policy", "v1")


def usable(version: str, name: str) -> bool:
    """Who asks for the policy needs an API server that has it."""
    return name not in ("policy", "enforced") or version >= "1.36"


def twin(version: str) -> str:
    """The version for which the chart says the same: only those before and from 1.36 on differ."""
    return VERSIONS[0] if version < "1.36" else NEWEST


CASES = [(version, name) for version in VERSIONS for name in ALL if usable(version, name)]


@pytest.mark.parametrize(("version", "name"), CASES, ids=[f"{version}-{name}" for version, name in CASES])
def test_every_object_is_valid(version: str, name: str) -> None:
    """Each object obeys the schema of its kind in that version, unknown fields included."""
    found = objects(twin(version), *ALL[name])
    assert len(found) > 10
    for each in found:
        check(each, version)


@pytest.mark.parametrize("version", [version for version in VERSIONS if version != twin(version)])
def test_versions_on_one_side_of_1_36_are_told_the_same(version: str) -> None:
    """But for the version of the scheduler's image, which is the cluster's own: so helm is asked once for them."""
    mine, theirs = (
        MADE_ANEW.sub("", text(each, *ALL["everything"])).replace(f"v{each}", "") for each in (version, twin(version))
    )
    assert mine == theirs


def booleans(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every switch with the value it does not have by default."""
    for name, value in values.items():
        if isinstance(value, bool):
            yield prefix + name, str(not value).lower()
        elif isinstance(value, dict):
            yield from booleans(value, f"{prefix}{name}.")


def choices(schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, list[str]]]:
    """Every value that is one of a few."""
    for name, part in schema.get("properties", {}).items():
        if "enum" in part:
            yield prefix + name, part["enum"]
        yield from choices(part, f"{prefix}{name}.")


def test_every_switch_is_thrown_and_every_choice_is_made() -> None:
    """Each way a template can turn is among the cases above; what no case sets has its default."""
    thrown = set(",".join(option.removeprefix("--set=") for case in SWITCHES.values() for option in case).split(","))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert [name for name, other in booleans(values) if f"{name}={other}" not in thrown] == []
    for name, options in choices(schema):
        assert len([option for option in options if f"{name}={option}" not in thrown]) <= 1, name


SEEN: set[tuple[str, str]] = set()


def check(each: Object, version: str) -> None:
    """Validate one object by whoever knows its kind; what is the same under several switches, once."""
    key = (version, json.dumps(each, sort_keys=True))
    if key in SEEN:
        return
    SEEN.add(key)
    group = each["apiVersion"].partition("/")[0]
    if group == "slackwater.io":
        jsonschema.Draft4Validator(definition(each["kind"])).validate(each)  # OpenAPI's bounds are those of draft 4
    elif group.endswith(BUILT_IN):
        kubernetes_validate.validate(each, version.rpartition(".")[0], strict=True)
    else:
        assert group in ("monitoring.coreos.com", "cert-manager.io"), f"who defines {group}?"


@cache
def definition(kind: str) -> dict[str, Any]:
    """The schema of one of our custom resources."""
    found = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((CHART / "crds").glob("*.yaml"))]
    spec = next(each["spec"] for each in found if each["spec"]["names"]["kind"] == kind)
    schema: dict[str, Any] = spec["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


@pytest.mark.parametrize("name", PROFILES)
def test_lint_finds_nothing(name: str) -> None:
    """Helm's own linter is content, warnings included."""
    done = call("lint", str(CHART), "--strict", "--kube-version", NEWEST, *ALL[name])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "options",
    [("--set=runAsUser=cluster",), ("--set=runAsUser=null", "--api-versions=security.openshift.io/v1")],
    ids=["asked for", "no user said to OpenShift"],
)
def test_the_cluster_may_choose_the_user(options: tuple[str, ...]) -> None:
    """OpenShift gives each namespace ids of its own and refuses others."""
    for who, spec in pod_specs(objects(NEWEST, *ALL["everything"], *options)).items():
        assert spec["securityContext"]["runAsNonRoot"] is True, who
        assert not {"runAsUser", "runAsGroup", "fsGroup"} & set(spec["securityContext"]), who


def test_without_a_user_said_pods_have_the_images_own_elsewhere() -> None:
    """Else Secrets would belong to root alone, and the scheduler's image, which names no user, would not start."""
    for who, spec in pod_specs(objects(NEWEST, *ALL["everything"], "--set=runAsUser=null")).items():
        assert {spec["securityContext"].get(key) for key in ("runAsUser", "runAsGroup", "fsGroup")} == {65532}, who


@pytest.mark.parametrize("name", ["everything", "kind", "webhook"])
def test_pods_pass_the_restricted_standard(name: str) -> None:
    """Nothing runs as root, writes to its image, keeps a capability or leaves the runtime's seccomp profile."""
    for who, spec in pod_specs(objects(NEWEST, *ALL[name])).items():
        pod = spec["securityContext"]
        assert pod["runAsNonRoot"] is True, who
        assert pod["runAsUser"] > 0, who
        assert pod["seccompProfile"] == {"type": "RuntimeDefault"}, who
        assert not any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")), who
        for container in spec["containers"]:
            own = container["securityContext"]
            assert own["readOnlyRootFilesystem"] is True, who
            assert own["allowPrivilegeEscalation"] is False, who
            assert own["capabilities"] == {"drop": ["ALL"]}, who
            assert {"requests", "limits"} <= set(container["resources"]), who
        assert not any("hostPath" in volume for volume in spec.get("volumes", [])), who


def test_pods_take_no_service_variables() -> None:
    """A Service called slackwater-extender would set SLACKWATER_EXTENDER_PORT, which looks like a setting."""
    specs = pod_specs(objects(NEWEST, *SWITCHES["webhook"]))
    assert all(spec["enableServiceLinks"] is False for spec in specs.values())


@pytest.mark.parametrize(
    ("version", "image"),
    [
        ("1.33.2", "registry.k8s.io/kube-scheduler:v1.33.2"),
        ("v1.36.4-gke.1080000", "registry.k8s.io/kube-scheduler:v1.36.4"),
        ("v1.35.1+k3s1", "registry.k8s.io/kube-scheduler:v1.35.1"),
        ("v1.37.0-eks-113cf36", "registry.k8s.io/kube-scheduler:v1.37.0"),
    ],
    ids=["plain", "gke", "k3s", "eks"],
)
def test_the_scheduler_has_the_version_of_the_cluster(version: str, image: str) -> None:
    """What a vendor appends to the version is no part of the image's tag."""
    spec = pod_specs(objects(version))["Deployment/slackwater-scheduler"]
    assert spec["containers"][0]["image"] == image


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), []),
        (
            ("--set=scheduler.featureGates.GenericWorkload=true,scheduler.featureGates.GangScheduling=false",),
            ["--feature-gates=GangScheduling=false,GenericWorkload=true"],
        ),
    ],
    ids=["none", "two"],
)
def test_the_scheduler_has_the_features_of_the_cluster_s_own(options: tuple[str, ...], said: list[str]) -> None:
    """Else it would place pods of a native gang one by one."""
    command = pod_specs(objects(NEWEST, *options))["Deployment/slackwater-scheduler"]["containers"][0]["command"]
    assert [word for word in command if "gates" in word] == said


def test_enforce_without_admission_is_refused() -> None:
    """Nothing would ever be gated, which is not what was asked for."""
    done = template(NEWEST, "--set", "policy.spec.mode=enforce,admission.mutating=off")
    assert "no pod would ever be gated" in done.stderr


@pytest.mark.parametrize(
    ("version", "options", "kind"),
    [
        ("1.33.2", (), "MutatingWebhookConfiguration"),
        ("1.35.9", (), "MutatingWebhookConfiguration"),
        ("1.36.0", (), "MutatingAdmissionPolicy"),
        ("1.36.0", ("--api-versions=v1/Pod",), "MutatingWebhookConfiguration"),
        ("1.36.0", LIVE, "MutatingAdmissionPolicy"),
        ("1.36.0", ("--set=admission.mutating=webhook",), "MutatingWebhookConfiguration"),
    ],
    ids=["1.33", "1.35", "1.36", "1.36, not served", "1.36, served", "asked for"],
)
def test_pods_are_changed_by_policy_where_it_is_served_else_by_webhook(
    version: str, options: tuple[str, ...], kind: str
) -> None:
    """What the cluster serves counts; where helm could not ask it, its version."""
    kinds = {each["kind"] for each in objects(version, "--set=policy.spec.mode=enforce", *options)}
    assert {"MutatingAdmissionPolicy", "MutatingWebhookConfiguration"} & kinds == {kind}
    assert ("Deployment/slackwater-webhook" in pod_specs(objects(version, *options))) is (
        kind.endswith("Configuration")
    )
    assert "ValidatingAdmissionPolicy" in kinds


def test_api_servers_believe_the_webhooks_certificate(tmp_path: Path) -> None:
    """A handshake as theirs: the name of the Service that they call, and the authority of the registration."""
    found = objects(NEWEST, *SWITCHES["webhook"])
    data = named(found, "Secret", "slackwater-webhook-tls")["data"]
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).write_bytes(base64.b64decode(data[name]))
    for hook in named(found, "MutatingWebhookConfiguration", "slackwater-pods")["webhooks"]:
        called = hook["clientConfig"]["service"]
        authority = base64.b64decode(hook["clientConfig"]["caBundle"]).decode()
        name = f"{called['name']}.{called['namespace']}.svc"
        shake_hands(serving(tmp_path), ssl.create_default_context(cadata=authority), name)


def test_two_webhooks_answer_and_every_api_server_may_ask() -> None:
    """Two replicas apart from each other, never both away, and no NetworkPolicy between them and API servers."""
    found = objects(NEWEST, *SWITCHES["webhook"])
    spec = named(found, "Deployment", "slackwater-webhook")["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert spec["template"]["spec"]["topologySpreadConstraints"]
    assert named(found, "PodDisruptionBudget", "slackwater-webhook")["spec"]["maxUnavailable"] == 1
    (rule,) = named(found, "NetworkPolicy", "slackwater-webhook")["spec"]["ingress"]
    assert "from" not in rule


def test_own_certificates_without_one_for_the_webhook_leave_older_clusters_as_they_were() -> None:
    """Observe and score need no webhook; enforce does, and says which Secret is missing."""
    own = "tls.mode=existing,tls.existing.extenderSecret=a,tls.existing.schedulerSecret=b"
    assert "MutatingWebhookConfiguration" not in {each["kind"] for each in objects("1.35.9", "--set", own)}
    assert "tls.existing.webhookSecret" in template("1.35.9", "--set", f"{own},policy.spec.mode=enforce").stderr
    assert "tls.existing.webhookSecret" in template("1.35.9", "--set", f"{own},admission.mutating=webhook").stderr


def test_clusters_before_1_33_are_refused() -> None:
    """Nothing older was ever tried."""
    assert "kubeVersion" in template("1.32.9").stderr


def test_policies_follow_the_namespace_of_the_release() -> None:
    """The generated policies name slackwater-system; another namespace must be exempt and trusted instead."""
    done = call("template", "tide", str(CHART), "--namespace", "elsewhere", "--kube-version", NEWEST)
    rendered = [each for each in yaml.safe_load_all(done.stdout) if each]
    assert "slackwater-system" not in done.stdout
    for name in ("slackwater-guard", "slackwater-guard-elsewhere", "slackwater-guard-evictions"):
        assert "system:serviceaccount:elsewhere:slackwater-operator" in str(
            named(rendered, "ValidatingAdmissionPolicy", name)
        )


def test_the_next_extender_is_ready_before_the_one_before_it_ends() -> None:
    """One replica, as its ledger is in memory; in an upgrade two for a moment, of which the operator asks one."""
    spec = named(objects(NEWEST), "Deployment", "slackwater-extender")["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def test_the_scheduler_asks_the_extender_and_proves_itself() -> None:
    """Ignorable (the operator is the guard), names only, verified TLS both ways, an answer within half a second."""
    config = named(objects(NEWEST), "ConfigMap", "slackwater-scheduler")["data"]["scheduler.yaml"]
    (block,) = yaml.safe_load(config)["extenders"]
    assert block["ignorable"] is True
    assert block["nodeCacheCapable"] is True
    assert block["httpTimeout"] == "500ms"
    assert set(block["tlsConfig"]) == {"serverName", "caFile", "certFile", "keyFile"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("scheduler.extender.ignorable=true", "false"),
        ("scheduler.extender.ignorable=false", "true"),
        ("scheduler.extender.ignorable=false,scheduler.enabled=false", "false"),
    ],
    ids=["ignorable", "not ignorable", "a scheduler of your own"],
)
def test_lowered_tasks_go_without_nomination_only_where_the_scheduler_waits_for_the_filter(
    settings: str, expected: str
) -> None:
    """A scheduler that goes on without an answer would place them by their lowered requests."""
    found = objects(NEWEST, "--set", settings)
    container = named(found, "Deployment", "slackwater-operator")["spec"]["template"]["spec"]["containers"][0]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    assert variables["SLACKWATER_OPERATOR_STEER_LOWERED"] == expected


@pytest.mark.parametrize("replicas", [1, 2])
def test_one_scheduler_is_active_at_a_time(replicas: int) -> None:
    """In an upgrade there are two for a moment, whatever the number of replicas; both would bind."""
    config = named(objects(NEWEST, f"--set=scheduler.replicas={replicas}"), "ConfigMap", "slackwater-scheduler")
    elected = yaml.safe_load(config["data"]["scheduler.yaml"])["leaderElection"]
    assert elected == {"leaderElect": True, "resourceName": "slackwater-scheduler", "resourceNamespace": NAMESPACE}


def test_a_scheduler_of_your_own_gets_the_block_to_add() -> None:
    """There the extender must be ignorable: other pods depend on that scheduler."""
    found = objects(NEWEST, "--set", "scheduler.enabled=false")
    assert "Deployment/slackwater-scheduler" not in pod_specs(found)
    block = named(found, "ConfigMap", "slackwater-extender-block")["data"]["extenders.yaml"]
    assert yaml.safe_load(block)["extenders"][0]["ignorable"] is True


def test_every_namespaced_object_names_its_namespace() -> None:
    """`helm template | kubectl apply` must not put anything elsewhere; the watchdog alone outlives our namespace."""
    for each in objects(NEWEST, *SWITCHES["everything"]):
        if each["kind"] in ("Deployment", "Service", "ConfigMap", "Secret", "Role", "ServiceAccount", "Job"):
            wanted = "kube-system" if each["metadata"]["name"] == "slackwater-watchdog" else NAMESPACE
            assert each["metadata"]["namespace"] == wanted, each["metadata"]["name"]


def test_probes_of_the_monitor_wait_while_its_threads_are_busy() -> None:
    """One second, the default, is short for a page that is being drawn beside it."""
    found = pod_specs(objects(NEWEST, *SWITCHES["everything"]))["Deployment/slackwater-monitor"]["containers"][0]
    assert [found[f"{kind}Probe"]["timeoutSeconds"] for kind in ("readiness", "liveness")] == [5, 5]


def test_the_monitor_proves_itself_to_prometheus_as_the_extender_does() -> None:
    """One secret serves both: mounted, and named by the settings of each."""
    found = objects(
        NEWEST,
        "--set=monitor.enabled=true,prometheus.url=https://p,prometheus.tenant=t1,prometheus.matchers.cluster=prod",
        "--set=prometheus.auth.secret=prom,prometheus.auth.tokenKey=token,prometheus.auth.caKey=ca.crt",
    )
    settings = yaml.safe_load(named(found, "ConfigMap", "slackwater-extender")["data"]["extender.yaml"])["prometheus"]
    container = named(found, "Deployment", "slackwater-monitor")["spec"]["template"]["spec"]["containers"][0]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    for name, value in {"token_file": "/prometheus/token", "ca": "/prometheus/ca.crt", "tenant": "t1"}.items():
        assert settings[name] == variables[f"SLACKWATER_MONITOR_PROMETHEUS_{name.upper()}"] == value
    matchers = json.loads(variables["SLACKWATER_MONITOR_PROMETHEUS_MATCHERS"])
    assert settings["matchers"] == matchers == {"cluster": "prod"}
    assert {"name": "prometheus", "mountPath": "/prometheus", "readOnly": True} in container["volumeMounts"]


def test_no_pod_is_admitted_to_what_the_probe_asks() -> None:
    """Kubelet asks from the node, which no policy stops; pods that keep the operator busy would bring its end."""
    for name in ("slackwater-operator", "slackwater-extender"):
        rules = named(objects(NEWEST), "NetworkPolicy", name)["spec"]["ingress"]
        assert all(rule["from"] for rule in rules)
        assert 8090 not in [port["port"] for rule in rules for port in rule["ports"]]


def test_without_a_prometheus_nobody_is_admitted_to_the_operators_metrics() -> None:
    """A rule whose `from` is empty would admit everybody."""
    found = objects(NEWEST, "--set-json=networkPolicy.prometheus=[]")
    assert not named(found, "NetworkPolicy", "slackwater-operator")["spec"]["ingress"]


@pytest.mark.parametrize(
    ("options", "watched"),
    [("watchdog.enabled=true", True), ("watchdog.enabled=false", False), ("admission.mutating=off", False)],
)
def test_a_missing_watchdog_is_told_where_there_should_be_one(options: str, watched: bool) -> None:
    """Where the values do without it, its alert would fire for ever."""
    found = objects(NEWEST, f"--set=monitoring.rules.enabled=true,{options}")
    rules = [rule for each in found if each["kind"] == "PrometheusRule" for rule in each["spec"]["groups"][0]["rules"]]
    told = {rule["alert"] for rule in rules}
    assert ("SlackwaterWatchdogAbsent" in told) == watched
    assert {"SlackwaterOperatorWithoutLeader", "SlackwaterErrors"} < told


@pytest.mark.parametrize(("token", "scraped"), [("", False), ("scheduler-metrics", True)])
def test_the_scheduler_is_scraped_where_there_is_a_token_for_it(token: str, scraped: bool) -> None:
    """Without one it answers 403."""
    option = f"--set=monitoring.serviceMonitor.enabled=true,monitoring.serviceMonitor.schedulerTokenSecret={token}"
    found = [each["spec"] for each in objects(NEWEST, option) if each["kind"] == "PodMonitor"]
    tokens = [end["authorization"] for spec in found for end in spec["podMetricsEndpoints"] if "authorization" in end]
    assert tokens == ([{"credentials": {"name": token, "key": "token"}}] if scraped else [])
    assert len(found) == 1 + scraped  # beside the operator's
