"""What a client is told without having asked in that moment. Knows no methods.

Nothing waits here for a client that does not read: who has something to tell waits until there is `room`, and looks
only then what it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from gnod.errors import LimitExceeded
from gnod.protocol.framing import Framer, Framing, encode
from gnod.protocol.jsonrpc import encode_call
from gnod.protocol.results import Result

MAX_TELLERS = 16


class Outlet:
    """One connection's. Those who tell are tasks that end with it, by a number of their own."""

    def __init__(self, writer: asyncio.StreamWriter, framer: Framer) -> None:
        self._writer = writer
        self._framer = framer
        self._tellers: dict[int, asyncio.Task[None]] = {}

    @property
    def is_used(self) -> bool:
        """Whether somebody has, or may have, something to tell."""
        return bool(self._tellers)

    def check_room_for_one_more(self) -> None:
        """Raises LimitExceeded."""
        if len(self._tellers) >= MAX_TELLERS:
            raise LimitExceeded(
                f"this connection has {MAX_TELLERS} subscriptions already: end one", {"limit": MAX_TELLERS}
            )

    def begin(self, number: int, telling: Coroutine[None, None, None]) -> None:
        """Run `telling` until it ends, `end` is called, or the connection closes."""
        task = asyncio.create_task(telling, name=f"teller {number}")
        self._tellers[number] = task
        task.add_done_callback(lambda _: self._tellers.pop(number, None))

    def end(self, number: int) -> bool:
        """Make it tell nothing any more. Returns whether there was one."""
        task = self._tellers.pop(number, None)
        if task is not None:
            task.cancel()
        return task is not None

    async def room(self) -> None:
        """Wait until the client has read most of what was sent. Raises ConnectionError."""
        await self._writer.drain()

    def tell(self, method: str, params: Result) -> None:
        self._writer.write(encode(encode_call(method, params), self._framer.framing or Framing.LINES))

    def abort(self) -> None:
        """Cut the connection: better than one that seems to live and tells nothing."""
        self._writer.transport.abort()

    def close(self) -> None:
        for number in list(self._tellers):
            self.end(number)
