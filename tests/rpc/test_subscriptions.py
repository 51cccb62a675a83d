"""`index.subscribe` over a real socket, with a real index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gnod.daemon import composition
from gnod.daemon.lifecycle import Control
from gnod.daemon.listening import listening_socket
from gnod.protocol.framing import Framing
from gnod.rpc.call import MAX_TASKS
from gnod.rpc.connection import RpcConnection
from gnod.rpc.dispatcher import Dispatcher
from gnod.rpc.stats import Stats
from gnod.rpc.transport import Transport
from gnod.store.documents import collections, writing
from tests.rpc.harness import Client, places_in
from tests.small_index import prepared
from tests.waiting import until

pytestmark = pytest.mark.slow

LIMIT_EXCEEDED, COLLECTION_NOT_FOUND, SUBSCRIPTION_NOT_FOUND, INVALID_PARAMS = 309, 101, 106, -32602


class Daemon:
    """The services and their transport, in a folder of notes."""

    def __init__(self, folder: Path, served: composition.ComposedServices, transport: Transport, stats: Stats) -> None:
        self.notes = folder / "notes"
        self.socket = places_in(folder).socket
        self.services = served
        self.stats = stats
        self.transport = transport

    async def client(self) -> Client:
        return Client(*await asyncio.open_unix_connection(self.socket))

    async def sync(self) -> None:
        await self.services.freshness.refresh(["notes", "work"])

    def put(self, *paths: str, text: str = "# Note\n") -> None:
        """Index documents and report the change, as a sync would. They have no files. The folder is missing, so a walk
        after the machine was suspended keeps them."""
        if self.notes.exists():
            self.notes.rmdir()

        def work(connection: Any) -> None:
            for path in paths:
                at = collections.id_of(connection, "notes")
                writing.put(connection, at, path, prepared(text, path), now=0.0)

        self.change(work)

    def change(self, work: Callable[[Any], object]) -> None:
        self.services.database.submit_write(work).result()
        self.services.subscriptions.wake()


@asynccontextmanager
async def a_daemon(folder: Path) -> AsyncIterator[Daemon]:
    places = places_in(folder)
    names = ("notes", "work")
    for name in names:
        (folder / name).mkdir(exist_ok=True)
    places.config_file.parent.mkdir(parents=True, exist_ok=True)
    listed = "\n".join(f"  - {{name: {name}, path: {folder / name}}}" for name in names)
    places.config_file.write_text(f"collections:\n{listed}\n")
    stats = Stats()
    served = await composition.start(places, stats, Control())
    with listening_socket(places) as listening:
        transport = Transport(Dispatcher(served.handlers, stats), stats)
        await transport.listen(listening.socket)
        daemon = Daemon(folder, served, transport, stats)
        try:
            await daemon.sync()
            yield daemon
        finally:
            await transport.close(0, asyncio.Event())
            await served.close()


async def receive(client: Client) -> Any:
    return await asyncio.wait_for(client.receive(), 60)


async def call(client: Client, method: str, **params: object) -> Any:
    """Return the answer. Notifications that arrive meanwhile are discarded."""
    client.call(method, params, request_id="asked")
    while True:
        message = await receive(client)
        if message.get("id") == "asked":
            return message


async def subscribe(client: Client, **params: object) -> Any:
    answer = await call(client, "index.subscribe", **params)
    assert "result" in answer, answer
    return answer["result"]


async def next_changes(client: Client) -> Any:
    """Return the next notification that names paths."""
    while True:
        message = await receive(client)
        assert message["method"] == "index.changed"
        if any(message["params"][each] for each in ("indexed", "removed", "failed")):
            return message["params"]


async def silence(client: Client, seconds: float = 0.7) -> None:
    """Expect that no notification names a path for a while."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await next_changes(client)


def paths(changed: Any, kind: str = "indexed") -> list[str]:
    return [each["path"] for each in changed[kind]]


