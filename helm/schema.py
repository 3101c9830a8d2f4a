"""Writes values.schema.json: what `values.yaml` may hold, and nothing else.

`python helm/schema.py` takes the fields of our custom resources from crds/, so that a typing mistake in policy.spec is
refused by helm already, in the words of the definition, and names of settings from the programs. Everything else is
written down below.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic_settings import BaseSettings

from slackwater_monitor.settings import Settings as MonitorSettings
from slackwater_operator.settings import Settings as OperatorSettings

CHART = Path(__file__).parent / "slackwater"
TARGET = CHART / "values.schema.json"
CUSTOM = {"policy": "slackpolicies", "queue": "admissionqueues", "pool": "reservationpools"}

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
FREE: Schema = {"type": "object"}
LIST: Schema = {"type": "array"}
# Null takes away what a values file before it says: helm itself does so only where the chart has a default.
LABELS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "null"]}}
GATES: Schema = {
    "type": "object",
    "propertyNames": {"pattern": "^[A-Z][A-Za-z0-9]+$"},
    "additionalProperties": {"type": ["boolean", "null"]},
}
# A name of a namespace, which is also what a label's value can be; and a name of any other object.
NAME: Schema = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
LONG_NAME: Schema = {"type": "string", "pattern": "^[a-z0-9]([-.a-z0-9]{0,200}[a-z0-9])?$"}
PORT: Schema = {"type": "integer", "minimum": 1, "maximum": 65535}
DURATION: Schema = {"type": "string", "pattern": "^([0-9]+(ms|s|m|h))+$"}
SECONDS: Schema = {"type": "integer", "minimum": 0}
REPLICAS: Schema = {"type": "integer", "minimum": 1, "maximum": 9}
# Settings of the extender go to a file, whose unknown names it refuses itself; they are snake_case.
# Null would become a text.
SETTING: Schema = {"type": ["string", "number", "boolean", "object", "array"]}
SETTINGS: Schema = {"type": "object", "propertyNames": {"pattern": "^[a-z][a-z0-9_]*$"}}


def fields(**properties: Schema) -> Schema:
    """An object with these fields and no other."""
    return {"type": "object", "additionalProperties": False, "properties": properties}


def variables(settings: type[BaseSettings], but: Iterable[str] = ()) -> Schema:
    """Settings that go to a program's environment, where a name that it does not know would be ignored in silence."""
    return fields(**dict.fromkeys((name for name in settings.model_fields if name not in but), SETTING))


def by_name(name: Schema, each: Schema) -> Schema:
    """Things of one kind, each under its name; null takes one away."""
    return {"type": "object", "propertyNames": name, "additionalProperties": {**each, "type": ["object", "null"]}}


def choice(*values: str) -> Schema:
    """One of a few words."""
    return {"type": "string", "enum": list(values)}


def image() -> Schema:
    """Where an image comes from."""
    digest = {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}
    pull = choice("Always", "IfNotPresent", "Never")
    return fields(
        registry=TEXT, repository={"type": "string", "minLength": 1}, tag=TEXT, digest=digest, pullPolicy=pull
    )


def component(**own: Schema) -> Schema:
    """A program: what all have in common, and its own."""
    quantities = {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}}
    return fields(
        **own,
        resources=fields(requests=quantities, limits=quantities, claims={"type": ["array", "null"]}),
        priorityClassName=TEXT,
        nodeSelector=LABELS,
        tolerations=LIST,
        affinity=FREE,
        podLabels=LABELS,
        podAnnotations=LABELS,
    )


def custom(plural: str) -> Schema:
    """The spec of a custom resource, from its definition."""
    definition = yaml.safe_load((CHART / "crds" / f"{plural}.yaml").read_text(encoding="utf-8"))
    version = definition["spec"]["versions"][0]
    return fields(create=FLAG, spec=closed(version["schema"]["openAPIV3Schema"]["properties"]["spec"]))


