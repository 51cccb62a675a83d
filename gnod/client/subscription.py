"""What changes in the index, as it changes, for programs that wait for it."""

from __future__ import annotations

from types import TracebackType

from gnod.client.connection import Connection
from gnod.errors import Unavailable
from gnod.protocol.methods import CHANGED
from gnod.protocol.params import IndexSubscribeParams
from gnod.protocol.results import IndexChanged, IndexSubscribeResult


class Subscription:
    """An iterator of IndexChanged and a context manager. It takes the connection for itself.

    `begun` is the state at the beginning; `clock` is what to resume from: what was handed out last counts as told when
    the next is asked for, so that what is interrupted in between is rather told again than lost.
    """

    def __init__(self, connection: Connection, params: IndexSubscribeParams) -> None:
        self.begun = connection.call("index.subscribe", params, IndexSubscribeResult)
        self.clock = self._handed_out = self.begun.clock
        self._connection = connection
        self._changes = connection.listen(CHANGED, IndexChanged)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> IndexChanged:
        """Return what changed next. Raises Unavailable, with the `clock` to resume from, when the daemon goes away."""
        self.clock = self._handed_out
        try:
            changed = next(each for each in self._changes if each.subscription == self.begun.subscription)
        except Unavailable as error:
            raise Unavailable(error.message, {**error.details, "clock": self.clock}) from None
        self._handed_out = changed.clock
        return changed

    def close(self) -> None:
        """End the subscription."""
        self._connection.close()
