"""The asynchronous client of `gnod.client` against the daemon's own transport, and against one that misbehaves."""

from __future__ import annotations

import asyncio
import gc

import pytest

from gnod.client import AsyncClient
from gnod.client.asynchronous import MAX_UNREAD
from gnod.errors import CollectionNotFound, DaemonNotRunning, TimedOut, Unavailable, UsageError
from gnod.paths import IndexPaths
from gnod.protocol.base import NoParams, ProgressValue
from gnod.protocol.index import IndexSyncResult
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import BEGUN, NO_REPLIES, changes, found, hit, told
from tests.rpc.harness import EchoParams, Served, SizeParams, TextResult, serving
from tests.waiting import until

SYNCED = IndexSyncResult(collections=[], took_ms=1.0)


@pytest.fixture
def daemon(daemon: FakeDaemon) -> FakeDaemon:
    daemon.answers |= {"index.sync": SYNCED, "search.lexical": found(hit()), "index.subscribe": BEGUN}
    return daemon


async def connect(served: Served) -> AsyncClient:
    return await AsyncClient.connect(socket=served.socket, start=False)


async def echo(client: AsyncClient, text: str) -> str:
    return (await client.call("echo", EchoParams(text=text), TextResult)).text


async def test_answers_find_their_calls_whatever_their_order() -> None:
    async with serving() as served, await connect(served) as client:
        slow = asyncio.create_task(client.call("wait", NoParams(), TextResult))
        await served.methods.begun.acquire()
        assert await echo(client, "quick") == "quick"
        served.methods.released.set()
        assert (await slow).text == "released"


async def test_hundreds_at_once_are_not_refused() -> None:
    async with serving() as served, await connect(served) as client:
        texts = [str(number) for number in range(400)]
        assert await asyncio.gather(*(echo(client, text) for text in texts)) == texts
        assert served.stats.connections == 1


async def test_cancelling_a_task_cancels_its_request() -> None:
    async with serving() as served, await connect(served) as client:
        task = asyncio.create_task(client.call("wait", NoParams(), TextResult))
        await served.methods.begun.acquire()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(60):
            await served.methods.cancelled.acquire()
        assert await echo(client, "still there") == "still there"


@pytest.mark.slow
async def test_requests_that_replace_each_other_are_never_too_many() -> None:
    """As in a search while the user types: each key cancels the request of the previous one."""
    async with serving() as served, await connect(served) as client:
        for _ in range(20):
            tasks = [asyncio.create_task(client.call("wait", NoParams(), TextResult)) for _ in range(32)]
            for _ in tasks:
                await served.methods.begun.acquire()
            for task in tasks:
                task.cancel()
            assert await echo(client, "next") == "next"
        async with asyncio.timeout(60):
            for _ in range(20 * 32):
                await served.methods.cancelled.acquire()


async def test_progress_goes_to_the_call_that_it_is_about() -> None:
    async with serving() as served, await connect(served) as client:
        seen: dict[int, list[int]] = {3: [], 5: []}

        async def count(size: int) -> None:
            def note(value: ProgressValue) -> None:
                assert value.total == size
                seen[size].append(value.done)

            await client.call("count", SizeParams(size=size), TextResult, on_progress=note)

        await asyncio.gather(count(3), count(5))
        assert seen[3][-1] == 3
        assert seen[5][-1] == 5


async def test_an_error_in_a_progress_callback_reaches_only_its_caller() -> None:
    def stop(_: ProgressValue) -> None:
        raise ValueError("enough")

    async with serving() as served, await connect(served) as client:
        slow = asyncio.create_task(client.call("wait", NoParams(), TextResult))
        await served.methods.begun.acquire()
        with pytest.raises(ValueError, match="enough"):
            await client.call("count", SizeParams(size=3), TextResult, on_progress=stop)
        served.methods.released.set()
        assert (await slow).text == "released"


async def test_a_large_answer_arrives_whole() -> None:
    async with serving() as served, await connect(served) as client:
        result = await client.call("big", SizeParams(size=10_000_000), TextResult)
        assert len(result.text) == 10_000_000


async def test_closing_ends_what_is_in_flight() -> None:
    async with serving() as served:
        client = await connect(served)
        task = asyncio.create_task(client.call("wait", NoParams(), TextResult))
        await served.methods.begun.acquire()
        await client.close()
        await client.close()
        with pytest.raises(Unavailable):
            await task
        await served.connections_left(0)
        with pytest.raises(Unavailable, match="closed"):
            await echo(client, "x")


async def test_after_the_daemon_went_away_the_next_call_connects_anew(daemon: FakeDaemon) -> None:
    daemon.answers["search.lexical"] = b""
    async with await AsyncClient.connect() as client:
        with pytest.raises(Unavailable, match="connection to the daemon was lost"):
            await client.search("deploy")
        await _until_it_answers(client)
        results = await asyncio.gather(*(client.sync() for _ in range(5)))
        assert [each.took_ms for each in results] == [1.0] * 5


