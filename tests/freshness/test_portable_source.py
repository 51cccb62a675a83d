"""The source of other systems, on this one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gnod.freshness.events import portable
from gnod.freshness.events.portable import PortableSource
from gnod.freshness.events.source import FileEvents
from tests.waiting import until

pytestmark = pytest.mark.slow


async def test_changes_are_reported_until_it_is_closed(tmp_path: Path) -> None:
    heard: list[FileEvents] = []
    source = PortableSource(str(tmp_path), heard.append)
    for number in range(600):  # it says nothing when it begins to watch
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / "a.md").write_text("x")
        await asyncio.sleep(0.1)
        told = {path for events in heard for path in events.paths}
        if "a.md" in told and any(path.startswith("d") for path in told):
            break
    else:
        pytest.fail(f"only {heard} was told")
    assert source.fault is None
    source.close()
    await asyncio.sleep(0)


async def test_a_folder_that_is_not_there_is_no_fault(tmp_path: Path) -> None:
    heard: list[FileEvents] = []
    source = PortableSource(str(tmp_path / "gone"), heard.append)
    await asyncio.sleep(0.2)
    assert source.fault is None
    assert heard == []
    source.close()


async def test_events_may_spell_the_folder_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, where a folder can be opened by another spelling of its name."""

    async def awatch(root: str, **_: object) -> AsyncIterator[set[tuple[int, str]]]:
        yield {(1, f"{root.upper()}/a.md"), (1, f"{root.upper()}/B/c.md")}
        yield {(3, root.upper())}

    monkeypatch.setattr(portable, "awatch", awatch)
    heard: list[FileEvents] = []
    PortableSource(str(tmp_path), heard.append)
    await until(lambda: len(heard) > 1)
    assert heard[:2] == [FileEvents(frozenset({"a.md", "B/c.md"})), FileEvents(lost="the folder itself changed")]
