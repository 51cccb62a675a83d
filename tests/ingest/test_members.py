"""Test files in files, from the worker to the database. A member that ends the worker does not hide its container."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.hostile_samples import zipped
from gnod.ingest.member_names import Names
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from tests.ingest.syncing import syncing
from tests.small_index import SmallIndex

FOLDER = str(Path(__file__).parent)  # the folder of bad_converter


@pytest.mark.slow
async def test_a_file_that_ends_the_worker_is_named(
    small_index: SmallIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setenv("PYTHONPATH", FOLDER, prepend=":")
    root = tmp_path / "files"
    root.mkdir()
    (root / "a.zip").write_bytes(zipped({"note.md": "# Note\n\nheron\n", "bad.deed": "leave\n3"}))
    async with syncing(small_index, root, module="bad_converter") as sync:
        report = await sync()
    assert (report.added, report.failed) == (1, 0)
    found = documents.under(small_index.reader, "notes", "", 10, 0)
    (document,) = found
    assert isinstance(document, DocumentRow)
    assert document.path == "a.zip"
    assert [each.name for each in document.unread] == ["note.md", "bad.deed"]
    assert document.unread[0].message.startswith(
        "One of the files inside it ended the converter: The converter crashed"
    )


def test_names_are_unique_and_stay_inside() -> None:
    names = Names()
    given = [names.name(each) for each in ("a", "a", "./a", "../a", "/a", "b/../a", "\\a", "a" * 3000, "..", "")]
    assert len(set(given)) == len(given)
    assert all(".." not in name.split("/") and not name.startswith("/") and len(name) < 1010 for name in given)
