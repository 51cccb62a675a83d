"""After any change of index.yml, no byte goes to a server of a shared collection that the file does not name now.

A whole daemon runs in this process. It publishes one collection and searches another. The server represents one in the
local network; it is on loopback, behind a proxy that counts the bytes. The tests edit the config file without the
daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gnod.errors import GnoError
from gnod.protocol import collections as wire
from gnod.protocol import documents as documents_wire
from gnod.protocol import search as search_wire
from tests.configured.test_egress import Daemon, daemon
from tests.models.remote_bench import LAN
from tests.rpc.harness import places_in
from tests.shared.milvus_server import MilvusServer
from tests.shared.proxy import Proxy
from tests.waiting import until

pytestmark = pytest.mark.slow


class CountingProxy(Proxy):
    """A machine in the local network."""

    def __init__(self, port: int) -> None:
        self.received = 0
        super().__init__(port, LAN)

    def request(self, data: bytes, server: socket.socket) -> None:
        self.received += len(data)
        super().request(data, server)


class World(NamedTuple):
    """`name`: the name of the collection on the server."""

    it: Daemon
    proxy: CountingProxy
    name: str

    @property
    def config(self) -> Path:
        return places_in(self.it.folder).config_file

    def configure(self, *, egress: str = "lan", is_shared: bool = True) -> None:
        address = f"milvus://lan.test:{self.proxy.port}/team/{self.name}"
        publish = f", publish: '{address}'" if is_shared else ""
        # A busy machine may be slow.
        there = f"{{name: there, address: '{address}', egress: {egress}, budget_s: 60}}"
        attach = f"attached: [{there}]\n" if is_shared else ""
        self.config.write_text(
            f"collections: [{{name: notes, path: {self.it.folder / 'notes'}, egress: {egress}{publish}}}]\n"
            f"{attach}models: {{preset: none}}\n"
        )

    def write(self, name: str) -> None:
        (self.it.folder / "notes" / name).write_text(f"# {name}\n\nHerons come back in March.\n")

    async def search(self) -> search_wire.SearchResult:
        params = search_wire.SearchLexicalParams(query="herons")
        found: search_wire.SearchResult = await self.it.call("search.lexical", params)
        return found


@contextlib.asynccontextmanager
async def world_in(folder: Path, milvus: MilvusServer, name: str) -> AsyncIterator[World]:
    """Yield a daemon that publishes a collection and has attached the same collection."""
    proxy = CountingProxy(milvus.port)
    (folder / "notes").mkdir()
    places_in(folder).config_dir.mkdir(parents=True)
    try:
        places_in(folder).config_file.write_text("models: {preset: none}\n")
        async with daemon(folder) as it:
            world = World(it, proxy, name)
            world.write("heron.md")
            world.configure()
            await it.services.reload()
            await it.services.freshness.refresh([], embedded=False)
            await until(lambda: [each.state for each in it.services.publishing.states()] == ["idle"])
            async with asyncio.timeout(60):  # the header that counts the document is read at intervals
                while {hit.collection for hit in (await world.search()).hits} != {"notes", "there"}:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            yield world
    finally:
        proxy.close()


def _spoil(world: World) -> None:
    world.config.write_text("attached: [\n")


CHANGES: dict[str, Callable[[World], None]] = {
    "removed": lambda world: world.configure(is_shared=False),
    "egress is narrowed": lambda world: world.configure(egress="local"),
    "not valid": _spoil,
    "no file": lambda world: world.config.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.stress
async def test_no_byte_goes_to_a_server_outside_the_config(short_tmp: Path, milvus: MilvusServer, change: str) -> None:
    async with world_in(short_tmp, milvus, change.replace(" ", "-")) as world:
        CHANGES[change](world)
        received = world.proxy.received
        for moment in ("before the daemon knows", "after"):
            world.write(f"{moment}.md")
            await world.it.services.freshness.refresh([], embedded=False)
            for _ in range(3):
                found = await world.search()
                with contextlib.suppress(GnoError):
                    await world.it.call("document.get", documents_wire.DocumentGetParams(ref="gno://there/heron.md"))
            if change in ("egress is narrowed", "not valid"):
                with contextlib.suppress(GnoError):
                    params = wire.CollectionPublishParams(name="notes", address="", check_only=True)
                    await world.it.call("collection.publish", params)
            assert world.proxy.received == received, moment
            if change != "no file":  # without the file, there is no collection
                assert "heron.md" in {hit.path for hit in found.hits}, "the local index answers"
            await asyncio.sleep(0.05)
            if moment == "after":
                break
            await world.it.services.reload()
        await until(lambda: not [each for each in world.it.services.attached.reports() if each.problem is None])
        assert world.proxy.received == received


async def test_the_daemon_ends_while_a_publication_ends(short_tmp: Path, milvus: MilvusServer) -> None:
    async with world_in(short_tmp, milvus, "ending") as world:
        world.configure(is_shared=False)
        await world.it.services.reload()
        for _ in range(50):  # on a busy machine, closing waits for a thread
            asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.1)
        await asyncio.sleep(0.05)
        await world.it.services.publishing.close()
        world.configure()
        await world.it.services.reload()
        await asyncio.sleep(0.05)
        assert not world.it.services.publishing.states(), "the collection must not be published again"


async def test_what_was_sent_is_recorded(short_tmp: Path, milvus: MilvusServer) -> None:
    async with world_in(short_tmp, milvus, "recorded") as world:
        world.configure(egress="local")
        lines = {(each.role, each.collection): each for each in world.it.services.journal.lines()}
        assert set(lines) == {("search", ""), ("search", "there"), ("publish", ""), ("publish", "notes")}
        assert sum(each.bytes for (_, name), each in lines.items() if not name) == world.proxy.received
        assert lines["publish", "notes"].requests > 3
