"""No client can make the daemon's memory grow without limit, or stop the daemon from serving others."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from gnod.protocol.jsonrpc import encode_call
from gnod.rpc.connection import ConnectionLimits
from tests.rpc.harness import Client, Served, serving
from tests.waiting import until

LIMIT_EXCEEDED, BUSY = 309, 417
TIMED_OUT = 403


async def still_serves(served: Served) -> None:
    (answer,) = await served.exchange(encode_call("echo", request_id=1))
    assert "result" in answer


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", -32700),
        (b'{"a": "' + b"x" * 2000, LIMIT_EXCEEDED),
        (b"Content-Length: 2000\r\n\r\n", LIMIT_EXCEEDED),
        (b"Content-Length: x\r\n\r\n", -32700),
        (b"Content-Length: 9\r\n\r\n{}", -32700),
    ],
)
async def test_a_framing_fault_is_answered_and_closes_the_connection(data: bytes, code: int) -> None:
    async with serving(ConnectionLimits(message_bytes=1000)) as served:
        (answer,) = await served.exchange(data)
        assert (answer["id"], answer["error"]["code"]) == (None, code)
        await still_serves(served)


async def test_requests_before_a_framing_fault_are_answered() -> None:
    async with serving(ConnectionLimits(message_bytes=1000)) as served:
        answers = await served.exchange(encode_call("echo", request_id=1) + b"\n" + b"{" * 2000)
        assert {answer["id"] for answer in answers} == {1, None}


async def test_half_a_message_times_out() -> None:
    for beginning in (b'{"jsonrpc"', b"Content-Length: 10\r\n\r\n", b"C"):
        async with serving(ConnectionLimits(message_timeout_s=0.03)) as served, await served.client() as client:
            client.send(beginning)
            (answer,) = await client.receive_all()
            assert answer["error"]["code"] == TIMED_OUT


async def test_a_message_byte_by_byte_times_out_too() -> None:
    async with serving(ConnectionLimits(message_timeout_s=0.05)) as served, await served.client() as client:

        async def drip() -> None:
            client.send(b"{")
            while True:
                await asyncio.sleep(0.01)
                client.send(b" ")

        dripping = asyncio.create_task(drip())
        assert (await client.receive())["error"]["code"] == TIMED_OUT
        dripping.cancel()


async def test_requests_in_flight_are_limited_and_cancelling_still_gets_through() -> None:
    async with serving(ConnectionLimits(in_flight=2)) as served, await served.client() as client:
        for request_id in (1, 2, 3):
            client.call("wait", request_id=request_id)
        refused = await client.receive()
        assert (refused["id"], refused["error"]["code"]) == (3, LIMIT_EXCEEDED)
        client.cancel(1)
        assert (await client.receive())["error"]["code"] == -32800
        client.call("echo", request_id=4)
        assert (await client.receive())["result"] == {"text": ""}


async def test_a_batch_is_limited_as_a_whole() -> None:
    async with serving(ConnectionLimits(in_flight=2)) as served:
        (answer,) = await served.exchange(b"[1,1,1]")
        assert (answer["id"], answer["error"]["code"]) == (None, LIMIT_EXCEEDED)


async def test_connections_are_limited() -> None:
    async with serving(ConnectionLimits(connections=2, reserved=0)) as served, await served.client() as first:
        async with await served.client() as second:
            for client in (first, second):
                client.call("echo")
                await client.receive()
            assert served.stats.connections == 2
            async with await served.client() as third:
                (answer,) = await third.receive_all()
                assert answer["error"]["code"] == BUSY
        await served.connections_left(1)
        await still_serves(served)


async def test_beyond_the_limit_the_daemon_can_still_be_asked_and_stopped() -> None:
    limits = ConnectionLimits(connections=2, reserved=2, reserved_s=60)
    async with serving(limits) as served, contextlib.AsyncExitStack() as stack:
        for _ in range(2):
            leaked = await stack.enter_async_context(await served.client())
            leaked.call("echo")
            await leaked.receive()
        async with await served.client() as beyond:
            beyond.call("daemon.status", request_id=1)
            assert (await beyond.receive())["result"] == {"text": "well"}
            beyond.call("echo", request_id=2)
            refused = await beyond.receive()
            assert (refused["id"], refused["error"]["code"]) == (2, BUSY)
        await served.connections_left(2)
        async with await served.client(), await served.client():
            await until(lambda: served.stats.connections == 4)
            (answer,) = await served.exchange(b"")
            assert answer["error"]["code"] == BUSY, "the number of reserved connections is limited"
        await served.connections_left(2)
        served.transport._limits = limits._replace(reserved_s=0.01)
        async with await served.client() as idle:
            assert await idle.receive_all() == [], "a reserved connection is closed after its time"
        served.transport._limits = limits
        (answer,) = await served.exchange(encode_call("daemon.status", request_id=1))
        assert "result" in answer


async def test_a_connection_that_got_the_place_of_an_idle_one_is_an_ordinary_one() -> None:
    limits = ConnectionLimits(connections=1, idle_s=0, reserved_s=0.05)
    async with serving(limits) as served, await served.client() as idle, await served.client() as newer:
        newer.call("wait")
        await served.methods.begun.acquire()
        assert await idle.receive_all() == []
        await asyncio.sleep(0.1)
        served.methods.released.set()
        assert (await newer.receive())["result"]["text"] == "released"


async def test_the_one_that_has_idled_longest_makes_room() -> None:
    limits = ConnectionLimits(connections=4, reserved=0, idle_s=60)
    async with serving(limits) as served, contextlib.AsyncExitStack() as stack:
        subscriber, waiting, mute, spoken = [await stack.enter_async_context(await served.client()) for _ in range(4)]
        subscriber.call("follow")
        await subscriber.receive()
        waiting.call("wait")
        await served.methods.begun.acquire()
        spoken.call("echo")
        await spoken.receive()
        assert [answer["error"]["code"] for answer in await served.exchange(b"")] == [BUSY]
        served.transport._limits = limits._replace(idle_s=0)
        for idle in (mute, spoken):
            newer = await stack.enter_async_context(await served.client())
            newer.call("wait")
            await served.methods.begun.acquire()
            assert await idle.receive_all() == []
        assert [answer["error"]["code"] for answer in await served.exchange(b"")] == [BUSY]
        served.methods.released.set()
        assert (await waiting.receive())["result"]["text"] == "released"
        subscriber.call("echo")
        await subscriber.receive()


async def test_an_answer_that_no_client_could_read_becomes_an_error() -> None:
    async with serving() as served, await served.client() as client:
        client.call("big", {"size": 16 * 1024 * 1024})
        assert (await client.receive())["error"]["code"] == LIMIT_EXCEEDED


async def dropped(served: Served, client: Client) -> None:
    """Wait until the daemon drops a client that has read nothing so far."""
    await served.connections_left(0)
    with contextlib.suppress(ConnectionError):
        assert await client.receive_all() == []


async def send_for_ever(client: Client, data: bytes) -> None:
    while True:
        client.send(data)
        await client.writer.drain()


async def test_a_client_that_does_not_read_its_answer_is_dropped() -> None:
    async with serving(ConnectionLimits(write_timeout_s=0.05)) as served, await served.client() as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.call("big", {"size": 4_000_000}, request_id=1)
        client.call("wait", request_id=2)
        await served.methods.cancelled.acquire()
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        await dropped(served, client)
        await still_serves(served)


async def test_the_daemon_stops_reading_from_a_client_that_sends_nonsense_and_never_reads() -> None:
    async with serving(ConnectionLimits(write_timeout_s=0.05)) as served, await served.client() as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        with pytest.raises(ConnectionError):
            await send_for_ever(client, b"{\n" * 10_000)
        assert served.stats.requests < 5_000, "only as much as fits into two buffers"
        await still_serves(served)


async def test_output_for_a_client_that_does_not_read_is_limited_and_counted() -> None:
    async with serving(ConnectionLimits(unread_bytes=1_000_000)) as served, await served.client() as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for request_id in range(20):
            client.call("big", {"size": 500_000}, request_id)
        await until(lambda: served.stats.requests == 20)
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        answers = [await client.receive() for _ in range(20)]
        assert {answer["id"] for answer in answers} == set(range(20))
        refused = [answer["error"] for answer in answers if "error" in answer]
        assert {error["code"] for error in refused} == {LIMIT_EXCEEDED}
        assert 10 <= len(refused) < 20
        client.call("big", {"size": 500_000}, 21)
        assert "result" in await client.receive()


@pytest.mark.slow
async def test_what_all_clients_have_half_sent_is_bounded_together() -> None:
    half = b'{"jsonrpc": "' + b"x" * 300_000
    async with serving(ConnectionLimits(held_bytes=1_000_000)) as served, contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(await served.client()) for _ in range(10)]
        for client in clients:
            client.send(half)
            await client.writer.drain()
        await served.connections_left(4)
        (answer,) = await clients[-1].receive_all()
        assert answer["error"]["code"] == BUSY
        await still_serves(served)  # small messages are always allowed
