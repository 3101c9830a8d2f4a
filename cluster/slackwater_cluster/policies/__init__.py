"""The admission policies, generated: what happens to a pod at its creation, and who may change what afterwards.

`python -m slackwater_cluster.policies FOLDER` writes mutating.yaml, webhook.yaml and guard.yaml. The roles by label
come from the framework table, so that the API server and the resolver cannot disagree.
"""

from slackwater_cluster.policies.guard import guard
from slackwater_cluster.policies.mutating import mutating
from slackwater_cluster.policies.webhook import webhook

__all__ = ["guard", "mutating", "webhook"]
