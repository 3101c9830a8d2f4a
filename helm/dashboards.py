"""Writes the Grafana dashboards: `python helm/dashboards.py` turns helm/dashboards/*.yaml into the chart's JSON.

The YAML holds what a person decides: rows of panels, each with its queries by legend, a unit, and what to look for.
Everything else that Grafana wants is the same for all panels of a kind, and is added here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

SOURCES = Path(__file__).parent / "dashboards"
TARGET = Path(__file__).parent / "slackwater" / "files" / "dashboards"
PROMETHEUS = {"type": "prometheus", "uid": "${datasource}"}
PAGE = 24  # columns of Grafana's grid

Json = dict[str, Any]

OPTIONS: dict[str, Json] = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom"},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value", "graphMode": "area"},
    "heatmap": {
        "calculate": True,
        "calculation": {"yBuckets": {"mode": "count", "value": "20"}},
        "color": {"scheme": "Oranges"},
    },
    "status-history": {"showValue": "never", "legend": {"showLegend": False}, "rowHeight": 0.95},
    "table": {},
}


def dashboard(name: str, source: Json) -> Json:
    """A whole page."""
    chooser = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    return {
        "uid": f"slackwater-{name}",
        "title": f"Slackwater / {source['title']}",
        "tags": ["slackwater"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "",
        "templating": {"list": [chooser, *map(variable, source.get("variables", []))]},
        "links": [{"type": "dashboards", "tags": ["slackwater"], "asDropdown": True, "title": "Slackwater"}],
        "panels": list(laid_out(source["rows"])),
    }


def variable(source: Json) -> Json:
    """A choice at the top of the page: among the values of a label, or any text."""
    named = {"name": source["name"], "label": source["label"]}
    if "text" in source:
        text = source["text"]
        return {**named, "type": "textbox", "query": text, "current": {"text": text, "value": text}}
    return {
        **named,
        "type": "query",
        "datasource": PROMETHEUS,
        "query": {"query": source["values"], "refId": source["name"]},
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
        "refresh": 2,
    }


def laid_out(rows: list[Json]) -> Iterator[Json]:
    """Panels from left to right, as many in a line as fit; each row under its title."""
    number, y = 0, 0
    for row in rows:
        number += 1
        place = {"x": 0, "y": y, "w": PAGE, "h": 1}
        yield {"id": number, "type": "row", "title": row["row"], "collapsed": False, "gridPos": place}
        y, x, deepest = y + 1, 0, 0
        for source in row["panels"]:
            width, height = source.get("width", 12), source.get("height", 8)
            if x + width > PAGE:
                y, x, deepest = y + deepest, 0, 0
            number += 1
            yield {"id": number, "gridPos": {"x": x, "y": y, "w": width, "h": height}, **panel(source)}
            x, deepest = x + width, max(deepest, height)
        y += deepest


def panel(source: Json) -> Json:
    """One picture."""
    kind = source.get("kind", "timeseries")
    return {
        "type": kind,
        "title": source["title"],
        "description": source.get("about", ""),
        "datasource": PROMETHEUS,
        "fieldConfig": {"defaults": field(kind, source), "overrides": []},
        "options": OPTIONS[kind],
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": PROMETHEUS,
                "expr": query,
                "legendFormat": legend,
                **({"instant": True, "range": False, "format": "table"} if kind == "table" else {"range": True}),
            }
            for place, (legend, query) in enumerate(source["queries"].items())
        ],
    }


def field(kind: str, source: Json) -> Json:
    """Unit, limits and colours of the values."""
    found: Json = {"unit": source.get("unit", "short")}
    if kind == "timeseries":
        stacked = source.get("stacked", False)
        found["custom"] = {
            "lineWidth": 2,
            "fillOpacity": 25 if stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": "normal" if stacked else "none"},
        }
    if "most" in source:
        found |= {"min": 0, "max": source["most"]}
    if "steps" in source:
        steps = [{"value": value, "color": colour} for value, colour in source["steps"]]
        found |= {"thresholds": {"mode": "absolute", "steps": steps}, "color": {"mode": "thresholds"}}
    return found


def files() -> dict[str, str]:
    """The dashboards by the name of their file."""
    found = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(SOURCES.glob("*.yaml"))}
    return {
        f"{name}.json": json.dumps(dashboard(name, source), indent=1, ensure_ascii=False) + "\n"
        for name, source in found.items()
    }


if __name__ == "__main__":
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (TARGET / name).write_text(text, encoding="utf-8")
