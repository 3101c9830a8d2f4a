"""The election outlives an API server that is away."""

from typing import Any

import pytest
from kubernetes.client.exceptions import ApiException
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from urllib3.exceptions import MaxRetryError, ReadTimeoutError

from slackwater_operator.leader import Attempts


class Away:
    """A Lease API whose server cannot be reached."""

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    def read_namespaced_lease(self, *_: Any, **named: Any) -> None:
        """Fail as the library's HTTP client does; every call has a time limit."""
        assert named["_request_timeout"] > 0
        raise self._problem


@pytest.mark.parametrize(
    "problem",
    [MaxRetryError(None, "/leases", "refused"), ReadTimeoutError(None, "/leases", "silent")],  # type: ignore[arg-type]
    ids=["refused", "silent"],
)
def test_a_server_that_is_away_is_a_failed_attempt(problem: Exception) -> None:
    """The lock says no and keeps the reason; the election's loop goes on to its next try."""
    lock = LeaseLock("lease", "here", "me")  # type: ignore[no-untyped-call]  # the client library has no types
    lock.api_instance = Attempts(Away(problem), 5.0)  # type: ignore[assignment]  # it stands in for the API
    found, why = lock.get("lease", "here")  # type: ignore[no-untyped-call]
    assert not found
    assert isinstance(why, ApiException)
    assert why.reason == str(problem)
