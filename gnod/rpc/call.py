"""One request while it runs, as its handler sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from gnod.protocol.base import ProgressParams, ProgressToken, ProgressValue
from gnod.rpc.notification_sender import NotificationSender

PROGRESS_INTERVAL_S = 0.05
# Limit of the text that waits for a slow client. Beyond it no more is streamed; the answer has all of it.
MAX_WAITING_CHARACTERS = 64 * 1024


class Call:
    """Where a handler reports progress. A cancelled request cancels the handler's task.

    `offer` sends a notification, or returns False while the client reads slowly. `notifications` sends what follows
    the answer; `answered` is set when the answer was sent.
    """

    def __init__(
        self, offer: Callable[[ProgressParams], bool], notifications: NotificationSender | None = None
    ) -> None:
        self.progress_token: ProgressToken | None = None
        self.notifications = notifications
        self.answered = asyncio.Event()
        self._offer = offer
        # In the order of sending. Only the last may still change.
        self._waiting: list[ProgressValue] = []
        self._is_lossless: list[bool] = []
        self._timer: asyncio.TimerHandle | None = None
        self._is_mute = False

    def progress(self, value: ProgressValue) -> None:
        """Send `value` to a client that asked for progress; of values in quick succession, the last.

        Never blocks. To be called in the event loop's thread.
        """
        if self.progress_token is None:
            return
        if self._waiting and not self._is_lossless[-1]:
            self._waiting[-1] = value
        else:
            self._wait(value, is_lossless=False)
        self._start()

    def say(self, value: ProgressValue) -> None:
        """Send `value` in order and without loss: waiting texts of one stage are joined.

        Never blocks. A client that leaves too much unread gets no more of them: it always gets a prefix of the text,
        and the answer has all of it. To be called in the event loop's thread.
        """
        if self.progress_token is None or self._is_mute:
            return
        last = self._waiting[-1] if self._waiting else None
        if last and self._is_lossless[-1] and last.text and value.text and last.stage == value.stage:
            self._waiting[-1] = msgspec.structs.replace(value, text=last.text + value.text)
        else:
            self._wait(value, is_lossless=True)
        if sum(len(waiting.text or "") for waiting in self._waiting) > MAX_WAITING_CHARACTERS:
            self._is_mute = True
            self._waiting, self._is_lossless = [], []
        self._start()

    def finish(self) -> None:
        """Send what still waits, before the answer; ignore later values."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._send()
        self.progress_token = None

    def _wait(self, value: ProgressValue, *, is_lossless: bool) -> None:
        self._waiting.append(value)
        self._is_lossless.append(is_lossless)

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
        while self._waiting and self._offer(ProgressParams(token=self.progress_token, value=self._waiting[0])):
            del self._waiting[0], self._is_lossless[0]
