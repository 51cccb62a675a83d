"""What a call says in order and without gaps, to a client that may read slowly."""

from __future__ import annotations

import asyncio

from gnod.protocol.base import ProgressParams, ProgressValue
from gnod.rpc.call import MAX_WAITING_CHARACTERS, PROGRESS_INTERVAL_S, Call


class Reader:
    """Takes what it is offered while it is open."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.is_open = is_open
        self.taken: list[ProgressValue] = []

    def offer(self, params: ProgressParams) -> bool:
        if self.is_open:
            self.taken.append(params.value)
        return self.is_open

    @property
    def text(self) -> str:
        return "".join(value.text or "" for value in self.taken)


def begun_call(reader: Reader) -> Call:
    call = Call(reader.offer)
    call.progress_token = "t"
    return call


def text(said: str, done: int = 0) -> ProgressValue:
    return ProgressValue(stage="answer", done=done, text=said)


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


async def test_without_a_token_there_is_no_progress() -> None:
    reader = Reader()
    call = Call(reader.offer)
    call.say(text("a"))
    call.finish()
    assert reader.taken == []
