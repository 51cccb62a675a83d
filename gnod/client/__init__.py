"""A client for the daemon's socket: `Client` blocks, `AsyncClient` has many requests in flight.

    from gnod.client import Client

    with Client.connect() as gnod:
        for hit in gnod.search("kayak permit", limit=5).hits:
            print(hit.title, hit.uri)

Knows the protocol and how a daemon is started; nothing of what is behind the socket, and it prints nothing. Errors are
those of `gnod.errors`. The names are imported when they are asked for: `gnoctl` takes only the blocking connection, and
must not pay for asyncio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnod.client.async_subscription import AsyncSubscription
    from gnod.client.asynchronous import AsyncClient
    from gnod.client.blocking import Client
    from gnod.client.subscription import Subscription

__all__ = ["AsyncClient", "AsyncSubscription", "Client", "Subscription"]

_MODULES = {
    "AsyncClient": "gnod.client.asynchronous",
    "AsyncSubscription": "gnod.client.async_subscription",
    "Client": "gnod.client.blocking",
    "Subscription": "gnod.client.subscription",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
