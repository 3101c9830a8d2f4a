"""Programs of ours that end are started again, as a kubelet does with their containers."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from slackwater.errors import SlackwaterError
from slackwater_lab.controlplane.services import SERVICES
from slackwater_lab.lab import Lab

PAUSE = 5.0  # seconds between two looks


@contextmanager
def keeping(lab: Lab) -> Iterator[None]:
    """Meanwhile a lease that is lost on a slow machine costs seconds, and not the rest of the suite."""
    over = Event()
    keeper = Thread(target=_keep, args=(lab, over), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join(60.0)


def _keep(lab: Lab, over: Event) -> None:
    while not over.wait(PAUSE):
        for name in SERVICES:
            started = lab.processes.find(name)
            if started and not started.alive:
                with suppress(SlackwaterError):  # where the API server does not answer in time either: later
                    lab.restart(name)
