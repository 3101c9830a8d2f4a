"""The admission policies, generated: what happens to a pod at its creation, and who may change what afterwards.

`python -m slackwater_cluster.admissionpolicies FOLDER` writes mutating.yaml, webhook.yaml and guard.yaml. The roles by
label come from the framework table, so that the API server and the resolver cannot disagree.
"""

from slackwater_cluster.admissionpolicies.guard import guard
from slackwater_cluster.admissionpolicies.mutating import mutating
from slackwater_cluster.admissionpolicies.webhook import webhook

__all__ = ["guard", "mutating", "webhook"]