async def test_the_state_first_and_then_what_changes(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon, await daemon.client() as client:
        (daemon.notes / "a.md").write_text("# Alpha\n")
        await daemon.sync()
        subscribed = await subscribe(client)
        assert not subscribed["reset"]
        (notes, _work) = subscribed["state"]["collections"]
        assert (notes["name"], notes["documents"], notes["failed"], notes["available"]) == ("notes", 1, 0, True)
        assert subscribed["state"]["embedding"]["state"]
        assert "pending" in subscribed["state"]["freshness"]

        (daemon.notes / "b.md").write_text("# Beta\n")
        await daemon.sync()
        changed = await next_changes(client)
        (beta,) = changed["indexed"]
        named = {"uri": "gno://notes/b.md", "collection": "notes", "path": "b.md", "title": "Beta"}
        assert beta == {**named, "docid": beta["docid"]}
        assert changed["subscription"] == subscribed["subscription"]
        assert changed["clock"] > subscribed["clock"]

        (daemon.notes / "a.md").unlink()
        (daemon.notes / "broken.pdf").write_bytes(b"%PDF-1.4 and then nothing")
        await daemon.sync()
        removed: list[str] = []
        failed: list[Any] = []
        while not (removed and failed):
            changed = await next_changes(client)
            removed += paths(changed, "removed")
            failed += changed["failed"]
        assert removed == ["a.md"]
        assert [(each["path"], each["kind"], each["docid"]) for each in failed] == [("broken.pdf", "corrupt", None)]
        assert failed[0]["message"]


async def test_pages_are_in_order_and_resuming_leaves_no_gap(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon:
        named = [f"{n:04}.md" for n in range(1200)]
        daemon.put(*named)
        async with await daemon.client() as client:
            subscribed = await subscribe(client, since=0)
            assert (subscribed["reset"], subscribed["clock"]) == (True, 0)
            pages = [await next_changes(client) for _ in range(3)]
            assert [path for page in pages for path in paths(page)] == named
            assert [(len(page["indexed"]), page["more"]) for page in pages] == [(500, True), (500, True), (200, False)]
            clocks = [page["clock"] for page in pages]
            assert clocks == sorted(set(clocks))
            await silence(client)
        reported: list[str] = []
        clock = 0
        for _ in range(3):  # it disconnects after each page
            async with await daemon.client() as client:
                subscribed = await subscribe(client, since=clock)
                assert subscribed["clock"] == clock
                page = await next_changes(client)
                reported += paths(page)
                clock = page["clock"]
        assert reported == named
        async with await daemon.client() as client:
            assert not (await subscribe(client, since=clock))["reset"]
            await silence(client)
            daemon.put("new.md")
            assert paths(await next_changes(client)) == ["new.md"]


async def test_a_clock_below_the_floor_gets_everything(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon, await daemon.client() as client:
        daemon.put("a.md", "b.md")
        seen = (await subscribe(client))["clock"]
        daemon.change(lambda c: writing.remove(c, collections.id_of(c, "notes"), ["a.md", "b.md"]))
        daemon.put("c.md")
        daemon.change(writing.purge)
        async with await daemon.client() as other:
            subscribed = await subscribe(other, since=seen)
            assert (subscribed["reset"], subscribed["clock"]) == (True, 0)
            assert paths(await next_changes(other)) == ["c.md"]
            assert (await subscribe(other, since=2**53))["reset"], "a clock in the future is not from this index"


async def test_a_subscriber_that_missed_changes_must_start_over(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon, await daemon.client() as client:
        daemon.put("a.md")
        await subscribe(client)

        def come_and_go(connection: Any) -> None:
            at = collections.id_of(connection, "notes")
            writing.put(connection, at, "b.md", prepared("# B\n", "b.md"), now=0.0)
            writing.remove(connection, at, ["b.md"])
            writing.purge(connection)

        daemon.change(come_and_go)
        changed = await next_changes(client)
        assert (changed["reset"], paths(changed)) == (True, ["a.md"])
        daemon.put("c.md")
        changed = await next_changes(client)
        assert (changed["reset"], paths(changed)) == (False, ["c.md"])


@pytest.mark.stress
async def test_a_client_that_does_not_read_costs_no_memory_and_misses_nothing(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon, await daemon.client() as client:
        await subscribe(client)
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        named = [f"{'long' * 40}/{n:05}.md" for n in range(9000)]
        for at in range(0, len(named), 1000):
            daemon.put(*named[at : at + 1000])
            await asyncio.sleep(0.2)
        waiting = unread(daemon)
        daemon.put("later.md")
        await asyncio.sleep(0.3)
        assert unread(daemon) == waiting < 1_000_000, "of the three megabytes"
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        reported: list[str] = []
        clocks: list[int] = []
        while "later.md" not in reported:
            changed = await next_changes(client)
            reported += paths(changed)
            clocks.append(changed["clock"])
        assert reported == [*named, "later.md"]
        assert clocks == sorted(set(clocks))


def unread(daemon: Daemon) -> int:
    (connection,) = daemon.transport._connections
    assert isinstance(connection, RpcConnection)
    return connection._writer.transport.get_write_buffer_size()


async def test_two_subscribers_and_some_collections(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon, await daemon.client() as first, await daemon.client() as second:
        await subscribe(first)
        work = await subscribe(second, collections=["work"])
        assert [each["name"] for each in work["state"]["collections"]] == ["work"]
        notes = await subscribe(second, collections=["notes"])
        assert notes["subscription"] != work["subscription"]
        daemon.put("a.md")
        assert paths(await next_changes(first)) == ["a.md"]
        changed = await next_changes(second)
        assert (changed["subscription"], paths(changed)) == (notes["subscription"], ["a.md"])
        await silence(second)


async def test_unsubscribing_and_the_limit_of_a_connection(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon, await daemon.client() as client, await daemon.client() as other:
        number = (await subscribe(client))["subscription"]
        refused = await call(other, "index.unsubscribe", subscription=number)
        assert refused["error"]["code"] == SUBSCRIPTION_NOT_FOUND, "the subscription belongs to another connection"
        ended = await call(client, "index.unsubscribe", subscription=number)
        assert ended["result"] == {"subscription": number}
        daemon.put("a.md")
        await silence(client)
        again = await call(client, "index.unsubscribe", subscription=number)
        assert again["error"]["code"] == SUBSCRIPTION_NOT_FOUND

        numbers = [(await subscribe(client))["subscription"] for _ in range(MAX_TASKS)]
        refused = await call(client, "index.subscribe")
        assert refused["error"]["code"] == LIMIT_EXCEEDED
        await call(client, "index.unsubscribe", subscription=numbers[0])
        await subscribe(client)


async def test_the_end_of_the_connection_ends_it(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon:
        async with await daemon.client() as client:
            await subscribe(client)
            assert senders() == 1
        await until(lambda: not daemon.stats.connections)
        assert senders() == 0
        daemon.put("a.md")  # there is no subscriber to wake
        await asyncio.sleep(0.1)


async def test_a_subscriber_that_breaks_the_framing_gets_no_more_notifications(
    short_tmp: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_daemon(short_tmp) as daemon, await daemon.client() as client:
        client.call("index.subscribe", {}, framing=Framing.HEADERS)
        await receive(client)
        client.send(b"Content-Length: x\r\n\r\n")
        while "error" not in await receive(client):
            pass
        daemon.put("a.md")  # the daemon still reads from the client, but writes no more
        await until(lambda: senders() == 0)
        client.writer.close()
        await until(lambda: not daemon.stats.connections)
    assert "subscription.broken" not in caplog.text


def senders() -> int:
    return sum(task.get_name().startswith("notifications ") for task in asyncio.all_tasks())


async def test_bad_parameters(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon, await daemon.client() as client:
        for params, code in (
            ({"since": -1}, INVALID_PARAMS),
            ({"since": "yesterday"}, INVALID_PARAMS),
            ({"from": 3}, INVALID_PARAMS),
            ({"collections": ["notes", "nothing"]}, COLLECTION_NOT_FOUND),
        ):
            answer = await call(client, "index.subscribe", **params)
            assert answer["error"]["code"] == code, params
        assert senders() == 0


async def test_states_are_sent_at_intervals_and_only_when_they_change(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon, await daemon.client() as client:
        subscribed = await subscribe(client)
        for _ in range(40):  # longer than an interval, in which the same state could be sent again
            daemon.services.subscriptions.wake()
            await asyncio.sleep(0.02)
        daemon.notes.rename(daemon.notes.with_name("elsewhere"))
        await daemon.sync()
        freshness = subscribed["state"]["freshness"]
        while freshness["unavailable"] != ["notes"]:
            changed = (await receive(client))["params"]
            assert (changed["indexed"], changed["removed"], changed["failed"]) == ([], [], [])
            freshness, before = changed["freshness"], freshness
            assert freshness != before
        assert changed["clock"] >= subscribed["clock"]


async def test_a_collection_that_is_removed(short_tmp: Path) -> None:
    async with a_daemon(short_tmp) as daemon, await daemon.client() as client:
        (daemon.notes / "a.md").write_text("# Alpha\n")
        await daemon.sync()
        await subscribe(client)
        async with await daemon.client() as other:
            await call(other, "collection.rename", name="notes", new_name="diary")
            changed = await next_changes(client)
            reported = [(each["collection"], each["path"]) for each in changed["removed"] + changed["indexed"]]
            assert reported == [("notes", "a.md"), ("diary", "a.md")]
            await call(other, "collection.remove", name="diary")
            changed = await next_changes(client)
            assert [(each["collection"], each["path"]) for each in changed["removed"]] == [("diary", "a.md")]


async def test_a_collection_without_documents_is_notified(short_tmp: Path) -> None:
    """It changes no path, and its sync may be too short for a notification."""
    async with a_daemon(short_tmp) as daemon, await daemon.client() as client:
        (short_tmp / "empty").mkdir()
        await subscribe(client)
        async with await daemon.client() as other:
            await silence(client)
            added = await call(other, "collection.add", path=str(short_tmp / "empty"))
            assert added["result"]["collection"]["name"] == "empty"
        changed = (await receive(client))["params"]
        assert (changed["indexed"], changed["removed"], changed["failed"]) == ([], [], [])
