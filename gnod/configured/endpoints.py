"""The model servers that the config names: who may use each one, who may not, and when it last received something.
Sends nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from gnod.config.model_uris import Endpoint, endpoint_of
from gnod.configured.configuration import Configuration
from gnod.configured.egress_gate import MEMORIES, MEMORY_ROLES, EgressPolicy
from gnod.egress import Purpose, Scope
from gnod.errors import EgressForbidden, EndpointFailed
from gnod.models.remote.models import RemoteModels
from gnod.presets import MODEL_ROLES, ModelRole
from gnod.store.tables.egress_journal import TOGETHER


class EndpointUse(NamedTuple):
    """`scope`: where the server is; None if unknown (`problem` says why). `addresses`: the IP addresses of its name.
    `allowed`: the collections (and "memories") that name it and whose texts may reach it; `left_out`: the others that
    name it. `key`: the source of the key; None: no key is known. `last_sent`: seconds since 1970; None: never."""

    uri: str
    roles: list[ModelRole]
    scope: str | None
    addresses: list[str]
    allowed: list[str]
    left_out: list[str]
    key: str | None
    problem: str | None
    last_sent: float | None


EndpointUses = Callable[[], Awaitable[list[EndpointUse]]]
"""Returns every endpoint in use. A daemon passes its `endpoint_uses`."""


class _User(NamedTuple):
    """`name`: the name of a collection; None for the memories."""

    role: ModelRole
    name: str | None

    @property
    def shown(self) -> str:
        return self.name or MEMORIES

    @property
    def purpose(self) -> Purpose:
        if self.name is None:
            return Purpose(self.role, "memories")
        return Purpose(self.role, collections=(self.name,), users=(self.name,))


async def endpoint_uses(configuration: Configuration, remote: RemoteModels, egress: EgressPolicy) -> list[EndpointUse]:
    """Return every endpoint in use. May resolve names."""
    found: dict[str, tuple[Endpoint, list[_User]]] = {}
    config = configuration.current
    users = [_User(role, collection.name) for collection in config.collections for role in MODEL_ROLES]
    for user in [*users, *(_User(role, None) for role in MODEL_ROLES if role in MEMORY_ROLES)]:
        uri = config.model_for(user.role, user.name)
        if uri and (endpoint := endpoint_of(uri)):
            found.setdefault(uri, (endpoint, []))[1].append(user)
    sent: dict[str, float] = {}
    for line in await asyncio.to_thread(egress.journal.lines) if found else ():
        if line.collection == TOGETHER:
            sent[line.address] = max(line.last, sent.get(line.address, 0.0))
    uses = [_use(remote, egress, endpoint, users, sent.get(uri)) for uri, (endpoint, users) in found.items()]
    return await asyncio.gather(*uses)


async def _use(
    remote: RemoteModels, egress: EgressPolicy, endpoint: Endpoint, users: list[_User], last_sent: float | None
) -> EndpointUse:
    scope: Scope | None = None
    addresses, problem, allowed = list[str](), None, list[str]()
    try:
        place = await remote.place(endpoint, Purpose(users[0].role, "check"))
    except (EndpointFailed, EgressForbidden) as error:
        problem = error.message
    else:
        scope, addresses = place.scope, [address for address, _ in place.addresses]
        if scope == "any" and not endpoint.is_encrypted:
            problem = "it is outside the local network, and http: is not encrypted: use https: in index.yml"
        else:
            allowed = [user.shown for user in users if _may(egress, endpoint, user, place.scope)]
    return EndpointUse(
        uri=str(endpoint),
        roles=list(dict.fromkeys(user.role for user in users)),
        scope=scope,
        addresses=addresses,
        allowed=list(dict.fromkeys(allowed)),
        left_out=list(dict.fromkeys(user.shown for user in users if user.shown not in allowed)),
        key=remote.key_source(endpoint),
        problem=problem,
        last_sent=last_sent,
    )


def _may(egress: EgressPolicy, endpoint: Endpoint, user: _User, scope: Scope) -> bool:
    try:
        return egress.within(str(endpoint), user.purpose).allows(scope)
    except EgressForbidden:
        return False
