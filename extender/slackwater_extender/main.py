"""`slackwater-extender`: settings in, a serving process out."""

from __future__ import annotations

import sys

from slackwater.errors import SlackwaterError
from slackwater_cluster.extras import part
from slackwater_extender.settings import load


def run() -> None:
    """The console script."""
    try:
        settings = load(sys.argv[1:])
    except SlackwaterError as problem:
        sys.exit(f"slackwater-extender: {problem}")
    # Imported late, so that --help and a typing mistake are answered at once.
    with part("extender"):
        from slackwater_cluster.api.endpoint import endpoint  # noqa: PLC0415
        from slackwater_cluster.logs import configure  # noqa: PLC0415
        from slackwater_extender.check import check  # noqa: PLC0415
        from slackwater_extender.server import Server  # noqa: PLC0415

    configure(settings.log_level, settings.log_format)
    if settings.check:
        sys.exit(0 if check(settings, say=_print) else 1)
    try:
        endpoint(settings.kubeconfig, settings.context)  # before a worker is started that could only fail
        Server(settings).run()
    except SlackwaterError as problem:
        sys.exit(f"slackwater-extender: {problem}")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    run()
