"""`python -m slackwater_operator.webhook`: answers API servers that know no MutatingAdmissionPolicy.

It holds namespaces and SlackPolicies, and nothing else: every replica answers, whichever operator leads. Which pods are
asked about, and the dead-man switch, are conditions of the webhook's configuration: the API server looks at them.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path

import structlog
from pydantic import Field
from pydantic_settings import BaseSettings

from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.settings import flags, last_word, program, refusing
from slackwater_cluster.watch import garbage
from slackwater_operator.webhook.policyview import PolicyView
from slackwater_operator.webhook.reviews import ReviewServer

log = structlog.get_logger(__name__)


class WebhookSettings(BaseSettings):
    """Everything that can be set, with unit and the reason for the number."""

    model_config = program("webhook")

    kubeconfig: Path | None = Field(
        default=None, description="A kubeconfig; else the pod's account, else ~/.kube/config."
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on; loopback unless you say so.")
    port: int = Field(default=8443, ge=1, le=65535, description="An API server speaks HTTPS with a webhook, always.")
    certificate: Path = Field(description="PEM file of the server's certificate chain.")
    key: Path = Field(description="PEM file of its private key.")
    renewal_period: float = Field(
        default=30.0, gt=0, le=3600, description="Seconds between two looks whether the certificate was renewed."
    )
    log_level: str = Field(default="info", description="debug, info, warning or error.")


async def serve(settings: WebhookSettings) -> None:
    """Run until stopped; a watch that ends takes the server along."""
    async with Session(endpoint(settings.kubeconfig)) as session:
        view = PolicyView(session)
        server = ReviewServer(view, settings.certificate, settings.key)
        # What was loaded stays: to go over it takes 60 to 200 ms, in which nobody would be answered.
        garbage.set_apart()
        async with server.listening(settings.host, settings.port), asyncio.TaskGroup() as group:
            log.info("the webhook listens", host=settings.host, port=settings.port)
            group.create_task(view.run(), name="watches")
            group.create_task(server.renew(settings.renewal_period), name="certificate")


async def until_told(settings: WebhookSettings) -> None:
    """Serve until a signal; questions that are being answered get their answer."""
    work = asyncio.create_task(serve(settings))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
    with suppress(asyncio.CancelledError):
        await work


def main() -> None:
    """The program."""
    from slackwater_cluster.logs import configure  # noqa: PLC0415 - a typing mistake is answered at once

    with last_word():
        with refusing("webhook"):
            settings = WebhookSettings(_cli_settings_source=flags(WebhookSettings, sys.argv[1:]))  # pyright: ignore[reportCallIssue]
        configure(settings.log_level)
        asyncio.run(until_told(settings))


if __name__ == "__main__":
    main()
