"""`slackwater-operator`: settings, logs, metrics, kopf; then the program until it is told to stop."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from slackwater_cluster.extras import part
from slackwater_cluster.settings import bare, last_word
from slackwater_operator.settings import Settings, load

if TYPE_CHECKING:
    from slackwater_operator.program import Program
    from slackwater_operator.status.healthpage import HealthPage


def run() -> None:
    """The console script. Ends with 0 when told to stop, with 1 when something failed, with 2 on bad settings."""
    with last_word():
        settings = load(sys.argv[1:])
    # Imported late, so that --help and a typing mistake are answered at once.
    with part("operator"):
        import kopf  # noqa: F401, PLC0415 - what serve() needs is missed before anything starts
        from prometheus_client import make_wsgi_app  # noqa: PLC0415

        from slackwater_cluster.api.endpoint import endpoint  # noqa: PLC0415
        from slackwater_cluster.logs import configure  # noqa: PLC0415
        from slackwater_cluster.servers.statuspages import StatusServer  # noqa: PLC0415
        from slackwater_operator.program import Program  # noqa: PLC0415
        from slackwater_operator.status.healthpage import HealthPage  # noqa: PLC0415
    with last_word():
        endpoint(settings.kubeconfig)  # before anything is started that could only fail
    configure(settings.log_level, settings.log_format)
    program = Program(settings)
    health = HealthPage(program)
    for port, page in (
        (settings.metrics_port, make_wsgi_app(program.metrics.registry)),
        (settings.health_port, health),
    ):
        if port:
            StatusServer(bare(settings.host), port, page).start()
    asyncio.run(serve(program, settings, health))
    sys.exit(1 if program.trouble else 0)


async def serve(program: Program, settings: Settings, health: HealthPage | None = None) -> None:
    """Let kopf run the program, and let its loop tell how it is."""
    import kopf  # noqa: PLC0415

    from slackwater_operator.lease.leader import identity  # noqa: PLC0415
    from slackwater_operator.lifecycle import registry  # noqa: PLC0415

    stop = asyncio.Event()
    following = asyncio.create_task(health.follow()) if health else None
    await kopf.operator(
        registry=registry(program, settings, stop),
        identity=identity(settings),  # type: ignore[arg-type]  # kopf keeps its name for this string to itself
        standalone=True,
        clusterwide=True,
        stop_flag=stop,
    )
    if following is not None:
        following.cancel()


if __name__ == "__main__":
    run()
