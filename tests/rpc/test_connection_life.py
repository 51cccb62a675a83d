"""Clients that cancel, close one half or vanish, other users, and an orderly shutdown."""

from __future__ import annotations

import asyncio
import os
import socket
import struct

import pytest

from gnod.peer import peer_is_gone, peer_uid
from gnod.protocol.jsonrpc import encode_call
from gnod.rpc.connection import ConnectionLimits
from tests.rpc.harness import Served, serving

CANCELLED = -32800
SHUTTING_DOWN = 402


def code(answer: object) -> int:
    assert isinstance(answer, dict)
    return int(answer["error"]["code"])


async def test_a_cancelled_request_is_answered_with_its_own_error() -> None:
    async with serving() as served, await served.client() as client:
        client.call("wait", request_id="a")
        await served.methods.begun.acquire()
        client.cancel("a")
        answer = await client.receive()
        assert (answer["id"], code(answer)) == ("a", CANCELLED)
        await served.methods.cancelled.acquire()


async def test_cancelling_in_the_same_breath_works() -> None:
    request = encode_call("wait", request_id=7) + b"\n"
    cancel = encode_call("$/cancelRequest", {"id": 7}) + b"\n"
    async with serving() as served, await served.client() as client:
        client.send(request + cancel)
        assert code(await client.receive()) == CANCELLED


async def test_only_the_request_of_exactly_that_id_is_cancelled() -> None:
    async with serving() as served, await served.client() as client:
        client.call("wait", request_id=1)
        await served.methods.begun.acquire()
        for other in ("1", 1.0, 2, None, True, [1], {"id": 1}):
            client.cancel(other)
        client.send(b'{"jsonrpc":"2.0","method":"$/cancelRequest"}\n')
        client.send(b'{"jsonrpc":"2.0","method":"$/somethingElse","params":{}}\n')
        client.call("echo", request_id=2)
        assert (await client.receive())["id"] == 2
        served.methods.released.set()
        assert (await client.receive())["result"] == {"text": "released"}


async def test_one_member_of_a_batch_can_be_cancelled() -> None:
    batch = b"[%b,%b]\n" % (encode_call("wait", request_id=1), encode_call("echo", request_id=2))
    async with serving() as served, await served.client() as client:
        client.send(batch)
        await served.methods.begun.acquire()
        client.cancel(1)
        first, second = await client.receive()
        assert (code(first), second["id"]) == (CANCELLED, 2)


async def test_an_id_in_flight_is_refused_and_free_again_afterwards() -> None:
    async with serving() as served, await served.client() as client:
        client.call("wait", request_id=1)
        client.call("echo", request_id=1)
        assert code(await client.receive()) == -32600
        served.methods.released.set()
        assert "result" in await client.receive()
        client.call("echo", request_id=1)
        assert "result" in await client.receive()


async def test_requests_with_a_null_id_are_answered_with_it() -> None:
    request = b'{"jsonrpc":"2.0","method":"echo","id":null}\n'
    async with serving() as served:
        answers = await served.exchange(request + request)
        assert answers == [{"jsonrpc": "2.0", "id": None, "result": {"text": ""}}] * 2


async def test_notifications_run_side_by_side() -> None:
    async with serving() as served, await served.client() as client:
        client.send((encode_call("wait") + b"\n") * 2)
        await served.methods.begun.acquire()
        await served.methods.begun.acquire()
        client.writer.close()
        await served.methods.cancelled.acquire()
        await served.methods.cancelled.acquire()


async def test_a_client_that_ended_its_half_still_gets_its_answers() -> None:
    async with serving() as served, await served.client() as client:
        client.call("wait", request_id=1)
        client.send(encode_call("echo", request_id=2))  # the last line without its newline
        client.writer.write_eof()
        assert (await client.receive())["id"] == 2
        served.methods.released.set()
        assert (await client.receive())["id"] == 1
        assert await client.receive_all() == []


async def test_a_client_that_goes_after_it_ended_its_half_has_its_requests_cancelled() -> None:
    async with serving() as served, await served.client() as client:
        client.call("wait")
        client.writer.write_eof()
        await served.methods.begun.acquire()
        await asyncio.sleep(0.02)
        assert served.methods.cancelled.locked(), "closing one half cancels nothing"
        client.writer.close()
        await served.methods.cancelled.acquire()
        await served.connections_left(0)


async def test_a_client_killed_with_unread_answers_affects_no_other() -> None:
    async with serving() as served, await served.client() as other:
        async with await served.client() as client:
            for request_id in range(20):
                client.call("big", {"size": 100_000}, request_id)
            await client.receive()
        other.call("echo")
        assert "result" in await other.receive()


def test_both_halves_closed_and_one_half_closed_are_distinguished() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not peer_is_gone(ours)
        theirs.shutdown(socket.SHUT_WR)
        assert ours.recv(1) == b""
        assert not peer_is_gone(ours)
        theirs.close()
        assert peer_is_gone(ours)
    assert peer_is_gone(ours), "our end is closed"


def test_the_uid_of_the_peer_is_the_kernels_word() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()


async def test_another_user_is_refused() -> None:
    async with serving(allowed_uid=os.getuid() + 1) as served, await served.client() as client:
        (refusal,) = await client.receive_all()
        assert (refusal["id"], code(refusal)) == (None, 300)
        assert served.stats.connections == 0


async def test_a_connection_may_idle_between_messages() -> None:
    async with serving(ConnectionLimits(message_timeout_s=0.02)) as served, await served.client() as client:
        client.call("echo")
        await client.receive()
        await asyncio.sleep(0.06)
        client.call("echo")
        assert "result" in await client.receive()


async def stopping(served: Served, grace_s: float, forced: asyncio.Event | None = None) -> asyncio.Task[None]:
    task = asyncio.create_task(served.transport.close(grace_s, forced or asyncio.Event()))
    await asyncio.sleep(0)
    return task


async def test_a_stop_lets_requests_end_and_refuses_new_ones() -> None:
    async with serving() as served, await served.client() as client, await served.client() as idle:
        client.call("wait", request_id=1)
        await served.methods.begun.acquire()
        stop = await stopping(served, grace_s=60)
        client.call("echo", request_id=2)
        answer = await client.receive()
        assert (answer["id"], code(answer)) == (2, SHUTTING_DOWN)
        served.methods.released.set()
        assert (await client.receive())["result"] == {"text": "released"}
        await stop
        assert await client.receive_all() == await idle.receive_all() == []


@pytest.mark.parametrize(("grace_s", "is_forced"), [(0.02, False), (60, True)])
async def test_a_request_beyond_the_grace_period_is_cancelled_with_an_error(grace_s: float, is_forced: bool) -> None:
    async with serving() as served, await served.client() as client:
        forced = asyncio.Event()
        if is_forced:
            asyncio.get_running_loop().call_later(0.02, forced.set)
        client.call("wait", request_id=1)
        await served.methods.begun.acquire()
        stop = await stopping(served, grace_s, forced)
        assert code(await client.receive()) == SHUTTING_DOWN
        await stop
        assert not served.methods.cancelled.locked()


async def test_a_reset_connection_is_forgotten() -> None:
    async with serving() as served:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raw.connect(str(served.socket))
            raw.send(encode_call("wait", request_id=1) + b'\n{"half')
            await served.methods.begun.acquire()
        await served.methods.cancelled.acquire()
        await served.connections_left(0)
