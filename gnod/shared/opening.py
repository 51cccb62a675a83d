"""Open the engine at an address, through the gate and with the token of its host.

Tokens come from the environment or the system's keyring. They never appear in logs, messages or files.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping

from gnod.config.shared_addresses import SharedAddress, in_brackets
from gnod.egress import Egress, Gate, Purpose, Scope
from gnod.errors import EgressForbidden, Unreachable
from gnod.models.remote import keys
from gnod.models.remote.addresses import Addresses, EndpointAddress
from gnod.shared.milvus.client import DEFAULT_TIMEOUT_S, MilvusConnection, TokenRefused
from gnod.shared.milvus.engine import MilvusEngine
from gnod.shared.relay import Relay

# `keyring set gnod-shared host:port` stores a token.
SERVICE = "gnod-shared"


async def open_engine(
    address: SharedAddress, gate: Gate, purpose: Purpose, addresses: Addresses, timeout_s: float = DEFAULT_TIMEOUT_S
) -> MilvusEngine:
    """Return an engine that has answered. The gate checks each request when it is sent. Raises EgressForbidden,
    DependencyMissing, Unreachable and EngineFailed."""
    gate.within(str(address), purpose)  # check this before the name is resolved
    place = await place_of(address, addresses)
    token = token_from_environment(address)
    try:
        return await _opened(MilvusConnection(address, relay_to(address, place, gate, purpose), token, timeout_s))
    except TokenRefused:
        # The keyring may prompt the user, so use it only for servers that require a token.
        found = None if token else await keys.secret(SERVICE, account(address))
        if found is None:
            raise TokenRefused(f"{address} requires a valid token: {remedy(address)}") from None
        return await _opened(MilvusConnection(address, relay_to(address, place, gate, purpose), found, timeout_s))


def relay_to(address: SharedAddress, place: EndpointAddress, gate: Gate, purpose: Purpose) -> Relay:
    """Return a relay to one of the engine's IP addresses that are within the scope now. Raises EgressForbidden."""
    host, scope = _within(address, place, gate.within(str(address), purpose))

    def check() -> None:
        _within(address, EndpointAddress([(host, scope)], scope), gate.within(str(address), purpose))

    return Relay(host, address.port, gate, str(address), purpose, check)


async def place_of(address: SharedAddress, addresses: Addresses) -> EndpointAddress:
    """Raises Unreachable if the name has no address."""
    try:
        return await addresses.locate(address.host, address.port)
    except (OSError, TimeoutError):
        details: dict[str, object] = {"address": str(address)}
        raise Unreachable(f"the name {address.host} of {address} has no address", details) from None


def variable(address: SharedAddress) -> str:
    """Return the environment variable for the token of a host.

    >>> variable(SharedAddress("milvus.example.com", 19530, "team", "handbook", True))
    'GNO_TOKEN_MILVUS_EXAMPLE_COM'
    """
    return "GNO_TOKEN_" + re.sub(r"[^A-Z0-9]+", "_", address.host.upper()).strip("_")


def account(address: SharedAddress) -> str:
    """Return the name of a token in the keyring."""
    return f"{in_brackets(address.host)}:{address.port}"


def token_from_environment(address: SharedAddress, environment: Mapping[str, str] = os.environ) -> str:
    return environment.get(variable(address), "").strip()


def remedy(address: SharedAddress) -> str:
    """Return instructions to store the token."""
    return (
        f"store it with `keyring set {SERVICE} {account(address)}`, or in {variable(address)} of the daemon;"
        " it is a token, or user:password"
    )


async def _opened(connection: MilvusConnection) -> MilvusEngine:
    engine = MilvusEngine(connection)
    try:
        await asyncio.to_thread(engine.header)
    except BaseException:
        await asyncio.to_thread(engine.close)
        raise
    return engine


def _within(address: SharedAddress, place: EndpointAddress, egress: Egress) -> tuple[str, Scope]:
    """Return the IP address to connect to, and its scope. Raises EgressForbidden if the engine is outside the allowed
    scope, or lacks required encryption."""
    allowed = [(ip, scope) for ip, scope in place.addresses if egress.allows(scope)]
    encrypted = [(ip, scope) for ip, scope in allowed if scope != "any" or address.is_encrypted]
    if encrypted:
        return encrypted[0]
    details: dict[str, object] = {"address": str(address), "egress": egress.scope, "needs": place.scope}
    if allowed:
        raise EgressForbidden(
            f"{address} is outside the local network, and milvus:// is not encrypted, so nothing was sent: use"
            " milvus+tls://",
            details,
        )
    where = {"local": "on this machine", "lan": "in the local network", "any": "outside the local network"}
    raise EgressForbidden(
        f"`egress: {egress.scope}` of {egress.owner} keeps texts from {address}, which is {where[place.scope]}: nothing"
        f" was sent; allow it with `egress: {place.scope}` in index.yml",
        details,
    )
