"""Waits for something to come true, and explains itself when it does not. Patience is in seconds of ours."""

import time
from collections.abc import Callable

import httpx2

from slackwater.errors import Unavailable
from slackwater_lab.processes.processes import Processes
from slackwater_lab.processes.stealtime import Stopwatch


def until(what: str, probe: Callable[[], bool], patience: float = 60.0, pause: float = 0.1) -> float:
    """Ask again and again until the probe says yes; returns the seconds it took."""
    start, watch = time.monotonic(), Stopwatch()
    while not probe():
        if watch.seconds > patience:
            raise Unavailable(f"{what}: not within {patience:.0f} s")
        time.sleep(pause)
    return time.monotonic() - start


def until_serving(processes: Processes, name: str, probe: Callable[[], bool], patience: float = 60.0) -> float:
    """As `until`, for a server of the lab: a dead process is reported at once, with its last words."""

    def alive_and_serving() -> bool:
        started = processes.find(name)
        if started is None or not started.alive:
            raise Unavailable(f"{name} ended; its log {processes.log(name)} says:\n{processes.tail(name)}")
        return probe()

    return until(f"{name} answers (log: {processes.log(name)})", alive_and_serving, patience)


def answers(url: str) -> bool:
    """Whether a server answers this address with success. Health only: its certificate does not matter here."""
    try:
        return httpx2.get(url, verify=False, timeout=2.0).is_success
    except httpx2.TransportError:
        return False