async def test_a_call_that_only_reads_is_repeated_and_no_other(daemon: FakeDaemon) -> None:
    async with await AsyncClient.connect() as client:
        daemon.hang_up_once("search.lexical")
        assert (await client.search("deploy")).total == 1
        daemon.hang_up_once("index.sync")
        with pytest.raises(Unavailable, match="connection to the daemon was lost"):
            await client.sync()
    assert [name for name, _ in daemon.calls] == ["search.lexical", "search.lexical", "index.sync"]


async def test_a_second_event_loop_gets_an_error_at_once(daemon: FakeDaemon) -> None:
    async with await AsyncClient.connect() as client:

        async def search() -> int:
            return (await client.search("deploy")).total

        with pytest.raises(UsageError, match="one for each"):
            await asyncio.to_thread(lambda: asyncio.run(search()))
        assert await search() == 1


async def test_a_daemon_that_is_silent_is_named() -> None:
    async with serving() as served, await AsyncClient.connect(socket=served.socket, timeout_s=1.0) as client:
        with pytest.raises(TimedOut, match=r"gnod \(pid \d+\) did not answer wait within 1 s"):
            await client.call("wait", NoParams(), TextResult)
        async with asyncio.timeout(60):
            await served.methods.cancelled.acquire()
        assert await echo(client, "still there") == "still there"


@pytest.mark.slow
async def test_answers_of_others_make_a_call_wait_longer() -> None:
    """The daemon works on many requests, and answers this one later."""
    async with serving() as served, await AsyncClient.connect(socket=served.socket, timeout_s=2.0) as client:
        slow = asyncio.create_task(client.call("wait", NoParams(), TextResult))
        await served.methods.begun.acquire()
        for _ in range(12):
            await echo(client, "quick")
            await asyncio.sleep(0.2)
        served.methods.released.set()
        assert (await slow).text == "released"


@pytest.mark.parametrize("sent", NO_REPLIES)
async def test_a_daemon_that_misbehaves_gives_a_clean_error(sent: bytes, daemon: FakeDaemon) -> None:
    daemon.answers["search.lexical"] = sent
    async with await AsyncClient.connect() as client:
        with pytest.raises(NO_REPLIES[sent]) as caught:
            await client.search("x")
        assert caught.value.message
        await _until_it_answers(client)


async def test_answers_and_progress_that_nobody_asked_for_are_ignored(daemon: FakeDaemon) -> None:
    daemon.answers["search.lexical"] = (
        b'{"jsonrpc":"2.0","id":99,"result":{}}\n{"jsonrpc":"2.0","id":"1","result":{}}\n'
        b'{"jsonrpc":"2.0","method":"$/progress","params":{"token":1,"value":{"stage":"x","done":1}}}\n'
        b'{"jsonrpc":"2.0","method":"$/progress","params":7}\n{"jsonrpc":"2.0","method":"new/one","params":[]}\n'
        b'{"jsonrpc":"2.0","id":1,"result":{"query":"x","mode":"keyword","hits":[],"total":7,"took_ms":1,'
        b'"freshness":{"current":true},"newer":1},"newer":[1]}\n'
    )
    async with await AsyncClient.connect() as client:
        assert (await client.search("x")).total == 7


async def test_nobody_listens(places: IndexPaths) -> None:
    with pytest.raises(DaemonNotRunning, match="gnoctl daemon start"):
        await AsyncClient.connect()


async def test_cancelled_while_it_connects(daemon: FakeDaemon) -> None:
    task = asyncio.create_task(AsyncClient.connect())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.1)
    gc.collect()  # an open socket would cause a warning, which fails the test


async def test_changes_come_in_order_and_say_where_to_go_on(daemon: FakeDaemon) -> None:
    many = 10 * MAX_UNREAD
    daemon.answers["index.subscribe"] = told(*changes(many))
    async with await AsyncClient.connect() as client, client.subscribe(since=90) as subscription:
        assert subscription.begun == BEGUN
        for changed in changes(many):
            await asyncio.sleep(0)
            assert await anext(subscription) == changed
        for _ in range(2):
            with pytest.raises(Unavailable) as caught:
                await anext(subscription)
            assert caught.value.details["clock"] == 100 + many


async def test_closing_the_client_ends_its_subscriptions(daemon: FakeDaemon) -> None:
    client = await AsyncClient.connect()
    subscription = client.subscribe()
    waiting = asyncio.ensure_future(anext(subscription))
    await until(lambda: daemon.calls)
    await client.close()
    with pytest.raises(StopAsyncIteration):
        await waiting
    with pytest.raises(StopAsyncIteration):
        await anext(subscription)


async def test_a_refused_subscription(daemon: FakeDaemon) -> None:
    daemon.answers["index.subscribe"] = CollectionNotFound("there is no collection 'x'")
    async with await AsyncClient.connect() as client:
        with pytest.raises(CollectionNotFound):
            async with client.subscribe(collections=["x"]):
                pass


async def _until_it_answers(client: AsyncClient) -> None:
    """Repeat the request as long as the client reads the daemon's answer before the end of the connection."""
    async with asyncio.timeout(60):
        while True:
            try:
                assert (await client.sync()).took_ms == 1.0
                return
            except Unavailable:
                await asyncio.sleep(0.01)
