"""Test the source of events for other systems on this system."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from gnod.disks.spellings import folded
from gnod.freshness.events.portable import PortableSource
from gnod.freshness.events.source import FileEvents
from tests.waiting import until

pytestmark = pytest.mark.slow

_IDLE_S = 5.0


class Folder:
    """A watched folder and its reported events."""

    def __init__(self, path: Path) -> None:
        path.mkdir(exist_ok=True)
        self.path = path
        self.heard: list[FileEvents] = []
        self.source = PortableSource(str(path), self.heard.append)

    async def begun(self) -> None:
        await until(lambda: bool(self.heard))

    def told(self) -> set[str]:
        return {path for events in self.heard for path in events.paths}

    def lost(self) -> list[str]:
        return [events.lost for events in self.heard if events.lost]


async def test_changes_are_reported_until_it_is_closed(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "notes")
    await folder.begun()
    assert folder.lost() == ["earlier changes may have been missed"]
    (folder.path / "sub").mkdir()
    await until(lambda: folder.told() == {"sub"})
    (folder.path / "sub" / "a.md").write_text("x")
    await until(lambda: folder.told() == {"sub", "sub/a.md"})
    assert folder.source.fault is None
    folder.source.close()
    (folder.path / "b.md").write_text("x")
    await asyncio.sleep(0.5)
    assert "b.md" not in folder.told()


async def test_a_missing_folder_is_not_a_fault(tmp_path: Path) -> None:
    heard: list[FileEvents] = []
    gone, there = PortableSource(str(tmp_path / "gone"), heard.append), Folder(tmp_path / "there")
    await there.begun()
    assert gone.fault is None
    (there.path / "a.md").write_text("x")
    await until(lambda: there.told() == {"a.md"})
    gone.close()
    there.source.close()


async def test_events_may_spell_the_folder_differently(tmp_path: Path) -> None:
    """On macOS, a folder can be opened under another spelling of its name."""
    folder = Folder(tmp_path / "notes")
    paths = [f"{str(folder.path).upper()}{below}" for below in ("/a.md", "/B/c.md", "")]
    folder.source.report({folded(path): path for path in paths})
    assert folder.heard == [FileEvents(frozenset({"a.md", "B/c.md"}), "the folder itself changed")]
    folder.source.close()


async def test_after_a_large_burst_everything_is_compared(tmp_path: Path) -> None:
    busy, quiet = Folder(tmp_path / "busy"), Folder(tmp_path / "quiet")
    await busy.begun()
    for number in range(3000):
        (busy.path / f"{number}.md").touch()
    await until(lambda: "many files changed at once" in busy.lost())
    assert quiet.lost() == ["earlier changes may have been missed"]
    busy.source.close()
    quiet.source.close()


async def test_the_removal_of_the_folder_itself_is_reported(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "notes")
    await folder.begun()
    folder.path.rename(tmp_path / "away")
    await until(lambda: "the folder itself changed" in folder.lost())
    folder.source.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts the wake-ups of a thread")
async def test_sixty_folders_are_watched_by_one_thread_that_sleeps(tmp_path: Path) -> None:
    before = _tasks()
    folders = [Folder(tmp_path / f"f{number}") for number in range(60)]
    for folder in folders:
        await folder.begun()
    watching = _tasks() - before
    assert len(watching) <= 1
    # Other threads of this process do not count, because threads of the test runner wake up at any time.
    slept = sum(map(_sleeps, watching))
    await asyncio.sleep(_IDLE_S)
    assert sum(map(_sleeps, watching)) - slept <= _IDLE_S + 1
    (folders[0].path / "a.md").touch()
    (folders[59].path / "b.md").touch()
    await until(lambda: folders[0].told() == {"a.md"} and folders[59].told() == {"b.md"})
    for folder in folders:
        folder.source.close()
    await until(lambda: not watching & _tasks())


def _tasks() -> set[Path]:
    return set(Path("/proc/self/task").iterdir())


def _sleeps(task: Path) -> int:
    (line,) = (s for s in (task / "status").read_text().splitlines() if s.startswith("voluntary_ctxt_switches"))
    return int(line.split()[1])
