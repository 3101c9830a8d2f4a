"""Where our programs listen is one value."""

from __future__ import annotations

import pytest
import yaml

from support.builders.chartvalues import SWITCHES
from support.lab.chart import named, objects, pod_specs

NEWEST = "1.37.0"
PROGRAMS = ("operator", "webhook", "monitor")


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_all_programs_listen_on_one_address(address: str) -> None:
    """Pods of some clusters have IPv6 addresses alone."""
    more = f"--set=monitor.enabled=true,prometheus.url=http://p,listenAddress={address}"
    found = objects(NEWEST, *SWITCHES["webhook"], more)
    settings = yaml.safe_load(named(found, "ConfigMap", "slackwater-extender")["data"]["extender.yaml"])
    assert settings["server"]["host"] == address
    for name in PROGRAMS:
        variables = pod_specs(found)[f"Deployment/slackwater-{name}"]["containers"][0]["env"]
        assert {"name": f"SLACKWATER_{name.upper()}_HOST", "value": address} in variables
