"""The Python client. `Client` blocks; `AsyncClient` can have many requests in flight.

    from gnod.client import Client

    with Client.connect() as gnod:
        for hit in gnod.search("kayak permit", limit=5).hits:
            print(hit.title, hit.uri)

The client only uses the protocol and can start the daemon. It prints nothing and raises the errors of `gnod.errors`.
The classes are imported on first use, because `gnoctl` needs only the blocking connection, without asyncio."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnod.client.asynchronous import AsyncClient, AsyncSubscription
    from gnod.client.blocking import Client, Subscription

__all__ = ["AsyncClient", "AsyncSubscription", "Client", "Subscription"]

_MODULES = {
    "AsyncClient": "gnod.client.asynchronous",
    "AsyncSubscription": "gnod.client.asynchronous",
    "Client": "gnod.client.blocking",
    "Subscription": "gnod.client.blocking",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
