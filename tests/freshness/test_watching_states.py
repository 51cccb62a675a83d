"""Test a watch without events and a full disk: reports, and later syncs. Real database, workers and events."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gnod.config.model import CollectionConfig
from gnod.configured.configuration import Configuration
from gnod.disks.looks import Looks
from gnod.freshness.events import open_source
from gnod.freshness.events.portable import PortableSource
from gnod.freshness.events.source import EventSource, FileEvents, NotWatchable, OnEvents
from gnod.freshness.folder_watch import FolderWatch, OpenSource
from gnod.freshness.scheduler import SyncScheduler, clocks, has_stood_still
from gnod.freshness.timings import SyncTimings
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.scope import Scope
from gnod.ingest.files.walk import walk
from gnod.ingest.sync import SyncReport
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.database import Database
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from tests.waiting import until

QUICK = SyncTimings(check_every_s=0.05, poll_s=0.1, longest_rest_s=0.1)


async def test_changes_in_hidden_folders_start_no_sync(tmp_path: Path) -> None:
    found: list[Scope] = []

    async def watched(*, hidden: bool) -> OnEvents:
        sources: list[OnEvents] = []

        def remember(_: str, on_events: OnEvents) -> EventSource:
            sources.append(on_events)
            raise NotWatchable("no events here")

        config = CollectionConfig(name="c", path=str(tmp_path), hidden=hidden)
        watch = FolderWatch(config, found.append, remember, QUICK)
        await watch.open(Looks().at(config.path))
        return sources[0]

    of_programs = frozenset({".obsidian/workspace.json", "a/.trash/b.md", ".x.md.swp", ".git/.gitignore"})
    (await watched(hidden=False))(FileEvents(of_programs))
    assert found == []
    (await watched(hidden=False))(FileEvents(of_programs | {"a/.gitignore", "b.md", ".later.md.icloud"}))
    assert [scope.paths for scope in found] == [frozenset({"a", "b.md", ".later.md.icloud"})]
    (await watched(hidden=True))(FileEvents(frozenset({".obsidian/workspace.json", ".git/x"})))
    assert found[1].paths == frozenset({".obsidian/workspace.json"})  # `.git` is excluded by name


class SyncedFolder:
    """The collection `notes`, kept in sync. `hold_reason`: the reason that the scheduler gets."""

    def __init__(self, folder: Path, open_source: OpenSource, answers_within_s: float) -> None:
        self.notes = folder / "notes"
        self.notes.mkdir()
        config = folder / "config" / "index.yml"
        config.parent.mkdir()
        config.write_text(f"collections:\n  - {{name: notes, path: {self.notes}}}\n")
        self.hold_reason: str | None = None
        self.database = Database(folder / "index.sqlite")
        self.configuration = Configuration(config, self.database)
        self.pool = WorkerPool(size=1, timeout_s=60, memory_mb=2048)
        self._open_source = open_source
        self._looks = Looks(answers_within_s)

    async def start(self) -> None:
        await self.configuration.mirror()
        self.scheduler = SyncScheduler(
            self.configuration,
            self.database,
            self.pool,
            hold_reason=lambda: self.hold_reason,
            on_index_changed=lambda: None,
            on_check=lambda: None,
            looks=self._looks,
            open_source=self._open_source,
            timings=QUICK,
        )
        await self.scheduler.sync([])

    async def close(self) -> None:
        await self.scheduler.close()
        await self.pool.close()
        await asyncio.to_thread(self.database.close)

    def indexed(self) -> list[str]:
        return [document.path for document in self._documents()]

    def titles(self) -> list[str]:
        return [document.title for document in self._documents()]

    def _documents(self) -> list[DocumentRow]:
        return list(self.database.submit_read(lambda c: documents.under(c, "notes", "", 1000, 0)).result())


@asynccontextmanager
async def synced(
    folder: Path, open_source: OpenSource = open_source, answers_within_s: float = 15.0
) -> AsyncIterator[SyncedFolder]:
    index = SyncedFolder(folder, open_source, answers_within_s)
    await index.start()
    try:
        yield index
    finally:
        await index.close()


def test_the_clocks_show_when_the_process_or_the_machine_stood_still() -> None:
    before = (100.0, 1000.0)  # the clock that stops while the machine sleeps, and the other clock
    timings = SyncTimings()
    assert not has_stood_still(before, (103.0, 1003.0), timings)
    assert not has_stood_still(before, (104.0, 1004.5), timings)  # a little late, as on a busy machine
    assert has_stood_still(before, (103.0, 1603.0), timings)  # the machine slept ten minutes
    assert has_stood_still(before, (163.0, 1063.0), timings)  # the process was stopped for one minute


def test_clocks_go_on() -> None:
    first, second = clocks(), clocks()
    assert all(after >= before for before, after in zip(first, second, strict=True))


def no_events(root: str, on_events: OnEvents) -> EventSource:
    raise NotWatchable(f"{root} is of type nfs4")


@pytest.mark.slow
async def test_a_folder_without_events_is_walked_regularly(short_tmp: Path) -> None:
    async with synced(short_tmp, no_events) as index:
        state = index.scheduler.watch_state("notes")
        assert state.mode == "polling"
        assert not state.is_watched
        assert "nfs4" in (state.reason or "")
        (index.notes / "a.md").write_text("# Zebra\n")
        await until(lambda: index.indexed() == ["a.md"])


@pytest.mark.slow
async def test_on_a_full_disk_changes_wait(short_tmp: Path) -> None:
    async with synced(short_tmp) as index:
        await until(lambda: index.scheduler.pending_files() == 0 and not index.scheduler.is_running)
        index.hold_reason = "the disk is full"
        (index.notes / "a.md").write_text("# Zebra\n")
        await until(lambda: index.scheduler.watch_state("notes").reason == "the disk is full")
        await asyncio.sleep(4 * QUICK.check_every_s)
        assert index.scheduler.pending_files() == 1
        assert index.indexed() == []
        await index.scheduler.sync(["notes"])  # an explicit request does not wait
        assert index.indexed() == ["a.md"]
        (index.notes / "b.md").write_text("# Lion\n")
        await until(lambda: index.scheduler.pending_files() == 1)
        index.hold_reason = None
        await until(lambda: index.indexed() == ["a.md", "b.md"])
        assert index.scheduler.watch_state("notes").reason is None


@pytest.mark.slow
async def test_changes_that_the_watch_missed_are_synced_once_they_are_noted(short_tmp: Path) -> None:
    async with synced(short_tmp) as index:
        notes = index.scheduler.collection("notes")
        await until(lambda: index.scheduler.watch_state("notes").mode == "events" and not notes.is_busy)
        notes.note_missed()
        assert index.scheduler.pending_files() == 1
        await until(lambda: index.scheduler.pending_files() == 0)


@pytest.mark.slow
async def test_files_that_are_touched_without_a_change_are_not_read_forever(short_tmp: Path) -> None:
    """Some drives give files other inodes or change times after a while."""
    async with synced(short_tmp, no_events) as index:
        files = [index.notes / f"{number}.md" for number in range(120)]
        for file in files:
            file.write_text(f"# Note {file.stem}\n")
        notes = index.scheduler.collection("notes")

        async def walk_after_touching() -> SyncReport:
            for file in files:
                file.chmod(file.stat().st_mode ^ 0o040)
            return await notes.request()

        await notes.request()
        for _ in range(20):
            if not notes.is_steady:
                break
            await walk_after_touching()
        assert "only names, sizes and times of modification are compared" in (notes.watch_state.reason or "")
        assert (await walk_after_touching()).in_vain == 0
        files[0].write_text("# Note A\n")  # has the same size
        await until(lambda: "Note A" in index.titles())


@pytest.mark.slow
async def test_a_folder_is_watched_as_on_other_systems(short_tmp: Path) -> None:
    async with synced(short_tmp, PortableSource) as index:
        (index.notes / "a.md").write_text("# Zebra\n")
        await until(lambda: index.indexed() == ["a.md"])
        (index.notes / "a.md").rename(index.notes / "b.md")
        await until(lambda: index.indexed() == ["b.md"])
        assert index.scheduler.watch_state("notes").mode == "events"


def walk_all(watch: FolderWatch, config: CollectionConfig) -> None:
    """Walk the folder. Repeat a slow walk (on a busy machine), because slow walks are less frequent."""
    took_s = 1.0
    while took_s > 0.05:
        began = time.monotonic()
        watch.enter("")
        watch.listed(walk(config, IgnoreFiles()))
        took_s = time.monotonic() - began


async def test_a_folder_without_events_is_walked_less_often_while_nothing_changes(tmp_path: Path) -> None:
    config = CollectionConfig(name="c", path=str(tmp_path))
    watch = FolderWatch(config, lambda _: None, no_events, SyncTimings(polls_per_rest=1e-6))
    await watch.open(Looks().at(config.path))
    assert watch.state(None).mode == "off"
    walk_all(watch, config)
    watch.differed()
    await until(lambda: str(watch.state(None).reason).endswith("is of type nfs4; gnod checks it every 5 min"))
    often = FolderWatch(config, lambda _: None, no_events, SyncTimings())
    await often.open(Looks().at(config.path))
    walk_all(often, config)
    assert str(often.state(None).reason).endswith("gnod checks it every 5 s")
    assert not often.is_walk_due(3600)


async def test_a_source_that_loses_events_silently_is_compared_every_few_minutes(tmp_path: Path) -> None:
    class Forgetful(PortableSource):
        complete_for_s = 0.0

    config = CollectionConfig(name="c", path=str(tmp_path))
    for kind in (Forgetful, PortableSource, open_source):
        watch = FolderWatch(config, lambda _: None, kind, SyncTimings())
        await watch.open(Looks().at(config.path))
        walk_all(watch, config)
        if kind is Forgetful:
            await until(lambda watch=watch: watch.is_walk_due(3600))  # type: ignore[misc]
        assert watch.is_walk_due(3600) == (kind is Forgetful)
        watch.close()


@pytest.mark.slow
async def test_a_folder_that_answers_again_is_walked(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system call that does not return simulates a link to a folder on a dead server."""
    async with synced(short_tmp, answers_within_s=1.0) as index:
        await until(lambda: index.scheduler.watch_state("notes").mode == "events" and not index.scheduler.is_busy)
        answers, scandir = threading.Event(), os.scandir

        def scan(path: str) -> Iterator[os.DirEntry[str]]:
            answers.wait()
            return scandir(path)

        monkeypatch.setattr(os, "scandir", scan)
        (index.notes / "a.md").write_text("# Zebra\n")
        index.scheduler.collection("notes").rewatch()
        await until(lambda: index.scheduler.unavailable() == ["notes"])
        assert "has not answered since" in str(index.scheduler.watch_state("notes").reason)
        answers.set()
        await until(lambda: index.indexed() == ["a.md"] and not index.scheduler.unavailable())
