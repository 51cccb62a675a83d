"""One request while it runs, as its handler sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gnod.protocol.params import ProgressToken
from gnod.protocol.results import ProgressParams, ProgressValue

PROGRESS_INTERVAL_S = 0.05


class Call:
    """Where a handler reports progress. Cancelling is asyncio's own: the handler's task is cancelled.

    `offer` takes a notification, or refuses it (False) while the client reads slowly.
    """

    def __init__(self, offer: Callable[[ProgressParams], bool]) -> None:
        self.progress_token: ProgressToken | None = None
        self._offer = offer
        self._latest: ProgressValue | None = None
        self._timer: asyncio.TimerHandle | None = None

    def progress(self, value: ProgressValue) -> None:
        """Send `value` to a client that asked for progress; of values in quick succession, the last.

        Never blocks. To be called in the event loop's thread.
        """
        if self.progress_token is None:
            return
        self._latest = value
        if self._timer is None:
            self._tick()

    def finish(self) -> None:
        """Send the value that still waits, so that the last one precedes the answer; ignore later ones."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._send()
        self.progress_token = None

    def _tick(self) -> None:
        self._timer = None
        if self._latest is not None:
            self._send()
            self._timer = asyncio.get_running_loop().call_later(PROGRESS_INTERVAL_S, self._tick)

    def _send(self) -> None:
        if self._latest is None or self.progress_token is None:
            return
        if self._offer(ProgressParams(token=self.progress_token, value=self._latest)):
            self._latest = None
