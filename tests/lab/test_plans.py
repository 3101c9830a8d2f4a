"""What a lab consists of is decided, and refused, before anything starts."""

import base64
from typing import Any

import pytest
import yaml

from slackwater.errors import InvalidInput, UnknownName
from slackwater_lab.controlplane.chart import called_here
from slackwater_lab.controlplane.prometheus import configuration as prometheus_configuration
from slackwater_lab.controlplane.schedulers import PROFILE, Extender, configuration
from slackwater_lab.nodes.kwok import STAGES
from slackwater_lab.nodes.simulated import Shape, manifest, names
from slackwater_lab.plan import CONTROL, PARTS, Plan, without
from slackwater_lab.programs.build import binary
from slackwater_lab.programs.programs import FRAMEWORKS, KIND, PROGRAMS, RELEASE, program
from slackwater_lab.programs.versions import derived
from slackwater_lab.site import Site, home


@pytest.mark.parametrize("item", PROGRAMS + KIND + FRAMEWORKS + RELEASE, ids=lambda item: item.name)
def test_every_program_has_one_version(item: Any) -> None:
    """go.mod is where versions are written down."""
    assert item.version.startswith("v")
    assert program(item.name) is item


def test_kubernetes_programs_are_told_their_version() -> None:
    """Without it they would report v0.0.0, and clients would misjudge what the server can do."""
    flags = program("kube-apiserver").linker_flags()
    assert "gitVersion=v1.36.4" in flags
    assert "gitMinor=36" in flags


def test_parts_that_are_left_out_need_no_programs() -> None:
    """A lab without simulated nodes and metrics builds only the control plane."""
    assert Plan(parts=frozenset()).programs() == list(CONTROL)
    assert "kwok" in Plan().programs()


def test_real_nodes_need_a_kubelet_and_its_images() -> None:
    """They are built only when asked for."""
    assert {"kubelet", "pause", "burn"} <= set(Plan(real_nodes=1).programs())
    assert "kubelet" not in Plan().programs()


def test_without_names_what_to_leave_out() -> None:
    """Spaces and empty entries do not matter."""
    assert without([" kwok", "", "prometheus "]) == frozenset(PARTS) - {"kwok", "prometheus"}


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda: without(["kwokk"]), id="unknown part left out"),
        pytest.param(lambda: Plan(parts=frozenset({"magic"})), id="unknown part wanted"),
        pytest.param(lambda: Plan(nodes=-1), id="negative nodes"),
        pytest.param(lambda: Plan(real_nodes=99), id="too many real nodes"),
        pytest.param(lambda: Plan(services=True), id="services without a real node"),
        pytest.param(lambda: Plan(operators=3), id="too many operators"),
        pytest.param(lambda: home("Bad Name"), id="bad lab name"),
        pytest.param(lambda: program("nonsense"), id="unknown program"),
    ],
)
def test_impossible_wishes_are_refused(wrong: Any) -> None:
    """The error says what to write instead."""
    with pytest.raises(InvalidInput, match="use"):
        wrong()


def test_unknown_parts_name_the_known_ones() -> None:
    """A typing mistake is easy to mend."""
    with pytest.raises(UnknownName, match="prometheus"):
        without(["promethius"])


def test_our_scheduler_calls_the_extender_with_names_only(site: Site) -> None:
    """It goes on while the extender is away (decision 0019), and Node objects are not sent."""
    config: Any = configuration(site.kubeconfig, PROFILE, Extender("http://127.0.0.1:1"))
    [block] = config["extenders"]
    assert block["nodeCacheCapable"] is True
    assert block["ignorable"] is True
    assert config["profiles"] == [{"schedulerName": "slackwater"}]


def test_the_plain_scheduler_knows_no_extender(site: Site) -> None:
    """All profiles of one scheduler share its extenders, so the plain one must not have any."""
    assert "extenders" not in configuration(site.kubeconfig, "default-scheduler", None)