def closed(schema: Schema) -> Schema:
    """Plain JSON Schema: CEL rules and defaults are the API server's business, unknown fields are refused."""
    kept = {key: value for key, value in schema.items() if not key.startswith("x-") and key != "default"}
    if "x-kubernetes-int-or-string" in schema:
        kept["type"] = ["integer", "string"]
    kept.pop("anyOf", None)
    if kept.pop("nullable", False):
        kept["type"] = [kept["type"], "null"]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if kept.pop(exclusive, None) is True:  # OpenAPI says with a flag what JSON Schema says with the number
            kept[exclusive] = kept.pop(bound)
    if "properties" in kept:
        kept["properties"] = {name: closed(each) for name, each in kept["properties"].items()}
        kept["additionalProperties"] = False
    if "items" in kept:
        kept["items"] = closed(kept["items"])
    further = kept.get("additionalProperties")
    if isinstance(further, dict):
        kept["additionalProperties"] = closed(further)
    return kept


def schema() -> Schema:
    """The whole schema."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart slackwater; generated by helm/schema.py",
        **fields(
            # helm hands this one to every chart.
            **{"global": FREE},
            image=image(),
            imagePullSecrets=PULL_SECRETS,
            runAsUser={"type": ["integer", "string", "null"], "minimum": 1, "pattern": "^cluster$"},
            listenAddress={"type": "string", "minLength": 1},
            clusterDomain={"type": "string", "minLength": 1},
            prometheus=prometheus(),
            **{name: custom(plural) for name, plural in CUSTOM.items()},
            policies=by_name(NAME, custom("slackpolicies")),
            admission=fields(mutating=choice("auto", "policy", "webhook", "on", "off"), guard=FLAG),
            extender=component(host=TEXT, port=PORT, logLevel=LEVEL, settings=SETTINGS, extraEnv=LIST),
            operator=operator(),
            scheduler=scheduler(),
            watchdog=component(
                enabled=FLAG,
                namespace=NAME,
                imagePullSecrets=PULL_SECRETS,
                patience={"type": "number", "minimum": 30},  # a crash of a leader takes 13 s
                rate={"type": "number", "exclusiveMinimum": 0, "maximum": 1000},
            ),
            webhook=component(replicas=REPLICAS, port=PORT, hostNetwork=FLAG),
            monitor=component(enabled=FLAG, port=PORT, settings=variables(MonitorSettings), extraEnv=LIST),
            tls=tls(),
            priorityClasses=fields(create=FLAG, batch=by_name(LONG_NAME, PRIORITY)),
            networkPolicy=fields(enabled=FLAG, prometheus=LIST, apiServer=LIST, extraIngress=LIST),
            podDisruptionBudget=fields(enabled=FLAG),
            monitoring=monitoring(),
            hooks=hooks(),
        ),
    }


PULL_SECRETS = {"type": "array", "items": {**fields(name={"type": "string", "minLength": 1}), "required": ["name"]}}
MATCHERS = {
    "type": "object",
    "propertyNames": {"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"},
    "additionalProperties": {"type": ["string", "null"], "minLength": 1},
}
LEVEL = choice("debug", "info", "warning", "error")
PRIORITY = fields(value={"type": "integer", "minimum": -2147483648, "maximum": 999998999}, description=TEXT)


def prometheus() -> Schema:
    """Where use is measured."""
    queries = ("node_cpu", "node_memory", "node_time", "pod_cpu", "pod_memory", "node_network")
    return fields(
        url={"type": "string", "pattern": "^(https?://.+)?$"},
        preset=choice("kubelet-resource", "cadvisor-node-exporter", "metrics-server-like"),
        window={"type": "number", "minimum": 2, "maximum": 3600},
        queries=fields(**{name: {"type": ["string", "null"]} for name in queries}),
        jobs=TEXT,
        nodeLabel=TEXT,
        tenant=TEXT,
        matchers=MATCHERS,
        auth=fields(secret=TEXT, tokenKey=TEXT, username=TEXT, passwordKey=TEXT, caKey=TEXT),
    )


# Of the operator: what is of one replica, or said elsewhere, too. With one name for all replicas, or without a Lease,
# each of them leads; what the watchdog does not see renewed it takes for dead; probes ask the chart's ports.
ITS_OWN = ("identity", "lead_alone", "kubeconfig", "namespace", "watchdog_namespace", "health_port", "metrics_port")


def operator() -> Schema:
    """The operator."""
    # Names, no wildcards, and nothing of the core group: they become a right to read in every namespace.
    owner = fields(group=LONG_NAME, resources={"type": "array", "items": LONG_NAME, "minItems": 1})
    return component(
        replicas=REPLICAS,
        healthPort=PORT,
        metricsPort=PORT,
        logLevel=LEVEL,
        settings=variables(OperatorSettings, but=ITS_OWN),
        may=fields(resize=FLAG, evict=FLAG),
        owners={"type": "array", "items": {**owner, "required": ["group", "resources"]}},
        extraEnv=LIST,
    )


def scheduler() -> Schema:
    """The second kube-scheduler."""
    positive = {"type": "integer", "minimum": 1}
    return component(
        enabled=FLAG,
        replicas=REPLICAS,
        image=image(),
        qps=positive,
        burst=positive,
        percentageOfNodesToScore={"type": "integer", "minimum": 0, "maximum": 100},
        profile={"type": "object", "not": {"required": ["schedulerName"]}},
        extender=fields(weight=positive, timeout=DURATION, ignorable=FLAG),
        featureGates=GATES,
        verbosity={"type": "integer", "minimum": 0, "maximum": 10},
    )


def tls() -> Schema:
    """Certificates."""
    issuer = fields(name=TEXT, kind=choice("Issuer", "ClusterIssuer"), group=TEXT)
    return fields(
        mode=choice("helm", "certManager", "existing"),
        days={"type": "integer", "minimum": 1, "maximum": 36500},
        renew={"type": ["string", "integer"]},
        clientName={"type": "string", "minLength": 1},
        certManager=fields(issuerRef=issuer, duration=DURATION, renewBefore=DURATION),
        existing=fields(extenderSecret=TEXT, schedulerSecret=TEXT, webhookSecret=TEXT, webhookAuthority=TEXT),
    )


def monitoring() -> Schema:
    """What Prometheus and Grafana pick up."""
    return fields(
        serviceMonitor=fields(enabled=FLAG, labels=LABELS, interval=DURATION, schedulerTokenSecret=TEXT),
        rules=fields(enabled=FLAG, labels=LABELS, runbooks=TEXT),
        dashboards=fields(enabled=FLAG, labels=LABELS, annotations=LABELS),
        stateMetrics=fields(enabled=FLAG),
    )


def hooks() -> Schema:
    """The Jobs around the life of the release."""
    common = component()["properties"]
    return fields(
        definitions=fields(enabled=FLAG),
        leave=fields(enabled=FLAG, waitSeconds=SECONDS, checkOwner=FLAG),
        **{name: common[name] for name in ("nodeSelector", "tolerations", "resources")},
    )


# What may be taken away with null as a whole: whoever reads it does without.
SPARED = ("resources", "spec")


def kept(part: Schema, defaults: Mapping[str, Any], filled: Mapping[str, Any]) -> Schema:
    """The same, but null takes no section and no default away that a template would miss, and does not fill in."""
    found = dict(part["properties"])
    required = []
    for name, default in defaults.items():
        section = "properties" in found[name] and name not in SPARED
        missed = default not in ("", {}, []) and (section or not isinstance(default, dict | list))
        if not missed or default == filled.get(name):
            continue
        required.append(name)
        if section and isinstance(default, dict):
            found[name] = kept(found[name], default, filled.get(name, {}))
    return {**part, "properties": found, **({"required": required} if required else {})}


def text() -> str:
    """The file's content."""
    defaults, filled = (
        yaml.safe_load((CHART / name).read_text(encoding="utf-8")) for name in ("values.yaml", "files/additions.yaml")
    )
    return json.dumps(kept(schema(), defaults, filled), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
