"""The work of a request in a thread: when the request ends, nothing of it runs any more."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gnod.rpc.call import Call
from gnod.rpc.in_thread import OnProgress, in_thread


async def test_a_request_that_is_cancelled_twice_ends_after_its_work() -> None:
    may_end, has_ended = threading.Event(), threading.Event()
    has_begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(*, on_progress: OnProgress) -> None:
        loop.call_soon_threadsafe(has_begun.set)
        may_end.wait(60)
        has_ended.set()

    request = asyncio.create_task(in_thread(work, Call(lambda _: True), unit="bytes"))
    await has_begun.wait()
    for _ in range(3):
        request.cancel()
        await asyncio.sleep(0.01)
        assert not request.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert has_ended.is_set()
