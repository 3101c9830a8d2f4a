"""Values of the chart that together take every way its templates can turn."""

from __future__ import annotations

from support.lab.chart import CHART

PROFILES = {
    "default": (),
    "observe": ("-f", str(CHART / "values-observe.yaml")),
    "enforce": ("-f", str(CHART / "values-enforce.yaml")),
    "kind": ("-f", str(CHART / "values-kind.yaml")),
}
SWITCHES = {
    "everything": (
        "--set=monitoring.serviceMonitor.enabled=true,monitoring.rules.enabled=true,monitoring.dashboards.enabled=true",
        "--set=monitor.enabled=true,operator.may.resize=true,operator.may.evict=true",
        "--set=prometheus.url=https://prometheus.monitoring.svc,prometheus.auth.secret=prom,prometheus.auth.tokenKey=token",
        "--set=monitoring.rules.runbooks=https://example.com/runbooks,monitoring.stateMetrics.enabled=true",
        "--set=monitoring.serviceMonitor.schedulerTokenSecret=scheduler-metrics",
        "--set=networkPolicy.apiServer[0].ipBlock.cidr=10.0.0.0/28",
    ),
    "nothing": (
        "--set=policy.create=false,queue.create=false,pool.create=false,scheduler.enabled=false,admission.mutating=off",
        "--set=admission.guard=false,priorityClasses.create=false,networkPolicy.enabled=false,watchdog.enabled=false",
        "--set=podDisruptionBudget.enabled=false,hooks.definitions.enabled=false,hooks.leave.enabled=false",
    ),
    "certManager": ("--set=tls.mode=certManager",),
    "certManager issuer": ("--set=tls.mode=certManager,tls.certManager.issuerRef.name=house",),
    "own secrets": ("--set=tls.mode=existing,tls.existing.extenderSecret=a,tls.existing.schedulerSecret=b",),
    "placed": (
        "--set=extender.nodeSelector.pool=infra,operator.tolerations[0].operator=Exists,image.registry=example.com",
        "--set=imagePullSecrets[0].name=pull,extender.podAnnotations.a=b,scheduler.podLabels.c=d",
        f"--set=image.digest=sha256:{'0' * 64},scheduler.percentageOfNodesToScore=100",
        "--set=extender.settings.server.threads=8",
        "--set=operator.settings.window=500,prometheus.queries.node_cpu=up,networkPolicy.extraIngress[0].ports[0].port=1",
    ),
    "score": ("--set=policy.spec.mode=score",),
    "quiet": (
        "--set=extender.logLevel=warning,operator.logLevel=error,image.pullPolicy=Always,scheduler.image.pullPolicy=Never",
        "--set=prometheus.preset=cadvisor-node-exporter,scheduler.extender.ignorable=false,queue.spec.order=fair",
        "--set=tls.mode=certManager,tls.certManager.issuerRef.name=house,tls.certManager.issuerRef.kind=ClusterIssuer",
        "--set=policy.spec.estimation.mode=printed,queue.spec.state=paused",
    ),
    "loud": (
        "--set=extender.logLevel=debug,operator.logLevel=debug,image.pullPolicy=Never,scheduler.image.pullPolicy=Always",
        "--set=prometheus.preset=metrics-server-like,queue.spec.state=draining,queue.spec.capacity.source=stated",
        "--set=queue.spec.capacity.maximum.cpu=64,queue.spec.capacity.maximum.memory=256Gi",
    ),
    "errors": ("--set=extender.logLevel=error,operator.logLevel=warning",),
    "enforced": ("--set=policy.spec.mode=enforce,admission.mutating=on",),
    "policy": ("--set=admission.mutating=policy",),
    "webhook": (
        "--set=policy.spec.mode=enforce,admission.mutating=webhook,monitoring.serviceMonitor.enabled=true",
        "--set=hooks.leave.checkOwner=false",
        "--api-versions=v1/Pod",  # with the hook before uninstall
    ),
    "webhook, host's network": ("--set=admission.mutating=webhook,webhook.hostNetwork=true,webhook.port=10260",),
    "webhook, certManager": ("--set=admission.mutating=webhook,tls.mode=certManager",),
    "webhook, own secrets": (
        "--set=admission.mutating=webhook,tls.mode=existing,tls.existing.extenderSecret=a,tls.existing.schedulerSecret=b",
        "--set=tls.existing.webhookSecret=c,tls.existing.webhookAuthority=pem",
    ),
}
ALL = {**PROFILES, **SWITCHES}
