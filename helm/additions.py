"""Writes files/additions.yaml: values that came after the first chart, with their defaults.

`python helm/additions.py` takes them from values.yaml. `helm upgrade --reuse-values` knows none but the values of the
release before it, so templates fill in these where they are absent (`slackwater.additions`).
"""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parent / "slackwater"
TARGET = CHART / "files" / "additions.yaml"
# A section that is new as a whole is named once.
PATHS = (
    "hooks.leave.checkOwner",
    "listenAddress",
    "policies",
    "prometheus.jobs",
    "prometheus.matchers",
    "runAsUser",
    "scheduler.featureGates",
    "tls.existing.webhookAuthority",
    "tls.existing.webhookSecret",
    "watchdog",
    "webhook",
)
HEAD = "# Generated from values.yaml: python helm/additions.py\n"


def text() -> str:
    """The file's content: the defaults where values.yaml has them."""
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    for path in PATHS:
        *above, name = path.split(".")
        there = reduce(lambda part, each: part.setdefault(each, {}), above, found)
        there[name] = reduce(lambda part, each: part[each], path.split("."), values)
    return HEAD + yaml.safe_dump(found, sort_keys=False, allow_unicode=True)


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
