"""A subscription to changes of the index, for programs without an event loop."""

from __future__ import annotations

from gnod.client.connection import Connection
from gnod.errors import Unavailable
from gnod.protocol.subscription import CHANGED, IndexChanged, IndexSubscribeParams, IndexSubscribeResult


class Subscription:
    """An iterator of IndexChanged and a context manager. It owns the connection.

    `begun` is the state at the start; `clock` is where to resume. A change counts as processed when the next one is
    requested, so an interruption in between repeats a change rather than losing it.
    """

    def __init__(self, connection: Connection, params: IndexSubscribeParams) -> None:
        self.begun = connection.call("index.subscribe", params, IndexSubscribeResult)
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
            changed = next(each for each in self._changes if each.subscription == self.begun.subscription)
        except Unavailable as error:
            raise Unavailable(error.message, {**error.details, "clock": self.clock}) from None
        self._latest = changed.clock
        return changed

    def close(self) -> None:
        """End the subscription."""
        self._connection.close()
