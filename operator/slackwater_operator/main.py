"""`slackwater-operator`: settings, logs, metrics, kopf; then the program until it is told to stop."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from slackwater_cluster.extras import part
from slackwater_cluster.settings import address, bare, last_word
from slackwater_operator.settings import Settings, load

if TYPE_CHECKING:
    from slackwater_operator.program import Program


def run() -> None:
    """The console script. Ends with 0 when told to stop, with 1 when something failed, with 2 on bad settings."""
    with last_word():
        settings = load(sys.argv[1:])
    # Imported late, so that --help and a typing mistake are answered at once.
    with part("operator"):
        import kopf  # noqa: F401, PLC0415 - what serve() needs is missed before anything starts
        from prometheus_client import start_http_server  # noqa: PLC0415

        from slackwater_cluster.api.endpoint import endpoint  # noqa: PLC0415
        from slackwater_cluster.logs import configure  # noqa: PLC0415
        from slackwater_operator.program import Program  # noqa: PLC0415
    with last_word():
        endpoint(settings.kubeconfig)  # before anything is started that could only fail
    configure(settings.log_level, settings.log_format)
    program = Program(settings)
    if settings.metrics_port:
        start_http_server(settings.metrics_port, bare(settings.host), registry=program.metrics.registry)
    asyncio.run(serve(program, settings))
    sys.exit(1 if program.trouble else 0)


async def serve(program: Program, settings: Settings) -> None:
    """Let kopf run the program."""
    import kopf  # noqa: PLC0415

    from slackwater_operator.lease.leader import identity  # noqa: PLC0415
    from slackwater_operator.lifecycle import registry  # noqa: PLC0415

    stop = asyncio.Event()
    health = f"http://{address(settings.host, settings.health_port)}/healthz" if settings.health_port else None
    await kopf.operator(
        registry=registry(program, settings, stop),
        identity=identity(settings),  # type: ignore[arg-type]  # kopf keeps its name for this string to itself
        standalone=True,
        clusterwide=True,
        liveness_endpoint=health,
        stop_flag=stop,
    )


if __name__ == "__main__":
    run()
