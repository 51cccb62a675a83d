"""Run the work of a request in its own thread, and wait for its end even if the request is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from gnod.errors import RequestCancelled
from gnod.protocol.base import ProgressValue
from gnod.rpc.call import Call

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
# The arguments are the stage, what is done, and the total.
OnProgress = Callable[[str, int, int | None], None]


class Work(Protocol[T_co]):
    def __call__(self, *, on_progress: OnProgress) -> T_co: ...


async def in_thread(work: Work[T], call: Call, *, unit: str) -> T:
    """Run `work(on_progress=…)` in a thread. After a cancelled request its next report raises; its end is awaited.
    `unit` of the progress."""
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
