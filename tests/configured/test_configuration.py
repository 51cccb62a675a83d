"""The active config follows its file, even while other programs write it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from gnod.configured.configuration import Configuration
from tests.small_index import SmallIndex

WITH_NOTES = "collections: [{{name: notes, path: {folder}}}]\n"


@pytest.mark.parametrize("pause_s", [0.002, 0.02, 0.08])
async def test_a_file_that_is_emptied_before_it_is_written_removes_no_collection(
    tmp_path: Path, small_index: SmallIndex, pause_s: float
) -> None:
    """An editor that saves often empties the file for a moment each time."""
    path = tmp_path / "index.yml"
    valid = WITH_NOTES.format(folder=tmp_path)
    path.write_text(valid)
    configuration = Configuration(path, small_index.database)
    seen: list[int] = []
    configuration.changed.connect(lambda _: seen.append(len(configuration.current.collections)))
    done = threading.Event()

    def save_often() -> None:
        for number in range(int(0.6 / pause_s)):
            path.write_text("")
            done.wait(pause_s / 2)
            path.write_text(f"{valid}# {number}\n")
            done.wait(pause_s / 2)
        done.set()

    thread = threading.Thread(target=save_often)
    thread.start()
    while not done.is_set():
        await configuration.reload()
        await asyncio.sleep(0)
    thread.join()
    await configuration.reload()
    assert 0 not in seen
    assert [each.name for each in configuration.current.collections] == ["notes"]
