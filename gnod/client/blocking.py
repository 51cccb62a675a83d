"""The client for programs without an event loop, and its subscriptions. It sends one request at a time.

Starts the daemon if it is not running. Must not depend on the methods; `shortcuts` has them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from gnod.client.connection import Connection, OnProgress, is_lost
from gnod.client.opening import connect_or_start, places_of
from gnod.client.shortcuts import Shortcuts, pauses_s, waiting
from gnod.errors import GnoError, Unavailable, UsageError
from gnod.paths import IndexPaths
from gnod.protocol.base import Params, Result
from gnod.protocol.methods import SHORT_S
from gnod.protocol.subscription import CHANGED, IndexChanged, IndexSubscribeParams, IndexSubscribeResult

R = TypeVar("R", bound=Result)


class Client(Shortcuts):
    """A client for one thread at a time. A context manager.

    If the connection is lost, the client repeats a call that only reads; any other call raises Unavailable, and the
    next call connects again. A call raises TimedOut if the daemon sends nothing for `timeout_s` (default: the limit of
    the method in `gnod.protocol.methods`).
    """

    def __init__(self, places: IndexPaths, *, start: bool = True, timeout_s: float | None = None) -> None:
        self._places = places
        self._may_start = start
        self._timeout_s = timeout_s
        self._in_use = threading.Lock()
        self._process = os.getpid()
        self._connection: Connection | None = None
        self._subscriptions: WeakSet[Subscription] = WeakSet()
        self._closed = False

    @classmethod
    def connect(
        cls,
        index: str | None = None,
        *,
        socket: Path | None = None,
        start: bool = True,
        timeout_s: float | None = None,
    ) -> Client:
        """Return a client of `index` (default: `GNO_INDEX`, else "default"), or of the daemon behind `socket`.

        `start`: start the daemon if it is not running, unless GNO_NO_AUTOSTART is set. `timeout_s`: seconds to wait
        between two messages. Raises DaemonNotRunning, or the daemon's error if it cannot start.
        """
        client = cls(places_of(index, socket), start=start, timeout_s=timeout_s)
        client._connected()
        return client

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._closed = True
        for subscription in self._subscriptions:
            subscription.close()
        if self._connection is not None:
            self._connection.close()

    def call(self, method: str, params: Params, result_type: type[R], *, on_progress: OnProgress | None = None) -> R:
        """Return the daemon's answer. Raises the daemon's error, Unavailable if the connection is lost, or TimedOut.

        Calls `on_progress` for each progress notification before the answer. Raises UsageError if another thread is
        waiting for an answer.
        """
        if not self._in_use.acquire(blocking=False):
            raise UsageError("this Client is waiting for an answer: make one for each thread")
        try:
            return self._repeated(method, params, result_type, on_progress)
        finally:
            self._in_use.release()

    def _repeated(self, method: str, params: Params, result_type: type[R], on_progress: OnProgress | None) -> R:
        for pause_s in pauses_s(method):
            try:
                return self._asked(method, params, result_type, on_progress)
            except Unavailable as error:
                if not is_lost(error):
                    raise
            time.sleep(pause_s)
        return self._asked(method, params, result_type, on_progress)

    def _asked(self, method: str, params: Params, result_type: type[R], on_progress: OnProgress | None) -> R:
        connection = self._connected()
        limit_s, on_progress = waiting(method, self._timeout_s, on_progress)
        try:
            return connection.call(method, params, result_type, on_progress=on_progress, timeout_s=limit_s)
        except GnoError:
            raise
        except BaseException:  # it may have interrupted a message, so the next call needs a new connection
            connection.close()
            raise

    def subscribe(self, since: int | None = None, collections: Sequence[str] = ()) -> Subscription:
        """Return the changes of the index from now on, or since the clock `since`. `collections`: empty for all.

        The subscription has its own connection, so the client stays usable meanwhile.
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
        if self._connection is not None and self._process != os.getpid():
            # A forked process must not read its parent's answers. The parent's connection stays open.
            self._connection.take_socket().close()
            self._connection = None
        elif self._connection is not None and self._connection.is_lost:
            self._connection.close()
            self._connection = None
        self._process = os.getpid()
        if self._connection is None:
            self._connection = connect_or_start(self._places, may_start=self._may_start)
        return self._connection


class Subscription:
    """An iterator of IndexChanged and a context manager. It owns the connection.

    `begun` is the state at the start; resume from `clock`. A change counts as processed when the next one is requested,
    so an interruption in between repeats a change instead of losing it.
    """

    def __init__(self, connection: Connection, params: IndexSubscribeParams) -> None:
        self.begun = connection.call("index.subscribe", params, IndexSubscribeResult, timeout_s=SHORT_S)
        self.clock = self._latest = self.begun.clock
        self._connection = connection
        self._changes = connection.listen(CHANGED, IndexChanged)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> IndexChanged:
        """Return the next change. Raises Unavailable, with the `clock` to resume from, if the connection is lost."""
        self.clock = self._latest
        try:
            changed = next(change for change in self._changes if change.subscription == self.begun.subscription)
        except Unavailable as error:
            raise Unavailable(error.message, {**error.details, "clock": self.clock}) from None
        self._latest = changed.clock
        return changed

    def close(self) -> None:
        """End the subscription."""
        self._connection.close()
