"""The lab as one object: start it, use it, stop exactly what was started."""

import shutil
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_lab.controlplane import access, certificates, chart, control, services
from slackwater_lab.controlplane.prometheus import prometheus
from slackwater_lab.controlplane.schedulers import PLAIN, PROFILE, Extender, scheduler
from slackwater_lab.controlplane.statemetrics import state_metrics
from slackwater_lab.nodes import clusternet, network, simulated
from slackwater_lab.nodes.kwok import kwok, lease
from slackwater_lab.nodes.real import RealNodes
from slackwater_lab.plan import PARTS, Plan
from slackwater_lab.processes import health, ports
from slackwater_lab.processes.processes import Processes
from slackwater_lab.processes.waiting import until, until_serving
from slackwater_lab.programs.build import build
from slackwater_lab.site import Site, open_site


def _silent(_: str) -> None:
    return


class Lab:
    """One control plane with its nodes. Use it as a context manager in tests: leaving stops it."""

    def __init__(self, site: Site, plan: Plan | None = None, report: Callable[[str], None] = _silent) -> None:
        self.site = site
        self.plan = plan or Plan()
        self.processes = Processes(site.folder)
        self._report = report

    @classmethod
    def start(cls, name: str | None = None, parts: Iterable[str] = PARTS, **wishes: Any) -> Self:
        """Start a lab with the given parts; `wishes` are the other fields of Plan."""
        return cls(open_site(name), Plan(parts=frozenset(parts), **wishes)).up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def up(self) -> Self:
        """Bring the lab to what the plan says; what already runs is left alone."""
        build(self.plan.programs(), self._report)
        self._control_plane()
        for part in PARTS:
            if part in self.plan.parts:
                self._steps[part](self)
        if self.plan.real_nodes:
            self.real.up(self.plan.real_nodes, self.plan.capacity, self._report)
        if self.plan.services:
            self._services()
        return self

    def down(self, keep: bool = False) -> None:
        """Stop every process of this lab, last started first; forget its data unless told to keep it."""
        self.real.down()
        names = [started.name for started in reversed(self.processes.all())]
        for name in sorted(names, key=("apiserver", "etcd").__contains__):
            self.processes.stop(name)
        if not keep:
            for name in ("etcd", "certs", "config", "prometheus", "pids"):
                shutil.rmtree(self.site.folder / name, ignore_errors=True)
            for name in ("kubeconfig", "tokens.csv", control.AUDIT_LOG):
                (self.site.folder / name).unlink(missing_ok=True)
            ports.release(self.site.folder)

    def api(self) -> ApiClient:
        """A new session with the API server, as administrator."""
        return access.client(self.site)

    def call_extender(self, extender: Extender | None) -> None:
        """Let our scheduler call another extender (or none): it is restarted with that configuration."""
        self._scheduler("slackwater-scheduler", PROFILE, extender)

    def restart(self, name: str, settings: Mapping[str, str] | None = None) -> None:
        """Start a process again that has ended or was killed, and wait until it serves.

        It gets the command line it had; one of our own programs also a fresh token and, if wanted, other settings.
        """
        if name in services.SERVICES:
            self._service(name, settings)
            return
        started = self.processes.find(name)
        if started is None:
            raise Unavailable(f"{name} was never started in the lab {self.site.name}")
        health.revive(self.site, self.processes, started)

    def repair(self) -> list[str]:
        """Start again what has ended of this lab, the control plane first; returns the names."""
        ended = [started.name for started in self.processes.all() if not started.alive]
        for name in sorted(ended, key=lambda name: {"etcd": 0, "apiserver": 1}.get(name, 2)):
            self.restart(name)
        return ended

    def _control_plane(self) -> None:
        certificates.ensure(self.site.certificates, network.of(self.site.ports).api)
        access.ensure(self.site)
        self.processes.start("etcd", control.etcd(self.site))
        self._until_well("etcd")
        plan = self.plan
        command = control.apiserver(self.site, audit=plan.audit, gates=plan.gates, event_ttl=plan.event_ttl)
        self.processes.start("apiserver", command)
        with self.api() as api:
            until_serving(self.processes, "apiserver", api.ready)
            self.processes.start("controller-manager", control.controller_manager(self.site, lease(self.plan.nodes)))
            account = "/api/v1/namespaces/default/serviceaccounts/default"
            until_serving(self.processes, "controller-manager", lambda: api.find(account) is not None)
        self._report(f"control plane  {self.site.url('apiserver', 'https')}")

    def _kwok(self) -> None:
        self.processes.start("kwok", kwok(self.site, self.plan.nodes))
        self._until_well("kwok")
        wanted = simulated.names(self.plan.nodes)
        with self.api() as api:
            simulated.create(api, wanted, self.plan.shape)
            patience, pause = 60.0 + len(wanted) / 10, 0.1 + len(wanted) / 500  # a list of many nodes is large
            until("all simulated nodes are Ready", lambda: set(wanted) <= set(simulated.ready(api)), patience, pause)
        self._report(f"simulated nodes  {len(wanted)} × {self.plan.shape.cpu} cpu, {self.plan.shape.memory}")

    def _plain_scheduler(self) -> None:
        self._scheduler("scheduler", PLAIN, None)

    def _our_scheduler(self) -> None:
        extender = self.plan.extender
        if extender is None and "extender" in self.plan.parts and services.available("extender"):
            extender = Extender(self.site.url("extender"))
        self._scheduler("slackwater-scheduler", PROFILE, extender)

    def _scheduler(self, name: str, profile: str, extender: Extender | None) -> None:
        before = self.site.read(f"{name}.yaml")
        with self.api() as api:
            kubeconfig = (
                services.kubeconfig(self.site, "scheduler", api) if profile == PROFILE else self.site.kubeconfig
            )
        command = scheduler(self.site, name, kubeconfig, profile, extender)
        command += control.switched(self.plan.gates)
        if self.site.read(f"{name}.yaml") != before:
            self.processes.stop(name)
        self.processes.start(name, command)
        self._until_well(name)
        self._report(f"{name}  schedulerName {profile}" + (f", extender {extender.url}" if extender else ""))

    def _state_metrics(self) -> None:
        self.processes.start("state-metrics", state_metrics(self.site))
        self._until_well("state-metrics")
        self._report(f"kube-state-metrics  {self.site.url('state-metrics')}/metrics")

    def _prometheus(self) -> None:
        self.processes.start("prometheus", prometheus(self.site, self.plan.scrape))
        self._until_well("prometheus")
        self._report(f"prometheus  {self.site.url('prometheus')}")

    def _chart(self) -> None:
        for line in chart.install(self.site, self.plan.values):
            self._report(f"chart  {line}")
        if chart.needs_webhook(self.site):
            self.answer_webhooks()

    def answer_webhooks(self) -> None:
        """Start the webhook, with a certificate of the lab's authority."""
        if not (self.site.certificates / f"{chart.WEBHOOK}.crt").exists():
            certificates.serving(self.site.certificates, chart.WEBHOOK, "IP:127.0.0.1")
        self._service(chart.WEBHOOK)

    def _extender(self) -> None:
        self._service("extender")

    def _operator(self) -> None:
        for name in services.OPERATORS[: self.plan.operators]:
            self._service(name)

    def _services(self) -> None:
        net = network.of(self.site.ports)
        self.processes.start(clusternet.DNS, clusternet.dns(self.site, net))
        self._until_well(clusternet.DNS)
        self.processes.start(clusternet.PROXY, clusternet.proxy(self.site))
        self._report(f"names and Services  DNS {net.gateway}, API server {net.api}")

    def _service(self, name: str, settings: Mapping[str, str] | None = None) -> None:
        if not services.available(name):
            self._report(f"{name}  skipped: the program is not part of this tree yet")
            return
        started = self.processes.find(name)
        if not (started and started.alive):
            with self.api() as api:
                kubeconfig = services.kubeconfig(self.site, name, api)
            measured = "prometheus" in self.plan.parts
            usual = services.environment(self.site, name, kubeconfig, measured, self.plan.scrape)
            self.processes.start(name, services.command(name), {**usual, **(settings or {})})
        self._until_well(name)
        self._report(f"{name}  {self.site.url(name)}")

    def _until_well(self, name: str) -> None:
        health.until_well(self.site, self.processes, name)

    @property
    def real(self) -> RealNodes:
        """The real nodes of this lab, if it has any."""
        return RealNodes(self.site, self.processes)

    _steps: dict[str, Callable[["Lab"], None]] = {  # noqa: RUF012 - a table, never changed
        "kwok": _kwok,
        "scheduler": _plain_scheduler,
        "slackwater-scheduler": _our_scheduler,
        "chart": _chart,
        "state-metrics": _state_metrics,
        "prometheus": _prometheus,
        "extender": _extender,
        "operator": _operator,
    }
