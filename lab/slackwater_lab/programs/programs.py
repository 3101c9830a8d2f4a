"""What the lab runs and is built from source: one Go module per program, versions read from its go.mod.

Separate modules keep the programs' dependencies from forcing versions on each other.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from slackwater.errors import InvalidInput, UnknownName
from slackwater_lab.programs import versions

OURS = "slackwater.io/lab/load"
MODULES = Path(__file__).resolve().parents[2] / "go"
KUBERNETES_STAMP = "k8s.io/component-base/version.git"  # Version, Major, Minor


@dataclass(frozen=True, slots=True)
class Program:
    """A program and where its source is named: the folder under lab/go, the Go module, the main package."""

    name: str
    folder: str
    module: str
    package: str
    stamp: str = ""  # the Go variable that is told the version, where a program cannot find it out

    @property
    def version(self) -> str:
        """The version that go.mod asks for, so that it is written down once; our own go by their content.

        Programs of Kubernetes also come in other versions, where one is asked for.
        """
        if self.module == OURS:
            source = MODULES / self.folder / self.package / "main.go"
            return f"v{hashlib.sha256(source.read_bytes()).hexdigest()[:8]}"
        if self.other_version:
            return self.other_version
        text = (MODULES / self.folder / "go.mod").read_text()
        found = re.search(rf"^\s*(?:require )?{re.escape(self.module)} (v\S+)", text, re.MULTILINE)
        if found is None:
            raise InvalidInput(f"lab/go/{self.folder}/go.mod", f"does not require {self.module}", "add it")
        return found[1]

    @property
    def other_version(self) -> str:
        """The version that was asked for in place of the one in go.mod; "" for most programs."""
        return versions.other() if self.folder == "kubernetes" else ""

    def linker_flags(self) -> str:
        """Small binaries that know their version; Kubernetes programs would else say v0.0.0."""
        flags = ["-s", "-w"]
        if self.stamp:
            flags.append(f"-X {self.stamp}={self.version}")
        if self.folder == "kubernetes":
            major, minor, _ = self.version.removeprefix("v").split(".")
            stamps = {"Version": self.version, "Major": major, "Minor": minor}
            flags += [f"-X {KUBERNETES_STAMP}{key}={value}" for key, value in stamps.items()]
        return " ".join(flags)


def _kubernetes(name: str) -> Program:
    return Program(name, "kubernetes", "k8s.io/kubernetes", f"k8s.io/kubernetes/cmd/{name}")


# In the order in which a waiting person wants them: the control plane first.
PROGRAMS = (
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", "."),
    _kubernetes("kube-apiserver"),
    _kubernetes("kubectl"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kube-controller-manager"),
    Program("kwok", "kwok", "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok/pkg/consts.Version"),
    _kubernetes("kubelet"),
    Program("helm", "helm", "helm.sh/helm/v4", "helm.sh/helm/v4/cmd/helm", "helm.sh/helm/v4/internal/version.version"),
    Program(
        "kube-state-metrics",
        "kube-state-metrics",
        "k8s.io/kube-state-metrics/v2",
        "k8s.io/kube-state-metrics/v2",
    ),
    Program("pause", "load", OURS, "./pause"),
    Program("burn", "load", OURS, "./burn"),
    Program("driver", "load", OURS, "./driver"),
)

# What the suite on kind wants besides: a Prometheus that finds nodes through the API server, which Debian's cannot, and
# the parts of a node image for where no registry answers (lab/kind/image.sh). Built only when named.
KIND = (
    Program("kind", "kind", "sigs.k8s.io/kind", "sigs.k8s.io/kind"),
    Program(
        "prometheus",
        "prometheus",
        "github.com/prometheus/prometheus",
        "github.com/prometheus/prometheus/cmd/prometheus",
    ),
    _kubernetes("kubeadm"),
    _kubernetes("kube-proxy"),
    Program("coredns", "coredns", "github.com/coredns/coredns", "github.com/coredns/coredns"),
)

_ARGO = "github.com/argoproj/argo-workflows/v3"
_KUBERAY = "github.com/ray-project/kuberay/ray-operator"
_SPARK = "github.com/kubeflow/spark-operator/v2"
_MPI = "github.com/kubeflow/mpi-operator"
_TRAINER = "github.com/kubeflow/trainer/v2"
# What the frameworks need besides: a name service, and the operators of those that have one. Built only when named.
FRAMEWORKS = (
    Program("dns", "dns", "github.com/coredns/coredns", "."),
    Program("kuberay", "kuberay", _KUBERAY, _KUBERAY),
    Program("jobset", "jobset", "sigs.k8s.io/jobset", "sigs.k8s.io/jobset"),
    Program("spark-operator", "spark-operator", _SPARK, f"{_SPARK}/cmd/operator"),
    Program("mpi-operator", "mpi-operator", _MPI, f"{_MPI}/cmd/mpi-operator"),
    Program("trainer", "trainer", _TRAINER, f"{_TRAINER}/cmd/trainer-controller-manager"),
    Program("argo", "argo", _ARGO, f"{_ARGO}/cmd/workflow-controller", f"{_ARGO}.version"),
)

_CRANE = "github.com/google/go-containerregistry"
# What tries a release out: a registry of our own, to push to. Built only when named.
RELEASE = (Program("crane", "crane", _CRANE, f"{_CRANE}/cmd/crane", f"{_CRANE}/cmd/crane/cmd.Version"),)


def program(name: str) -> Program:
    """Look a program up by its name."""
    known = PROGRAMS + KIND + FRAMEWORKS + RELEASE
    for candidate in known:
        if candidate.name == name:
            return candidate
    raise UnknownName("program", name, [candidate.name for candidate in known])
