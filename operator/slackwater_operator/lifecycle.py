"""kopf's part: log-in, and the life of the program. It watches nothing (docs/decisions)."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import kopf
import structlog

from slackwater.errors import Unavailable
from slackwater_operator.program import Program
from slackwater_operator.settings import Settings

log = structlog.get_logger(__name__)


def registry(program: Program, settings: Settings, stop: asyncio.Event) -> kopf.OperatorRegistry:
    """All handlers around one program. `stop` ends kopf when the program ends."""
    made = kopf.OperatorRegistry()
    running: list[asyncio.Task[None]] = []

    @kopf.on.login(registry=made)
    def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
        if settings.kubeconfig is not None:
            os.environ["KUBECONFIG"] = str(settings.kubeconfig)
        return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)

    @kopf.on.startup(registry=made)
    async def startup(settings: kopf.OperatorSettings, **_: Any) -> None:
        configure(settings)
        running.append(asyncio.create_task(_watched(program, stop), name="program"))

    @kopf.on.cleanup(registry=made)
    async def cleanup(**_: Any) -> None:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    return made


def configure(settings: kopf.OperatorSettings) -> None:
    """Make kopf a guest: it watches nothing, writes nothing of its own and elects nobody."""
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.queueing.idle_timeout = 0.2


async def _watched(program: Program, stop: asyncio.Event) -> None:
    """Run the program; its end is the end of the process, because half an operator is worse than none."""
    try:
        await program.run()
    except asyncio.CancelledError:
        raise
    except BaseExceptionGroup as problems:
        program.trouble = "; ".join(str(each) for each in problems.exceptions)
        _, unexpected = problems.split(Unavailable)  # a lost Lease is no bug, and needs no traceback
        log.exception("the operator ends", trouble=program.trouble, exc_info=unexpected)
    except Exception as problem:
        program.trouble = str(problem)
        log.exception("the operator ends", trouble=program.trouble)
    finally:
        stop.set()
