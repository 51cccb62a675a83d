from __future__ import annotations

import asyncio
import time
from typing import Any

from gnod.protocol.base import ProgressParams, ProgressValue
from gnod.protocol.framing import Framing
from gnod.rpc.call import PROGRESS_INTERVAL_S, Call
from tests.rpc.harness import serving


def value(done: int) -> ProgressValue:
    return ProgressValue(stage="count", done=done, total=100)


class Sink:
    """Takes progress while it is open."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.is_open = is_open
        self.taken: list[int] = []

    def offer(self, params: ProgressParams) -> bool:
        if self.is_open:
            self.taken.append(params.value.done)
        return self.is_open


def begun_call(sink: Sink) -> Call:
    call = Call(sink.offer)
    call.progress_token = "t"
    return call


async def test_progress_carries_the_token_and_precedes_the_answer() -> None:
    for framing in Framing:
        async with serving() as served, await served.client() as client:
            client.call("count", {"size": 1000, "progress_token": "p"}, framing=framing)
            first, last, answer = [await client.receive() for _ in range(3)]
            expected: dict[str, Any] = {
                "jsonrpc": "2.0",
                "method": "$/progress",
                "params": {
                    "token": "p",
                    "value": {"stage": "count", "done": 1, "total": 1000, "label": None, "unit": None},
                },
            }
            assert first == expected
            assert last["params"]["value"]["done"] == 1000
            assert answer["result"] == {"text": "counted"}


async def test_without_a_token_there_is_no_progress() -> None:
    async with serving() as served, await served.client() as client:
        client.call("count", {"size": 3})
        assert "result" in await client.receive()


async def test_quick_values_are_thinned_out_and_the_last_one_is_kept() -> None:
    sink = Sink()
    call = begun_call(sink)
    started = time.monotonic()
    done = 0
    while time.monotonic() - started < 3 * PROGRESS_INTERVAL_S:
        done += 1
        call.progress(value(done))
        await asyncio.sleep(0)
    call.finish()
    elapsed = time.monotonic() - started
    assert sink.taken == sorted(set(sink.taken))
    assert (sink.taken[0], sink.taken[-1]) == (1, done)
    assert len(sink.taken) <= elapsed / PROGRESS_INTERVAL_S + 2


async def test_a_value_after_a_pause_goes_out_by_itself() -> None:
    sink = Sink()
    call = begun_call(sink)
    call.progress(value(1))
    call.progress(value(2))
    await asyncio.sleep(2 * PROGRESS_INTERVAL_S)
    assert sink.taken == [1, 2]
    call.finish()


async def test_a_slow_reader_gets_the_latest_value_when_there_is_room_again() -> None:
    sink = Sink(is_open=False)
    call = begun_call(sink)
    for done in (1, 2, 3):
        call.progress(value(done))
    sink.is_open = True
    await asyncio.sleep(2 * PROGRESS_INTERVAL_S)
    assert sink.taken == [3]
    call.finish()


async def test_a_call_that_is_over_sends_nothing_more() -> None:
    sink = Sink()
    call = begun_call(sink)
    call.progress(value(1))
    call.progress(value(2))
    call.finish()
    call.progress(value(3))
    await asyncio.sleep(2 * PROGRESS_INTERVAL_S)
    assert sink.taken == [1, 2]
