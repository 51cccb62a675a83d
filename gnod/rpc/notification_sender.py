"""Notifications to one client. Knows no methods.

Nothing is queued for a client that does not read: a task waits for `room` and computes what it sends only then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from gnod.errors import LimitExceeded
from gnod.protocol.base import Result
from gnod.protocol.framing import Framer, Framing, encode
from gnod.protocol.jsonrpc import encode_call

MAX_TASKS = 16


class NotificationSender:
    """Belongs to one connection. The tasks that send are numbered by the caller, and end with the connection."""

    def __init__(self, writer: asyncio.StreamWriter, framer: Framer) -> None:
        self._writer = writer
        self._framer = framer
        self._tasks: dict[int, asyncio.Task[None]] = {}

    @property
    def has_tasks(self) -> bool:
        return bool(self._tasks)

    def check_task_limit(self) -> None:
        """Raise LimitExceeded when no task can be added."""
        if len(self._tasks) >= MAX_TASKS:
            raise LimitExceeded(f"this connection has {MAX_TASKS} subscriptions already: end one", {"limit": MAX_TASKS})

    def start_task(self, number: int, work: Coroutine[None, None, None]) -> None:
        """Run `work` until it ends, `stop_task` is called, or the connection closes."""
        task = asyncio.create_task(work, name=f"notifications {number}")
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    def stop_task(self, number: int) -> bool:
        """Return whether there was a task with that number."""
        task = self._tasks.pop(number, None)
        if task is not None:
            task.cancel()
        return task is not None

    async def room(self) -> None:
        """Wait until the client has read most of what was sent. Raises ConnectionError."""
        await self._writer.drain()

    def send(self, method: str, params: Result) -> None:
        self._writer.write(encode(encode_call(method, params), self._framer.framing or Framing.LINES))

    def abort(self) -> None:
        """Cut the connection, so that the client notices that notifications have ended."""
        self._writer.transport.abort()

    def close(self) -> None:
        for number in list(self._tasks):
            self.stop_task(number)
