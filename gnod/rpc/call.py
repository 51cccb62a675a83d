"""Lets a handler send more than its answer: progress, text, and the notifications of a connection."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Protocol, TypeVar

import msgspec

from gnod.errors import LimitExceeded, RequestCancelled
from gnod.protocol.base import ProgressParams, ProgressToken, ProgressValue, Result
from gnod.protocol.framing import Framer, encode
from gnod.protocol.jsonrpc import encode_call

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
# The arguments are the stage, the progress within it, and the total.
OnProgress = Callable[[str, int, int | None], None]

PROGRESS_INTERVAL_S = 0.05
# The maximum length of the waiting text of a slow client. If it is exceeded, streaming ends; the reply has the whole
# text.
MAX_WAITING_CHARACTERS = 64 * 1024


class Call:
    """A handler reports its progress here. A cancelled request cancels the handler's task.

    `offer` sends a notification, or returns False while the client reads slowly. `notifications` sends the
    notifications that follow the answer; `answered` is set after the answer was sent.
    """

    def __init__(
        self, offer: Callable[[ProgressParams], bool], notifications: NotificationSender | None = None
    ) -> None:
        self.progress_token: ProgressToken | None = None
        self.notifications = notifications
        self.answered = asyncio.Event()
        self._offer = offer
        # Values in the order of sending; True marks a value that must not be dropped. Only the last value may change.
        self._waiting: list[tuple[ProgressValue, bool]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._is_mute = False

    def progress(self, value: ProgressValue) -> None:
        """Send `value` to a client that requested progress. If values follow quickly, only the last one is sent.

        Never blocks. Call it in the event loop's thread.
        """
        if self.progress_token is None:
            return
        if self._waiting and not self._waiting[-1][1]:
            self._waiting.pop()
        self._waiting.append((value, False))
        self._start()

    def say(self, value: ProgressValue) -> None:
        """Send `value` in order and without loss, and join the waiting texts of one stage.

        Never blocks. A client that leaves too much unread gets no more text: it always has a prefix of the text, and
        the reply contains the whole text. Call it in the event loop's thread.
        """
        if self.progress_token is None or self._is_mute:
            return
        last, is_lossless = self._waiting[-1] if self._waiting else (value, False)
        if is_lossless and last.text and value.text and last.stage == value.stage:
            self._waiting.pop()
            value = msgspec.structs.replace(value, text=last.text + value.text)
        self._waiting.append((value, True))
        if sum(len(waiting.text or "") for waiting, _ in self._waiting) > MAX_WAITING_CHARACTERS:
            self._is_mute = True
            self._waiting = []
        self._start()

    def finish(self) -> None:
        """Send all waiting values, before the answer; ignore later ones."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._send()
        self.progress_token = None

    def _start(self) -> None:
        if self._timer is None:
            self._tick()

    def _tick(self) -> None:
        self._timer = None
        if self._waiting:
            self._send()
            self._timer = asyncio.get_running_loop().call_later(PROGRESS_INTERVAL_S, self._tick)

    def _send(self) -> None:
        if self.progress_token is None:
            return
        while self._waiting and self._offer(ProgressParams(token=self.progress_token, value=self._waiting[0][0])):
            del self._waiting[0]


class Work(Protocol[T_co]):
    def __call__(self, *, on_progress: OnProgress) -> T_co: ...


async def in_thread(work: Work[T], call: Call, *, unit: str) -> T:
    """Run `work(on_progress=…)` in a thread. If the request is cancelled, the next call of `on_progress` raises, and
    this function waits for the end of the work. `unit`: the unit of the progress."""
    loop = asyncio.get_running_loop()
    is_cancelled = threading.Event()

    def on_progress(stage: str, done: int, total: int | None) -> None:
        if is_cancelled.is_set():
            raise RequestCancelled("cancelled")
        loop.call_soon_threadsafe(call.progress, ProgressValue(stage=stage, done=done, total=total, unit=unit))

    task = asyncio.ensure_future(asyncio.to_thread(work, on_progress=on_progress))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        is_cancelled.set()
        while not task.done():
            # A client that cancels a request and then disconnects cancels it twice.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        task.exception()  # this marks it as retrieved
        raise


MAX_TASKS = 16


class NotificationSender:
    """Sends notifications over one connection, in tasks. The caller numbers them; they end with the connection."""

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
            raise LimitExceeded(f"this connection already has {MAX_TASKS} subscriptions: end one", {"limit": MAX_TASKS})

    def start_task(self, number: int, work: Coroutine[None, None, None]) -> None:
        """Run `work` until it ends, `stop_task` is called, or the connection closes."""
        task = asyncio.create_task(work, name=f"notifications {number}")
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    def stop_task(self, number: int) -> bool:
        """Return False if no task has that number."""
        task = self._tasks.pop(number, None)
        if task is not None:
            task.cancel()
        return task is not None

    async def room(self) -> None:
        """Wait until the client has read most of the sent data. Raises ConnectionError."""
        await self._writer.drain()

    def send(self, method: str, params: Result) -> None:
        self._writer.write(encode(encode_call(method, params), self._framer.framing))

    def abort(self) -> None:
        """Cut the connection, so that the client notices that notifications have ended."""
        self._writer.transport.abort()

    def close(self) -> None:
        for number in list(self._tasks):
            self.stop_task(number)
