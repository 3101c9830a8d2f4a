"""The queries of dashboards and alerts, and what they ask for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import promql_parser
import yaml

from support.lab.chart import CHART

# What Grafana puts in before Prometheus sees a query.
FILLED_IN = {"$__rate_interval": "5m", "$node": ".*", "$queue": ".*", "$user": "label_slackwater_io_user"}
CHILDREN = ("lhs", "rhs", "expr", "param", "vector_selector")


def dashboards() -> dict[str, Any]:
    """The chart's dashboards by name."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((CHART / "files" / "dashboards").glob("*.json"))
    }


@cache
def alerts() -> list[dict[str, Any]]:
    """The chart's alerts."""
    found = yaml.safe_load((CHART / "files" / "rules" / "alerts.yaml").read_text(encoding="utf-8"))
    return [rule for group in found["groups"] for rule in group["rules"]]


def queries() -> dict[str, str]:
    """Every query by the place where it stands, as Prometheus would get it."""
    found = {
        f"{name}: {panel['title']} {target['refId']}": target["expr"]
        for name, page in dashboards().items()
        for panel in page["panels"]
        for target in panel.get("targets", ())
    }
    found |= {f"alert: {rule['alert']}": rule["expr"] for rule in alerts()}
    return {place: filled_in(query) for place, query in found.items()}


def filled_in(query: str) -> str:
    """A query with Grafana's variables replaced."""
    for name, value in FILLED_IN.items():
        query = query.replace(name, value)
    return query


def selectors(query: str) -> Iterator[tuple[str, set[str]]]:
    """Each metric a query selects, with the labels it is selected by. Raises where the query does not parse."""
    yield from _selectors(promql_parser.parse(query))


def _selectors(node: Any) -> Iterator[tuple[str, set[str]]]:
    if type(node).__name__ == "VectorSelector":
        yield node.name, {matcher.name for matcher in node.matchers.matchers}
        return
    below = [getattr(node, name, None) for name in CHILDREN] + list(getattr(node, "args", ()))
    for each in below:
        if each is not None:
            yield from _selectors(each)
