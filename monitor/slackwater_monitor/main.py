"""`slackwater-monitor`: the dashboard as a serving process."""

from __future__ import annotations

import sys

from slackwater.errors import SlackwaterError
from slackwater_monitor.settings import load


def run() -> None:
    """The console script."""
    try:
        settings = load(sys.argv[1:])
        # Imported late, so that --help and a typing mistake are answered at once.
        from slackwater_monitor.web.server import serve_cluster  # noqa: PLC0415

        serve_cluster(settings)
    except SlackwaterError as problem:
        sys.exit(f"slackwater-monitor: {problem}")


if __name__ == "__main__":
    run()
