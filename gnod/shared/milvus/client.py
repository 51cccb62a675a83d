"""Connect to a Milvus server, call it, and translate its errors. Must not depend on collections."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from gnod import extras
from gnod.config.shared_addresses import SharedAddress, in_brackets
from gnod.errors import EngineFailed, GnoError, NotPublished, Unreachable
from gnod.shared.relay import Relay

DEFAULT_TIMEOUT_S = 10.0
_CONNECT_S = 5.0

_GRPC = {
    # A proxy from the environment would send the texts elsewhere.
    "grpc.enable_http_proxy": 0,
    # By default, gRPC tries an unreachable server again only after up to two minutes.
    "grpc.initial_reconnect_backoff_ms": 200,
    "grpc.min_reconnect_backoff_ms": 1_000,
    "grpc.max_reconnect_backoff_ms": 2_000,
    "grpc.use_local_subchannel_pool": 1,
    # pymilvus would ping the server every 10 s, which milvus-lite treats as an attack.
    "grpc.keepalive_time_ms": 300_000,
}

# Error codes of the server and of milvus-lite.
_NOT_THERE = ("100", "800", "COLLECTION_NOT_FOUND")
_NO_DATABASE = re.compile("database .*(not found|does not exist)")
_WORDS_OF_LOSS = (
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "Retry timeout",
    "Retry run out",
    "Fail connecting",
    "closed channel",
)

T = TypeVar("T")


class MilvusConnection:
    """Connects at the first call. Thread-safe. `relay`: the only way to the server; it is closed with the
    connection."""

    def __init__(
        self, address: SharedAddress, relay: Relay, token: str = "", timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        self.address = address
        self._relay = relay
        self._token = token
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._opened: Any = None
        self._is_closed = False

    def close(self) -> None:
        """Close the connection. Running calls raise Unreachable."""
        with self._lock:
            self._is_closed = True
            opened, self._opened = self._opened, None
        try:
            if opened is not None:
                opened.close()
        finally:
            self._relay.close()

    def call(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of pymilvus's client. Raises Unreachable, NotPublished, NotLoaded, TokenRefused and
        EngineFailed; and EgressForbidden, before anything is sent."""
        return self.translated(lambda: getattr(self._client, method)(*arguments, timeout=self._timeout_s, **named))

    def make_database(self) -> None:
        """Create the database if it does not exist and the token permits it."""
        name = self.address.database
        client = self._client_of("")
        try:
            if name not in self.translated(lambda: client.list_databases(timeout=self._timeout_s)):
                self.translated(lambda: client.create_database(name, timeout=self._timeout_s))
        finally:
            client.close()

    @property
    def _client(self) -> Any:
        with self._lock:
            if self._is_closed:
                raise self._unreachable()
            if self._opened is None:
                self._opened = self._client_of(self.address.database)
            return self._opened

    def _client_of(self, database: str) -> Any:
        client = client_class()
        address = self.address
        # Although the connection goes to a Unix socket, use the server's name, which its certificate must match.
        named = {"secure": True, "server_name": address.host} if address.is_encrypted else {}
        authority = {} if named else {"grpc.default_authority": f"{in_brackets(address.host)}:{address.port}"}
        return self.translated(
            lambda: client(
                uri=self._relay.target,
                token=self._token,
                db_name=database,
                timeout=min(self._timeout_s, _CONNECT_S),
                dedicated=True,
                grpc_options=_GRPC | authority,
                **named,
            )
        )

    def translated(self, call: Callable[[], T]) -> T:
        """Call pymilvus. Raises EgressForbidden, Unreachable, NotPublished and EngineFailed."""
        self._relay.begin()
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            return call()
        except grpc.FutureTimeoutError as error:
            raise self._unreachable() from error
        except (grpc.RpcError, MilvusException) as error:
            # While pymilvus connects, only the cause of its errors says what happened.
            known = error if isinstance(error, grpc.RpcError) else error.__cause__
            if isinstance(known, grpc.RpcError):
                raise self._error(known.code().name, str(known.details())) from error
            raise self._error(getattr(error.code, "name", str(error.code)), str(error.message)) from error
        except (ValueError, OSError) as error:  # the channel, or the relay, was closed by another thread
            raise self._unreachable() from error

    def _error(self, code: str, message: str) -> GnoError:
        address = self.address
        if any(word in code or word in message for word in _WORDS_OF_LOSS):
            return self._unreachable()
        if code == "101" or "not loaded" in message:
            return NotLoaded(f"{address} has not loaded the collection: {message}")
        if code in _NOT_THERE or _NO_DATABASE.search(message):
            return NotPublished(f"no collection is published at {address}")
        if code in ("UNAUTHENTICATED", "PERMISSION_DENIED", "1401", "1402", "65535") and "auth" in message.lower():
            return TokenRefused(f"{address} refuses the token: {message}")
        return EngineFailed(f"{address} failed: {message}")

    def _unreachable(self) -> Unreachable:
        address = self.address
        return Unreachable(f"{address} did not answer in time", {"address": str(address)})


class TokenRefused(EngineFailed):
    """The token is missing or wrong."""


class NotLoaded(EngineFailed):
    """The server has not loaded the collection into memory."""


def client_class() -> Any:
    """Return the class MilvusClient. Its import takes half a second."""
    try:
        from pymilvus import MilvusClient
    except ImportError as error:
        raise extras.missing("shared collections", "shared") from error
    # pymilvus logs the errors that it raises, with the data that were sent.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return MilvusClient
