"""The webhook's configuration: the same pods as the policy, and no way around it while the webhook is down."""

from typing import Any

from slackwater_cluster.admissionpolicies import guard, mutating, webhook
from slackwater_cluster.admissionpolicies.mutating import FORGED, holding, somebody_leads
from slackwater_cluster.frameworks import builtin

Object = dict[str, Any]


def entries() -> list[Object]:
    """Both entries, in the order in which they are asked."""
    found: list[Object] = webhook()[-1]["webhooks"]
    return found


def policy() -> Object:
    """The specification of the policy."""
    found: Object = next(each for each in mutating(builtin().rules()) if each["kind"] == "MutatingAdmissionPolicy")
    return found["spec"]  # type: ignore[no-any-return]


def test_both_entries_see_the_pods_of_the_policy_and_no_others() -> None:
    """Namespaces, rules and conditions are the policy's own; the dead-man switch is among them."""
    wanted, constraints = policy(), policy()["matchConstraints"]
    for entry in entries():
        assert entry["namespaceSelector"] == constraints["namespaceSelector"]
        assert entry["rules"] == constraints["resourceRules"]
        assert entry["matchConditions"][1:] == wanted["matchConditions"]
        assert entry["matchConditions"][-1]["expression"] == somebody_leads()
        assert entry["reinvocationPolicy"] == wanted["reinvocationPolicy"] == "Never"


def test_a_forged_pod_never_passes_while_the_webhook_is_down_and_every_other_does() -> None:
    """The two conditions exclude each other, so no pod is shrunk twice."""
    forged, plain = entries()
    assert (forged["failurePolicy"], forged["matchConditions"][0]["expression"]) == ("Fail", FORGED)
    assert (plain["failurePolicy"], plain["matchConditions"][0]["expression"]) == ("Ignore", f"!{FORGED}")


def test_the_switch_comes_with_either_way() -> None:
    """The watchdog turns one and the same binding."""
    assert webhook()[:-1] == mutating(builtin().rules())[: len(holding())] == holding()


def test_our_annotations_are_refused_while_nobody_writes_them() -> None:
    """With the dead-man switch off neither policy nor webhook overwrites what a creator forged."""
    creations = next(each for each in guard() if each["metadata"]["name"] == "slackwater-guard-creations")
    rules = [each["expression"] for each in creations["spec"]["validations"]]
    assert any(somebody_leads() in rule for rule in rules)
