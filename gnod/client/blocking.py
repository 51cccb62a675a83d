"""The client for programs without an event loop: one request at a time.

Starts the daemon if it is not running. Knows no method; `shortcuts` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from gnod.client.connection import Connection, connect_or_start, places_of
from gnod.client.replies import OnProgress
from gnod.client.shortcuts import Shortcuts
from gnod.client.subscription import Subscription
from gnod.errors import GnoError, Unavailable
from gnod.paths import Places
from gnod.protocol.base import Params, Result
from gnod.protocol.subscription import IndexSubscribeParams

R = TypeVar("R", bound=Result)


class Client(Shortcuts):
    """A client for one thread. A context manager.

    If the connection is lost, the waiting call raises Unavailable, and the next call connects again.
    """

    def __init__(self, places: Places, *, start: bool = True) -> None:
        self._places = places
        self._may_start = start
        self._connection: Connection | None = None
        self._subscriptions: WeakSet[Subscription] = WeakSet()
        self._closed = False

    @classmethod
    def connect(cls, index: str | None = None, *, socket: Path | None = None, start: bool = True) -> Client:
        """Return a client of `index` (default: `GNO_INDEX`, else "default"), or of the daemon behind `socket`.

        `start`: start the daemon if it is not running, unless GNO_NO_AUTOSTART is set. Raises DaemonNotRunning, or the
        daemon's error if it cannot start.
        """
        client = cls(places_of(index, socket), start=start)
        client._connected()
        return client

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and all subscriptions."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.close()
        if self._connection is not None:
            self._connection.close()

    def call(self, method: str, params: Params, result_type: type[R], *, on_progress: OnProgress | None = None) -> R:
        """Return the daemon's answer. Raises the daemon's error, or Unavailable if the connection is lost.

        `on_progress` is called for each progress notification before the answer.
        """
        connection = self._connected()
        try:
            return connection.call(method, params, result_type, on_progress=on_progress)
        except GnoError:
            raise
        except BaseException:  # perhaps interrupted within a message: the next call needs a new connection
            connection.close()
            raise

    def subscribe(self, since: int | None = None, collections: Sequence[str] = ()) -> Subscription:
        """Return the changes of the index from now on, or from the clock `since`; of all collections if empty.

        It uses a connection of its own, so the client can be called meanwhile.
        """
        if self._closed:
            raise Unavailable("this client is closed")
        connection = connect_or_start(self._places, may_start=self._may_start)
        try:
            subscription = Subscription(connection, IndexSubscribeParams(since=since, collections=[*collections]))
        except BaseException:
            connection.close()
            raise
        self._subscriptions.add(subscription)
        return subscription

    def _connected(self) -> Connection:
        if self._closed:
            raise Unavailable("this client is closed")
        if self._connection is not None and self._connection.is_lost:
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = connect_or_start(self._places, may_start=self._may_start)
        return self._connection
