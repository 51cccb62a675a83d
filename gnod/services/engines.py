"""How the engine of a shared collection is reached: within the scope of the collection, with the token of its server.

Publishing and attaching use this. The name of the host is resolved here, and the engine connects to the address that
was checked: what the name leads to a moment later does not matter. Tokens are in no message and in no log.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from gnod.config.model_uris import Endpoint
from gnod.egress import Egress
from gnod.errors import EgressForbidden, Unreachable
from gnod.models.remote import keys
from gnod.models.remote.addresses import Addresses
from gnod.shared.address import Address, in_brackets, parse
from gnod.shared.engine import WritableEngine
from gnod.shared.milvus import DEFAULT_TIMEOUT_S, Connect, MilvusEngine


def variable(address: Address) -> str:
    """Return the environment variable for the token of a server.

    >>> variable(parse("milvus://milvus.example/team/handbook"))
    'GNO_TOKEN_MILVUS_EXAMPLE'
    """
    return "GNO_TOKEN_" + re.sub(r"[^A-Z0-9]+", "_", address.host.upper()).strip("_")


async def connect(
    written: str,
    egress: Egress,
    addresses: Addresses,
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    environment: Mapping[str, str] = os.environ,
) -> WritableEngine:
    """Return the engine, which connects with its first call. Raises InvalidAddress, EgressForbidden, Unreachable."""
    address = parse(written)
    host = await _host(address, egress, addresses)
    token = environment.get(variable(address), "").strip() or await _from_keyring(address)
    return MilvusEngine(Connect(address, token, host, timeout_s))


async def _host(address: Address, egress: Egress, addresses: Addresses) -> str:
    """Return the IP address to connect to."""
    try:
        place = await addresses.find(_endpoint(address))
    except (OSError, TimeoutError) as error:
        raise Unreachable(f"the address of {address.host} was not found: {error or 'no answer in time'}") from error
    allowed = [found for found, scope in place.addresses if egress.allows(scope)]
    if not allowed:
        raise EgressForbidden(
            f"`egress: {egress.scope}` of {egress.owner} keeps queries and texts from {address.host}:"
            f" nothing was sent; allow it with `egress: {place.scope}` in index.yml",
            {"address": str(address), "egress": egress.scope, "needs": place.scope},
        )
    return allowed[0]


async def _from_keyring(address: Address) -> str:
    found = await keys.from_keyring(_endpoint(address))
    return found.value if found else ""


def _endpoint(address: Address) -> Endpoint:
    scheme = "https" if address.is_encrypted else "http"
    return Endpoint(f"{scheme}://{in_brackets(address.host)}:{address.port}", address.collection)
