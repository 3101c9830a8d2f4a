"""What a pod counts for in the ledger."""

import msgspec
import pytest

from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_cluster.objects.records import PodRecord
from slackwater_extender.cache.conversion import claim

KINDS = ("cpu", "memory")
POD = PodRecord(name="p", uid="u", node="a", native=Resources(cpu=1.0), declared=Resources(cpu=2.0))


@pytest.mark.parametrize(("managed", "cpu"), [(True, 2.0), (False, 1.0)], ids=["managed", "elsewhere"])
def test_only_pods_that_passed_our_policy_declare(managed: bool, cpu: float) -> None:
    """Outside managed namespaces anybody may write the annotations."""
    made = claim(msgspec.structs.replace(POD), KINDS, role=Role.TASK, app="", managed=managed)
    assert made.declared[0] == cpu
