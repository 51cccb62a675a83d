"""A client that reads slowly may miss progress, but gets texts completely and in order."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from gnod.protocol.base import ProgressParams, ProgressValue
from gnod.protocol.framing import Framing
from gnod.rpc.call import MAX_WAITING_CHARACTERS, PROGRESS_INTERVAL_S, Call, OnProgress, in_thread
from tests.rpc.harness import serving


def value(done: int) -> ProgressValue:
    return ProgressValue(stage="count", done=done, total=100)


def text(said: str) -> ProgressValue:
    return ProgressValue(stage="answer", done=0, text=said)


class Reader:
    """Accepts notifications while it is open."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.is_open = is_open
        self.taken: list[ProgressValue] = []

    def offer(self, params: ProgressParams) -> bool:
        if self.is_open:
            self.taken.append(params.value)
        return self.is_open

    @property
    def done(self) -> list[int]:
        return [each.done for each in self.taken]

    @property
    def text(self) -> str:
        return "".join(each.text or "" for each in self.taken)


def begun_call(reader: Reader) -> Call:
    call = Call(reader.offer)
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


async def test_quick_values_are_thinned_out_and_the_last_one_is_kept() -> None:
    reader = Reader()
    call = begun_call(reader)
    started = time.monotonic()
    done = 0
    while time.monotonic() - started < 3 * PROGRESS_INTERVAL_S:
        done += 1
        call.progress(value(done))
        await asyncio.sleep(0)
    call.finish()
    elapsed = time.monotonic() - started
    assert reader.done == sorted(set(reader.done))
    assert (reader.done[0], reader.done[-1]) == (1, done)
    assert len(reader.done) <= elapsed / PROGRESS_INTERVAL_S + 2


async def test_a_value_after_a_pause_goes_out_by_itself() -> None:
    reader = Reader()
    call = begun_call(reader)
    call.progress(value(1))
    call.progress(value(2))
    await asyncio.sleep(2 * PROGRESS_INTERVAL_S)
    assert reader.done == [1, 2]
    call.finish()


async def test_a_slow_reader_gets_the_latest_value_when_there_is_room_again() -> None:
    reader = Reader(is_open=False)
    call = begun_call(reader)
    for done in (1, 2, 3):
        call.progress(value(done))
    reader.is_open = True
    await asyncio.sleep(2 * PROGRESS_INTERVAL_S)
    assert reader.done == [3]
    call.finish()


async def test_a_call_that_is_over_sends_nothing_more() -> None:
    reader = Reader()
    call = begun_call(reader)
    call.progress(value(1))
    call.progress(value(2))
    call.finish()
    call.progress(value(3))
    await asyncio.sleep(2 * PROGRESS_INTERVAL_S)
    assert reader.done == [1, 2]


async def test_texts_are_joined_and_none_is_lost() -> None:
    reader = Reader()
    call = begun_call(reader)
    words = [f"word{number} " for number in range(500)]
    for word in words:
        call.say(text(word))
        if word == "word250 ":
            await asyncio.sleep(2 * PROGRESS_INTERVAL_S)
    call.finish()
    assert reader.text == "".join(words)
    assert len(reader.taken) < 10


async def test_progress_keeps_its_place_between_texts() -> None:
    reader = Reader(is_open=False)
    call = begun_call(reader)
    for stage in ("searching", "reading"):
        call.progress(ProgressValue(stage=stage, done=0))
    call.say(ProgressValue(stage="sources", done=1, sources=[]))
    call.say(text("a"))
    call.say(text("b"))
    call.progress(ProgressValue(stage="checking", done=0))
    call.progress(ProgressValue(stage="checking", done=1))
    call.say(text("c"))
    reader.is_open = True
    call.finish()
    said = [(value.stage, value.done, value.text or "") for value in reader.taken]
    assert said == [
        ("reading", 0, ""),
        ("sources", 1, ""),
        ("answer", 0, "ab"),
        ("checking", 1, ""),
        ("answer", 0, "c"),
    ]


async def test_a_client_that_does_not_read_gets_a_beginning_and_costs_no_memory() -> None:
    reader = Reader()
    call = begun_call(reader)
    call.say(text("begin "))
    reader.is_open = False
    for _ in range(100):
        call.say(text("x" * (MAX_WAITING_CHARACTERS // 50)))
    reader.is_open = True
    call.say(text("too late"))
    call.finish()
    assert reader.text == "begin "


async def test_without_a_token_nothing_is_sent() -> None:
    reader = Reader()
    call = Call(reader.offer)
    call.progress(value(1))
    call.say(text("a"))
    call.finish()
    assert reader.taken == []


async def test_a_request_that_is_cancelled_twice_ends_after_its_work_in_a_thread() -> None:
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
