"""What pods and nodes are to the ledger."""

import msgspec
import pytest

from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_cluster.objects.records import NodeRecord, PodRecord
from slackwater_extender.cache.conversion import claim, node_spec

KINDS = ("cpu", "memory")
POD = PodRecord(name="p", uid="u", node="a", native=Resources(cpu=1.0), declared=Resources(cpu=2.0))


@pytest.mark.parametrize(("managed", "cpu"), [(True, 2.0), (False, 1.0)], ids=["managed", "elsewhere"])
def test_only_pods_that_passed_our_policy_declare(managed: bool, cpu: float) -> None:
    """Outside managed namespaces anybody may write the annotations."""
    made = claim(msgspec.structs.replace(POD), KINDS, role=Role.TASK, app="", managed=managed)
    assert made.declared[0] == cpu


@pytest.mark.parametrize("created", [0.0, 1_767_225_600.0], ids=["not told", "told"])
def test_a_node_tells_when_it_was_made(created: float) -> None:
    """What was measured before is another machine's use; where it is not told, everything is believed."""
    assert node_spec(NodeRecord(name="n", uid="u", created=created), KINDS, {}).created == created
