"""Serve several clients that wait for a scarce resource in turn, one request of each. Must not depend on clients.

A client with a thousand requests does not delay a client with one request.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar

# The client of the current task; None means the daemon itself.
client: ContextVar[object] = ContextVar("client", default=None)


class Turns:
    """`async with turns:` waits while `at_once` other tasks are inside. For one event loop."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        # Clients in the order of their turns.
        self._waiting: dict[object, deque[asyncio.Future[None]]] = {}

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def __aenter__(self) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client.get(), deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()  # the task was cancelled before it could use its turn
            raise

    async def __aexit__(self, *_: object) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            owner = next(iter(self._waiting))
            turns = self._waiting.pop(owner)
            while turns and turns[0].done():
                turns.popleft()  # cancelled
            if turns:
                turn = turns.popleft()
                if turns:
                    self._waiting[owner] = turns
                turn.set_result(None)
                return
        self._free += 1
