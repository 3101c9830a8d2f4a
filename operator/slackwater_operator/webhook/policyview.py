"""The policy of each namespace, kept by two watches: all that the webhook has to know."""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.api.session import Session
from slackwater_cluster.customresources import SlackPolicySpec
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord
from slackwater_cluster.watch import sources
from slackwater_cluster.watch.reflector import Reflector
from slackwater_operator.cache.watch import Feed

POLICY = "SlackPolicy"
MISSING = 404
# For the one question about a namespace that is newer than our watch; a creation waits for it.
SECONDS = 1.0


class PolicyView:
    """Namespaces and SlackPolicies as they were last written."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.governing = Governance()
        self._namespaces: Feed[NamespaceRecord] = Feed(self._set_namespaces, self._drop_namespaces)
        self._policies: Feed[CustomRecord] = Feed(self._set, self._drop)

    @property
    def complete(self) -> bool:
        """Whether both were listed."""
        return self._namespaces.complete.is_set() and self._policies.complete.is_set()

    async def run(self) -> None:
        """Watch until cancelled. Without our definitions there is no policy, and every pod stays as it is."""
        await sources.reflect(
            [
                Reflector(self._session, sources.NAMESPACES, self._namespaces),
                Reflector(self._session, sources.customs(POLICY), self._policies),
            ]
        )

    async def policy(self, namespace: str) -> tuple[SlackPolicySpec, bool] | None:
        """The SlackPolicy that a namespace names, and whether its gate is open; None where none has that name."""
        if not self.complete:
            raise Unavailable("namespaces and SlackPolicies are not listed yet")
        known = self.governing.namespaces.get(namespace)
        name = known.policy if known else await self._asked(namespace)
        spec = self.governing.policies.get(name)
        return None if spec is None else (spec, self.governing.gate_open(name))

    async def _asked(self, namespace: str) -> str:
        """A namespace that was made a moment ago may be asked about before our watch tells of it."""
        answer = await self._session.get(api_path("namespaces", namespace), seconds=SECONDS)
        if answer.status == MISSING:
            return ""
        if not answer.ok:
            raise Unavailable(answer.message())
        labels = answer.json()["metadata"].get("labels") or {}
        return str(labels.get(names.POLICY, names.DEFAULT_POLICY))

    def _set_namespaces(self, records: Sequence[NamespaceRecord]) -> None:
        self.governing.set_namespaces(records)

    def _drop_namespaces(self, records: Sequence[NamespaceRecord]) -> None:
        self.governing.drop_namespaces(records)

    def _set(self, records: Sequence[CustomRecord]) -> None:
        self.governing.set(POLICY, records)

    def _drop(self, records: Sequence[CustomRecord]) -> None:
        self.governing.drop(POLICY, records)
