"""The rate of notifications to a subscriber, over a real stream, while the index changes all the time."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from gnod.protocol.base import Freshness
from gnod.protocol.framing import Framer
from gnod.protocol.index import EmbeddingStatus
from gnod.protocol.subscription import ChangedPath, IndexChanged
from gnod.rpc.call import NotificationSender
from gnod.rpc.subscriptions import Check, Subscriptions

EVERY_S = 0.2

STATE = IndexChanged(
    subscription=1,
    clock=1,
    freshness=Freshness(current=True),
    embedding=EmbeddingStatus(state="idle", pending=0, done=0, failed=0),
)
GONE = msgspec.structs.replace(STATE, removed=[ChangedPath(uri="gno://n/a.md", collection="n", path="a.md")])


@asynccontextmanager
async def followed(subscribing: Subscriptions, check: Check) -> AsyncIterator[asyncio.StreamReader]:
    """Yield the stream that the client reads from."""
    ours, theirs = socket.socketpair()
    _, writer = await asyncio.open_unix_connection(sock=ours)
    reader, their_writer = await asyncio.open_unix_connection(sock=theirs)
    notifications = NotificationSender(writer, Framer())
    answered = asyncio.Event()
    answered.set()
    notifications.start_task(1, subscribing.follow(check, notifications, answered))
    try:
        yield reader
    finally:
        notifications.close()
        for each in (writer, their_writer):
            each.close()
            await each.wait_closed()


async def wake_often(subscribing: Subscriptions, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        subscribing.wake()
        await asyncio.sleep(0.005)


async def test_states_are_sent_at_intervals_and_so_is_the_last() -> None:
    subscribing = Subscriptions(state_every_s=EVERY_S)
    clock = 0

    async def check(with_state: bool) -> IndexChanged | None:
        nonlocal clock
        clock += 1
        return msgspec.structs.replace(STATE, clock=clock) if with_state else None

    async with followed(subscribing, check) as reader:
        await wake_often(subscribing, 2.2 * EVERY_S)
        assert clock < 2.2 * EVERY_S / 0.05 + 3, "several wakes share one check"
        subscribing.wake()
        checks, reported = clock, 0
        while reported <= checks:  # the subscriber gets the last state without another wake
            async with asyncio.timeout(30):
                reported = json.loads(await reader.readline())["params"]["clock"]
        await asyncio.sleep(1.5 * EVERY_S)
        assert clock == reported, "an idle subscriber does not check"


async def test_changes_are_sent_at_once() -> None:
    subscribing = Subscriptions(state_every_s=600)
    news: list[IndexChanged] = []

    async def check(_: bool) -> IndexChanged | None:
        return news.pop(0) if news else None

    async with followed(subscribing, check) as reader:
        for _ in range(3):
            await asyncio.sleep(0.06)
            news += [msgspec.structs.replace(GONE, more=True), GONE]
            subscribing.wake()
            async with asyncio.timeout(60):
                assert json.loads(await reader.readline())["params"]["more"]
                assert not json.loads(await reader.readline())["params"]["more"]


async def test_one_that_breaks_cuts_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    subscribing = Subscriptions()

    async def check(_: bool) -> IndexChanged | None:
        raise ValueError("a mistake of ours")

    async with followed(subscribing, check) as reader:
        assert await asyncio.wait_for(reader.read(), 60) == b""
    assert "subscription.broken" in caplog.text
