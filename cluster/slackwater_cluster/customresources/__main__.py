"""`python -m slackwater_cluster.customresources FOLDER` writes the CustomResourceDefinitions, one file per kind."""

import sys
from pathlib import Path

from slackwater_cluster.customresources.definition import KINDS, definition
from slackwater_cluster.manifests import render, write

COMMAND = "python -m slackwater_cluster.customresources helm/slackwater/crds"


def files() -> dict[str, str]:
    """Every definition by the name of its file."""
    return {f"{kind.plural}.yaml": render([definition(kind)], COMMAND) for kind in KINDS}


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "helm/slackwater/crds"), files())
