"""Command lines of the control plane: etcd, API server, controller manager."""

from collections.abc import Sequence

import yaml

from slackwater_lab.nodes import network
from slackwater_lab.programs.build import built
from slackwater_lab.site import Site

ISSUER = "https://kubernetes.default.svc"
AUDIT_LOG = "audit.log"
# Who asked for what, and when. Bodies only where they tell what metadata does not: the node of a binding, and the phase
# in a pod's status. Events are the schedulers' own notes, and count as requests like all others.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "omitManagedFields": True,
    "rules": [
        {"level": "None", "nonResourceURLs": ["*"]},
        {"level": "Request", "resources": [{"group": "", "resources": ["pods/status", "pods/binding"]}]},
        {"level": "Metadata"},
    ],
}


def etcd(site: Site) -> list[str]:
    """One member, no waiting for the disk: a lab's data may be lost with the machine."""
    client, peer = site.url("etcd"), site.url("etcd-peer")
    return [
        built("etcd"),
        f"--data-dir={site.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
        "--quota-backend-bytes=4294967296",
        "--auto-compaction-mode=periodic",
        "--auto-compaction-retention=10m",
    ]


def apiserver(site: Site, *, audit: bool = False, gates: Sequence[str] = (), event_ttl: str = "1h") -> list[str]:
    """RBAC and every default admission plugin on, so that roles and policies are really exercised."""
    certs = site.certificates
    return [
        built("kube-apiserver"),
        f"--etcd-servers={site.url('etcd')}",
        f"--secure-port={site.ports['apiserver']}",
        "--bind-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={certs / 'apiserver.crt'}",
        f"--tls-private-key-file={certs / 'apiserver.key'}",
        f"--service-account-key-file={certs / 'sa.pub'}",
        f"--service-account-signing-key-file={certs / 'sa.key'}",
        f"--service-account-issuer={ISSUER}",
        f"--token-auth-file={site.folder / 'tokens.csv'}",
        # Kubelets are bounded as kubeadm sets it up; those of the lab act as administrators.
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--service-cluster-ip-range={network.of(site.ports).services}",
        "--allow-privileged=true",
        "--kubelet-preferred-address-types=InternalIP",
        # Load tests send more at once than the defaults (400 and 200) let through.
        "--max-requests-inflight=3000",
        "--max-mutating-requests-inflight=1500",
        "--delete-collection-workers=16",  # one by default: clearing 3,000 pods away would take minutes
        f"--event-ttl={event_ttl}",
        "--profiling=false",
        "--v=0",
        *(_audit(site) if audit else ()),
        *([*switched(gates), "--runtime-config=api/alpha=true"] if gates else ()),
    ]


def switched(gates: Sequence[str]) -> list[str]:
    """The flag that switches features on; none for none."""
    return [f"--feature-gates={','.join(f'{gate}=true' for gate in gates)}"] if gates else []


def _audit(site: Site) -> list[str]:
    """Every request as a line of a file, without a limit of its size."""
    policy = site.write("audit.yaml", yaml.safe_dump(AUDIT_POLICY, sort_keys=False))
    path = site.folder / AUDIT_LOG
    return [f"--audit-policy-file={policy}", f"--audit-log-path={path}", "--audit-log-maxsize=100000"]


def controller_manager(site: Site, silence: int) -> list[str]:
    """A node that is silent for so many seconds is lost. 20 requests a second, the default, would slow every test."""
    return [
        built("kube-controller-manager"),
        f"--kubeconfig={site.kubeconfig}",
        f"--service-account-private-key-file={site.certificates / 'sa.key'}",
        f"--root-ca-file={site.certificates / 'ca.crt'}",
        f"--secure-port={site.ports['controller-manager']}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--use-service-account-credentials=true",  # each controller with its own rights, as kubeadm sets it up
        f"--node-monitor-grace-period={silence + 10}s",
        "--controllers=*,-ttl-controller",  # rewrites every node each time their number passes a threshold
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--profiling=false",
        "--v=0",
    ]
