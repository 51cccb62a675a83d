"""How far texts may travel: the setting `egress`, and which addresses are within it. Pure; connects to nothing.

local   this machine: loopback addresses and Unix sockets
lan     private and link-local addresses too
any     every address
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Literal, NamedTuple

Scope = Literal["local", "lan", "any"]

SCOPES: tuple[Scope, ...] = ("local", "lan", "any")

_LAN = tuple(
    ipaddress.ip_network(network)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10")
)


class Egress(NamedTuple):
    """The scope of a request, and whose setting decides it, in words."""

    scope: Scope
    owner: str

    def allows(self, scope: Scope) -> bool:
        return SCOPES.index(scope) <= SCOPES.index(self.scope)


def narrowest(each: Iterable[Egress]) -> Egress | None:
    """Return the narrowest, of equals the first; None of none."""
    return min(each, key=lambda egress: SCOPES.index(egress.scope), default=None)


def scope_of(address: str) -> Scope:
    """Return the narrowest scope that holds an IP address, which may have a zone.

    >>> scope_of("127.0.0.2"), scope_of("fe80::1%eth0"), scope_of("::ffff:10.0.0.1"), scope_of("0.0.0.0")
    ('local', 'lan', 'lan', 'any')
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    if ip.is_loopback:
        return "local"
    return "lan" if any(ip in network for network in _LAN if network.version == ip.version) else "any"
