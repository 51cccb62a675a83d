"""The key of a model server, from the environment or the system's keyring. It is never logged or put into a message."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Literal, NamedTuple

from gnod.config.model_uris import Endpoint

# `keyring set gnod-endpoint https://host:port` stores a key.
SERVICE = "gnod-endpoint"
# The keyring may ask the user, who may be away.
_KEYRING_S = 30.0


class ApiKey(NamedTuple):
    value: str
    source: Literal["environment", "keyring"]


def variable(endpoint: Endpoint) -> str:
    """Return the environment variable for the key of a server. It names the host, so that no other server gets the key.

    >>> variable(Endpoint("https://api.example.com:8443/v1", "m"))
    'GNO_KEY_API_EXAMPLE_COM_8443'
    """
    return "GNO_KEY_" + re.sub(r"[^A-Z0-9]+", "_", endpoint.origin.partition("://")[2].upper()).strip("_")


def from_environment(endpoint: Endpoint, environment: Mapping[str, str] = os.environ) -> ApiKey | None:
    value = environment.get(variable(endpoint), "").strip()
    return ApiKey(value, "environment") if value else None


async def from_keyring(endpoint: Endpoint) -> ApiKey | None:
    """Return the key; None when the keyring has none, fails, or does not answer in time."""
    value = await secret(SERVICE, endpoint.origin)
    return ApiKey(value, "keyring") if value else None


async def secret(service: str, name: str) -> str | None:
    """Return the keyring's secret for a name; None as above."""
    result: Future[str | None] = Future()

    def read() -> None:
        try:
            import keyring

            result.set_result(keyring.get_password(service, name))
        except BaseException as error:  # backends raise any error of the system behind them
            result.set_exception(error)

    # Use a daemon thread, so that it does not stop the daemon from ending.
    threading.Thread(target=read, name="gnod-keyring", daemon=True).start()
    try:
        async with asyncio.timeout(_KEYRING_S):
            value = await asyncio.wrap_future(result)
    except Exception:
        return None
    return (value or "").strip() or None


def remedy(endpoint: Endpoint) -> str:
    """Return how to store the key."""
    return f"store its key with `keyring set {SERVICE} {endpoint.origin}`, or in {variable(endpoint)} of the daemon"
