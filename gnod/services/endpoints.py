"""What goes where: each model server that the config names, who may use it, and who may not. Sends nothing."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from gnod.errors import EndpointFailed
from gnod.models import presets
from gnod.models.remote.models import RemoteModels
from gnod.models.uris import Endpoint, endpoint_of
from gnod.presets import MODEL_ROLES
from gnod.services.configuration import Configuration
from gnod.services.egress import EgressPolicy

MEMORIES = "memories"


class EndpointUse(NamedTuple):
    """`scope`: where the server is; None: not known, for the reason in `problem`. `addresses`: of its name. `allowed`
    and `left_out`: the collections (and "memories") that name it, by whether their texts may reach it. `key`: where the
    key comes from; None: no key, as far as is known."""

    uri: str
    roles: list[str]
    scope: str | None
    addresses: list[str]
    allowed: list[str]
    left_out: list[str]
    key: str | None
    problem: str | None


class EndpointReport:
    def __init__(self, configuration: Configuration, remote: RemoteModels, egress: EgressPolicy) -> None:
        self._configuration = configuration
        self._remote = remote
        self._egress = egress

    async def uses(self) -> list[EndpointUse]:
        """Return every endpoint in use. May ask for the addresses of names."""
        found: dict[str, tuple[Endpoint, dict[str, None], dict[str, None]]] = {}
        config = self._configuration.current
        for name in [*(each.name for each in config.collections), None]:
            roles = MODEL_ROLES if name else ("embed", "rerank")
            for role in roles:
                uri = presets.uri_for(config, role, name)
                if uri and (endpoint := endpoint_of(uri)):
                    _, of_roles, users = found.setdefault(uri, (endpoint, {}, {}))
                    of_roles[role] = None
                    users[name or MEMORIES] = None
        return await asyncio.gather(
            *(self._use(endpoint, list(roles), list(users)) for endpoint, roles, users in found.values())
        )

    async def _use(self, endpoint: Endpoint, roles: list[str], users: list[str]) -> EndpointUse:
        scope, addresses, problem, allowed = None, list[str](), None, list[str]()
        try:
            place = await self._remote.place(endpoint)
        except EndpointFailed as error:
            problem = error.message
        else:
            scope, addresses = place.scope, [address for address, _ in place.addresses]
            if scope == "any" and not endpoint.is_encrypted:
                problem = "it is outside of the local network, and http: is not encrypted: use https: in index.yml"
            else:
                allowed = [
                    user
                    for user in users
                    for egress in [
                        self._egress.of_memories() if user == MEMORIES else self._egress.of_collections([user])
                    ]
                    if egress.allows(place.scope)
                ]
        return EndpointUse(
            uri=str(endpoint),
            roles=roles,
            scope=scope,
            addresses=addresses,
            allowed=allowed,
            left_out=[user for user in users if user not in allowed],
            key=self._remote.key_source(endpoint),
            problem=problem,
        )
