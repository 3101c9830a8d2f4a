"""`python -m slackwater_cluster.admissionpolicies FOLDER` writes the admission policies."""

from slackwater_cluster.admissionpolicies.guard import guard
from slackwater_cluster.admissionpolicies.mutating import mutating
from slackwater_cluster.admissionpolicies.webhook import webhook
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.manifests import command, render

COMMAND = "python -m slackwater_cluster.admissionpolicies helm/slackwater/files"


def files() -> dict[str, str]:
    """The policies by the name of their file."""
    return {
        "mutating.yaml": render(mutating(builtin().rules()), COMMAND),
        "webhook.yaml": render(webhook(), COMMAND),
        "guard.yaml": render(guard(), COMMAND),
    }


if __name__ == "__main__":
    command(__doc__, COMMAND, files)
