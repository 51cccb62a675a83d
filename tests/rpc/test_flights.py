"""Identical requests in flight: one piece of work, and an answer for each client."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from gnod.errors import RequestCancelled
from gnod.rpc.flights import Flights
from tests.rpc.harness import Client, Served, serving


async def _clients(stack: AsyncExitStack, served: Served, count: int) -> list[Client]:
    return [await stack.enter_async_context(await served.client()) for _ in range(count)]


async def _is_idle(served: Served) -> bool:
    """Tell whether no further work has begun after everything that was sent has been read."""
    async with await served.client() as client:
        client.call("echo", {"text": "read"})
        assert (await client.receive())["result"] == {"text": "read"}
    return served.methods.begun.locked()


async def test_identical_requests_are_one_piece_of_work() -> None:
    async with serving(flights=Flights()) as served, AsyncExitStack() as stack:
        first, second, third = await _clients(stack, served, 3)
        first.call("wait", {"progress_token": "a"}, request_id="one")
        assert (await first.receive())["params"]["token"] == "a"
        await served.methods.begun.acquire()
        second.call("wait", request_id=2)
        third.call("wait", {}, request_id=1)
        assert await _is_idle(served)
        served.methods.released.set()
        answers = [await client.receive() for client in (first, second, third)]
        assert [answer["id"] for answer in answers] == ["one", 2, 1]
        assert all(answer["result"] == {"text": "released"} for answer in answers)
        # The next one is answered anew.
        first.call("wait")
        assert (await first.receive())["result"] == {"text": "released"}
        await asyncio.wait_for(served.methods.begun.acquire(), 10)


async def test_a_cancelled_request_leaves_the_others_alone_and_the_last_ends_the_work() -> None:
    async with serving(flights=Flights()) as served, AsyncExitStack() as stack:
        first, second = await _clients(stack, served, 2)
        first.call("wait", request_id=1)
        await served.methods.begun.acquire()
        second.call("wait", request_id=1)
        assert await _is_idle(served)
        first.cancel(1)
        assert (await first.receive())["error"]["code"] == RequestCancelled.code
        assert served.methods.cancelled.locked()
        second.cancel(1)
        await served.methods.cancelled.acquire()
        assert (await second.receive())["error"]["code"] == RequestCancelled.code
        # A request right behind the cancelled one does not join it.
        first.call("wait", request_id=2)
        await served.methods.begun.acquire()
        second.call("wait", request_id=2)
        first.cancel(2)
        first.call("wait", request_id=3)
        served.methods.released.set()
        assert (await second.receive())["result"] == {"text": "released"}


async def test_an_error_goes_to_all() -> None:
    async with serving(flights=Flights()) as served, AsyncExitStack() as stack:
        clients = await _clients(stack, served, 2)
        for method in ("missing", "broken", "orphaned"):
            for client in clients:
                client.call(method)
            codes = {(await client.receive())["error"]["code"] for client in clients}
            assert len(codes) == 1, method


async def test_requests_after_a_change_do_not_join_those_before() -> None:
    flights = Flights()
    async with serving(flights=flights) as served, AsyncExitStack() as stack:
        first, second = await _clients(stack, served, 2)
        first.call("wait")
        await served.methods.begun.acquire()
        await asyncio.to_thread(flights.part)
        second.call("wait")
        await served.methods.begun.acquire()
        served.methods.released.set()
        assert [(await client.receive())["result"]["text"] for client in (first, second)] == ["released"] * 2
