"""`python -m slackwater_cluster.customresources FOLDER` writes the CustomResourceDefinitions, one file per kind."""

from slackwater_cluster.customresources.definition import KINDS, definition
from slackwater_cluster.manifests import command, render

COMMAND = "python -m slackwater_cluster.customresources helm/slackwater/crds"


def files() -> dict[str, str]:
    """Every definition by the name of its file."""
    return {f"{kind.plural}.yaml": render([definition(kind)], COMMAND) for kind in KINDS}


if __name__ == "__main__":
    command(__doc__, COMMAND, files)
