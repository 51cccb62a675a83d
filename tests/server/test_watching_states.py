"""What keeps a watch from hearing of changes: it says so, and takes them in later. The real services in this process,
with the system imitated at its edge."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gnod import mounts
from gnod.server import collection_watch, services, watching
from gnod.server.control import Control
from gnod.server.index import Index
from gnod.server.stats import Stats
from gnod.server.watching import Clocks
from gnod.store import documents
from tests.server.harness import places_in


@asynccontextmanager
async def an_index(folder: Path) -> AsyncIterator[Index]:
    places = places_in(folder)
    (folder / "notes").mkdir()
    places.config_file.parent.mkdir(parents=True, exist_ok=True)
    places.config_file.write_text(f"collections:\n  - {{name: notes, path: {folder / 'notes'}}}\n")
    served = await services.start(places, Stats(), Control())
    try:
        await served.index.make_fresh([])
        yield served.index
    finally:
        await served.close()


async def until(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def indexed(index: Index) -> list[str]:
    found = index.database.read(lambda c: documents.under(c, "notes", "", 100, 0)).result()
    return [document.path for document in found]


def test_the_clocks_tell_when_the_process_or_the_machine_stood_still() -> None:
    before = Clocks(awake=100.0, always=1000.0)
    assert not Clocks(103.0, 1003.0).stood_still_since(before)
    assert not Clocks(104.0, 1004.5).stood_still_since(before)  # a little late, as on a busy machine
    assert Clocks(103.0, 1603.0).stood_still_since(before)  # the machine slept ten minutes
    assert Clocks(163.0, 1063.0).stood_still_since(before)  # the process was stopped for one


def test_clocks_go_on() -> None:
    first, second = Clocks.now(), Clocks.now()
    assert second.awake >= first.awake
    assert second.always >= first.always


@pytest.mark.slow
async def test_a_network_drive_is_walked_every_few_seconds(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mountinfo = short_tmp / "mountinfo"
    mountinfo.write_text(
        f"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 21 0:35 / {short_tmp}/notes rw - nfs4 server:/n rw\n"
    )
    monkeypatch.setattr(mounts, "_MOUNT_INFO", mountinfo)
    monkeypatch.setattr(collection_watch, "_POLL_S", 0.5)
    monkeypatch.setattr(watching, "_LOOK_EVERY_S", 0.2)
    async with an_index(short_tmp) as index:
        state = index.watching.state("notes")
        assert state.mode == "polling"
        assert "nfs4" in (state.reason or "")
        (short_tmp / "notes/a.md").write_text("# Zebra\n")
        await until(lambda: indexed(index) == ["a.md"])
        freshness = index.database.read(lambda c: index.freshness(c, [])).result()
        assert freshness.unwatched == ["notes"]
        assert not freshness.current  # a change may be some seconds old


@pytest.mark.slow
async def test_on_a_full_disk_changes_wait(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_LOOK_EVERY_S", 0.2)
    async with an_index(short_tmp) as index:
        await until(lambda: index.syncing.pending().files == 0)
        real = shutil.disk_usage
        full = real(short_tmp)._replace(total=1000, free=9)
        monkeypatch.setattr("shutil.disk_usage", lambda _: full)
        (short_tmp / "notes/a.md").write_text("# Zebra\n")
        await until(lambda: "1 %" in (index.watching.state("notes").reason or ""))
        await asyncio.sleep(0.5)
        assert index.syncing.pending().files == 1
        assert indexed(index) == []
        await index.make_fresh(["notes"])  # who asks for it gets it
        assert indexed(index) == ["a.md"]
        (short_tmp / "notes/b.md").write_text("# Lion\n")
        await until(lambda: index.syncing.pending().files == 1)
        monkeypatch.setattr("shutil.disk_usage", real)
        await until(lambda: indexed(index) == ["a.md", "b.md"])
        assert index.watching.state("notes").reason is None


@pytest.mark.slow
async def test_what_the_watch_missed_is_found_by_whoever_looks(short_tmp: Path) -> None:
    async with an_index(short_tmp) as index:
        await until(lambda: index.watching.state("notes").mode == "events" and not index.syncing.is_running)
        await asyncio.sleep(0.5)
        index.watching.differs("notes")
        assert index.syncing.pending().files == 1
        await until(lambda: index.syncing.pending().files == 0)
