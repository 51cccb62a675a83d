"""Test events of a real folder through a real inotify."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gnod.freshness.events import open_source
from gnod.freshness.events.source import EventSource, FileEvents
from tests.systems import needs_linux

pytestmark = needs_linux("only Linux has inotify")


class Heard:
    """Collects the events that a source reports."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.lost: list[str] = []

    def __call__(self, events: FileEvents) -> None:
        self.paths |= events.paths
        self.lost += [events.lost] if events.lost else []

    async def next(self) -> set[str]:
        """Let the event loop read, and return the paths reported since the last call."""
        await asyncio.sleep(0.05)
        paths, self.paths = self.paths, set()
        return paths


@asynccontextmanager
async def watched(root: Path) -> AsyncIterator[tuple[EventSource, Heard]]:
    heard = Heard()
    source = open_source(str(root), heard)
    for folder, _, _ in os.walk(root):
        source.enter(
            os.path.relpath(folder, root).replace(".", "", 1) if folder == str(root) else _inside(root, folder)
        )
    try:
        yield source, heard
    finally:
        source.close()


def _inside(root: Path, folder: str) -> str:
    return Path(folder).relative_to(root).as_posix()


async def test_changes_of_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    async with watched(tmp_path) as (_, heard):
        (tmp_path / "a.md").write_text("x")
        (tmp_path / "d/b.md").write_text("x")
        assert await heard.next() == {"a.md", "d/b.md"}
        (tmp_path / "a.md").rename(tmp_path / "d/c.md")
        assert await heard.next() == {"a.md", "d/c.md"}
        (tmp_path / "d/b.md").unlink()
        (tmp_path / "d/c.md").chmod(0o600)
        assert await heard.next() == {"d/b.md", "d/c.md"}
        (tmp_path / "d/c.md").read_text()
        assert await heard.next() == set()  # reading changes nothing


async def test_a_new_folder_is_reported_and_watched_when_it_is_entered(tmp_path: Path) -> None:
    async with watched(tmp_path) as (source, heard):
        (tmp_path / "new").mkdir()
        (tmp_path / "new/a.md").write_text("x")
        assert await heard.next() == {"new"}
        source.enter("new")
        (tmp_path / "new/b.md").write_text("x")
        assert await heard.next() == {"new/b.md"}


async def test_a_folder_that_was_moved_is_known_under_its_new_path(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    async with watched(tmp_path) as (source, heard):
        (tmp_path / "old").rename(tmp_path / "new")
        assert await heard.next() == {"old", "new"}
        source.enter("new")
        (tmp_path / "new/a.md").write_text("x")
        assert await heard.next() == {"new/a.md"}
        (tmp_path / "old").mkdir()
        source.enter("old")
        (tmp_path / "old/b.md").write_text("x")
        (tmp_path / "new/c.md").write_text("x")
        assert await heard.next() == {"old", "old/b.md", "new/c.md"}


async def test_two_folders_that_change_places(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with watched(tmp_path) as (source, heard):
        (tmp_path / "a").rename(tmp_path / "t")
        (tmp_path / "b").rename(tmp_path / "a")
        (tmp_path / "t").rename(tmp_path / "b")
        source.enter("a")
        source.enter("b")
        await heard.next()
        (tmp_path / "a/in-a.md").write_text("x")
        (tmp_path / "b/in-b.md").write_text("x")
        assert await heard.next() == {"a/in-a.md", "b/in-b.md"}


async def test_a_folder_deleted_and_made_again_is_watched_again(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    async with watched(tmp_path) as (source, heard):
        shutil.rmtree(tmp_path / "d")
        (tmp_path / "d").mkdir()
        source.enter("d")  # before the events of its removal are read
        await heard.next()
        (tmp_path / "d/a.md").write_text("x")
        assert await heard.next() == {"d/a.md"}


async def test_folders_that_were_not_entered_again_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    (tmp_path / "drop").mkdir()
    async with watched(tmp_path) as (source, heard):
        source.keep_only({"", "keep"})
        (tmp_path / "drop/a.md").write_text("x")
        (tmp_path / "keep/b.md").write_text("x")
        assert await heard.next() == {"keep/b.md"}


@pytest.mark.parametrize("end", ["rename", "delete"])
async def test_the_end_of_the_root_is_reported(tmp_path: Path, end: str) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    async with watched(root) as (_, heard):
        if end == "rename":
            root.rename(tmp_path / "away")
        else:
            root.rmdir()
        await heard.next()
        assert heard.lost


@pytest.mark.slow
async def test_a_queue_overflow_is_reported(tmp_path: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 100_000:
        pytest.skip(f"the system keeps {limit} events")
    async with watched(tmp_path) as (_, heard):
        for n in range(limit // 2):  # each file causes at least three events
            path = tmp_path / str(n)
            path.touch()
            path.unlink()
        for _ in range(200):
            if heard.lost:
                break
            await heard.next()
        assert "queue overflowed" in heard.lost[0]


async def test_names_that_are_not_text_or_have_newlines(tmp_path: Path) -> None:
    async with watched(tmp_path) as (_, heard):
        (tmp_path / "two\nlines.md").write_text("x")
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).write_text("x")
        assert await heard.next() == {"two\nlines.md", "\udcff.md"}


async def test_entering_a_path_that_is_not_a_folder_is_not_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    async with watched(tmp_path) as (source, _):
        for folder in ("gone", "file", "link", "x" * 300, "d/" * 3000):
            source.enter(folder)
        assert source.fault is None
        source.close()
        source.close()
        source.enter("")
