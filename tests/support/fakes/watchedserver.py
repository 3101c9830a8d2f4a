"""As much of an API server as the watchdog asks for: a Lease, the switch, and held pods."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from slackwater_operator.lease.watchdog import holder

LEASE = "/apis/coordination.k8s.io/v1/namespaces/slackwater-system/leases/slackwater-operator"
SWITCH = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/slackwater-holding"


class WatchedServer:
    """As much of an API server as the watchdog asks for."""

    def __init__(self) -> None:
        self.renewed: str | None = "1"
        self.turned: str | None = None  # when the leader's loop last turned, as the Lease says; None: it does not say
        self.subjects: list[Any] = [holder("slackwater-system")]
        self.pods: dict[str, dict[str, Any]] = {}
        self.freed: list[str] = []
        self.away = False
        self.forbidden = 0  # the status with which it refuses to show the Lease
        self.wrong: Any = None  # what it answers instead, whatever it is asked
        self.switched: list[bool] = []  # each turn of the switch: whether it went on
        self.refused: set[str] = set()  # pods whose gate cannot be lifted
        self.tried: list[str] = []
        self.spend: Callable[[float], None] = lambda _: None  # the time that a list, or a write, takes
        self.slow: dict[str, float] = {}  # pods whose write is answered after so many seconds
        self.under_way, self.most = 0, 0  # such writes, and the most there were at once
        self.wait: Callable[[float], Awaitable[None]] = asyncio.sleep

    def hold(self, name: str, created: str, gate: str = names.GATE) -> None:
        """A held pod."""
        meta = {"name": name, "namespace": "team", "uid": name, "creationTimestamp": created}
        self.pods[name] = {"metadata": meta, "spec": {"schedulingGates": [{"name": gate}]}}

    async def get(self, path: str, params: Mapping[str, str] | None = None, *, seconds: float, most: int = 0) -> Answer:
        """Reads."""
        del seconds, most
        if self.away:
            raise Unavailable("away")
        if self.wrong is not None:
            return Answer(200, self.wrong)
        if path == LEASE:
            if self.forbidden:
                return Answer(self.forbidden, b'{"message": "may not get leases"}')
            if self.renewed is None:
                return Answer(404, b"{}")
            noted = {"annotations": {names.TURNED: self.turned}} if self.turned is not None else {}
            return self._said({"metadata": noted, "spec": {"holderIdentity": "a", "renewTime": self.renewed}})
        if path == SWITCH:
            return self._said({"subjects": self.subjects})
        assert path == "/api/v1/pods"
        assert params is not None
        assert "spec.nodeName=" in params["fieldSelector"]
        self.spend(0.1)
        start, limit = int(params.get("continue") or 0), int(params["limit"])
        page, more = list(self.pods.values())[start : start + limit], start + limit < len(self.pods)
        return self._said({"metadata": {"continue": str(start + limit) if more else ""}, "items": page})

    async def write(self, method: str, path: str, body: Any, *, content_type: str, seconds: float = 90.0) -> Answer:
        """Writes."""
        del content_type
        assert method == "PATCH"
        if path == SWITCH:
            self.subjects = body["subjects"]
            self.switched.append(bool(self.subjects))
        else:
            name = path.rpartition("/")[2]
            self.tried.append(name)
            self.spend(0.02)
            await self._answered(self.slow.get(name, 0.0), seconds)
            if name in self.refused:
                return Answer(422, b"{}")
            del self.pods[name]
            self.freed.append(name)
        return Answer(200, b"{}")

    async def _answered(self, after: float, seconds: float) -> None:
        """An answer comes after so many seconds; who asked waits for fewer."""
        if not after:
            return
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.wait(min(after, seconds))
        finally:
            self.under_way -= 1
        if after > seconds:
            raise Unavailable("no answer")

    @staticmethod
    def _said(body: Any) -> Answer:
        return Answer(200, msgspec.json.encode(body))