def test_a_verified_extender_names_its_authority(site: Site) -> None:
    """HTTPS without an authority would silently skip the check."""
    block = Extender("https://127.0.0.1:1", authority=site.certificates / "ca.crt").block()
    assert block["enableHTTPS"] is True
    assert block["tlsConfig"] == {"caFile": str(site.certificates / "ca.crt")}


def test_simulated_nodes_are_marked_for_kwok() -> None:
    """Kwok takes care of these and leaves real nodes alone."""
    node = manifest("node-000", Shape(cpu="2", labels={"rack": "a"}))
    assert node["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert node["metadata"]["labels"]["rack"] == "a"
    assert node["status"]["allocatable"]["cpu"] == "2"
    assert node["spec"]["taints"] == []


@pytest.mark.parametrize(("count", "last"), [(3, "node-002"), (1000, "node-999"), (5000, "node-4999")])
def test_node_names_sort_as_they_count(count: int, last: str) -> None:
    """Sorting by name is sorting by number."""
    made = names(count)
    assert made == sorted(made)
    assert made[-1] == last


def test_prometheus_counts_no_pod_twice(site: Site) -> None:
    """CAdvisor's copy of the resource metrics is dropped."""
    jobs = {job["job_name"]: job for job in prometheus_configuration(site, "2s")["scrape_configs"]}
    kept = jobs["kubelet-cadvisor"]["metric_relabel_configs"][0]["regex"]
    assert "container_cpu_usage" not in kept
    assert "cpu_cfs" in kept


def test_the_stages_are_readable_and_named_once() -> None:
    """Kwok would silently take the last of two stages with one name."""
    stages = [item for item in yaml.safe_load_all(STAGES.read_text()) if item["kind"] == "Stage"]
    assert len({stage["metadata"]["name"] for stage in stages}) == len(stages) == 6


OWN = """module k8s.io/kubernetes

go 1.25.0

godebug default=go1.25

require k8s.io/api v0.0.0

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kms => ./staging/src/k8s.io/kms
)
"""


def test_another_version_is_built_with_the_published_staging_modules() -> None:
    """Kubernetes' own go.mod points into its own tree for them."""
    made = derived(OWN, "v1.35.8")
    assert "require k8s.io/kubernetes v1.35.8" in made
    assert "\tk8s.io/api => k8s.io/api v0.35.8\n\tk8s.io/kms => k8s.io/kms v0.35.8\n" in made
    assert "go 1.25.0\n\ngodebug default=go1.25\n" in made


def test_another_version_is_kept_beside_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of Kubernetes are told it; all others stay as they are."""
    usual = {name: binary(program(name)) for name in ("kube-apiserver", "etcd")}
    monkeypatch.setenv("SLACKWATER_LAB_VERSION", "1.35.8")
    assert binary(program("kube-apiserver")) == usual["kube-apiserver"].with_name("kube-apiserver-v1.35.8")
    assert "gitMinor=35" in program("kube-apiserver").linker_flags()
    assert binary(program("etcd")) == usual["etcd"]
    monkeypatch.setenv("SLACKWATER_LAB_VERSION", "latest")
    with pytest.raises(InvalidInput, match=r"write it like 1\.35\.8"):
        binary(program("kube-apiserver"))


def test_webhooks_of_the_chart_lead_to_the_labs_own_process(site: Site) -> None:
    """An API server of the lab reaches no Service; everything else of the registration stays."""
    site.certificates.mkdir(parents=True)
    (site.certificates / "ca.crt").write_text("authority")
    service = {"name": "slackwater-webhook", "path": "/pods"}
    hook = {"name": "pods.slackwater.io", "clientConfig": {"service": service}, "failurePolicy": "Ignore"}
    [changed] = called_here(site, {"webhooks": [hook]})["webhooks"]
    assert changed["clientConfig"]["url"] == f"https://127.0.0.1:{site.ports['webhook']}/pods"
    assert base64.b64decode(changed["clientConfig"]["caBundle"]) == b"authority"
    assert changed["failurePolicy"] == "Ignore"
