"""How far texts may travel: the setting `egress`, the purpose of sending, and the gate that each byte passes. Pure:
opens no connection.

local   this machine: loopback addresses and Unix sockets
lan     private and link-local addresses too
any     every address
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol

Scope = Literal["local", "lan", "any"]
# The role of a model, or of a request to the server of a shared collection.
Role = Literal["embed", "rerank", "expand", "answer", "search", "publish"]

SCOPES: tuple[Scope, ...] = ("local", "lan", "any")

_LAN = tuple(
    ipaddress.ip_network(network)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10")
)


class Egress(NamedTuple):
    """The scope of a request, and in words the owner of the setting that decides it."""

    scope: Scope
    owner: str

    def allows(self, scope: Scope) -> bool:
        return SCOPES.index(scope) <= SCOPES.index(self.scope)


class Purpose(NamedTuple):
    """Describes the texts to send, and their owner.

    `owner`: "collections": texts of `collections`, or queries over them; with `is_all`, also of all collections in the
    config at the time of sending. "memories". "check": texts that reveal nothing about the user.
    `users`: the collections that must name the model or server; empty: the config must name it for all."""

    role: Role
    owner: Literal["collections", "memories", "check"] = "collections"
    collections: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    is_all: bool = False


class Gate(Protocol):
    """Decides at the moment of sending. Thread-safe."""

    def within(self, address: str, purpose: Purpose) -> Egress:
        """Return how far texts for this purpose may go now. Raises EgressForbidden if they may not go to this address
        at all."""

    def note(self, address: str, purpose: Purpose, *, requests: int, size: int) -> None:
        """Record the requests and the bytes that are about to be sent. Raises EgressForbidden if this fails."""


class EgressPass:
    """Takes one request, or one connection, through the gate."""

    def __init__(self, gate: Gate, address: str, purpose: Purpose, *, requests: int = 1) -> None:
        self._gate = gate
        self._address = address
        self._purpose = purpose
        self._requests = requests

    def within(self) -> Egress:
        """Return how far the texts may go now. Raises EgressForbidden."""
        return self._gate.within(self._address, self._purpose)

    def note(self, size: int) -> None:
        """Record bytes that are about to be sent. The first call also records `requests`. Raises EgressForbidden."""
        self._gate.note(self._address, self._purpose, requests=self._requests, size=size)
        self._requests = 0


def narrowest(scopes: Iterable[Egress]) -> Egress | None:
    """Return the narrowest scope, the first if several are equal; None if there are none."""
    return min(scopes, key=lambda egress: SCOPES.index(egress.scope), default=None)


def widest(scopes: Iterable[Egress]) -> Egress | None:
    """Return the widest scope, the first if several are equal; None if there are none."""
    return max(scopes, key=lambda egress: SCOPES.index(egress.scope), default=None)


def scope_of(address: str) -> Scope:
    """Return the narrowest scope that contains an IP address. The address may have a zone.

    >>> scope_of("127.0.0.2"), scope_of("fe80::1%eth0"), scope_of("::ffff:10.0.0.1"), scope_of("0.0.0.0")
    ('local', 'lan', 'lan', 'any')
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    if ip.is_loopback:
        return "local"
    return "lan" if any(ip in network for network in _LAN if network.version == ip.version) else "any"
