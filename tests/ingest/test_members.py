"""Files in files, from the worker to the database: one that ends the worker does not hide the others' container."""

from __future__ import annotations

import asyncio
import io
import zipfile
from pathlib import Path

import pytest

from gnod.config.model import CollectionConfig, IngestConfig
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.member_names import Names
from gnod.ingest.sync import Sync, SyncReport
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.documents.collections import Folder, mirror
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from tests.small_index import SmallIndex

FOLDER = str(Path(__file__).parent)  # of bad_converter


def test_a_file_that_ends_the_worker_is_named(
    small_index: SmallIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setenv("PYTHONPATH", FOLDER, prepend=":")
    root = tmp_path / "files"
    root.mkdir()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("note.md", "# Note\n\nheron\n")
        archive.writestr("bad.deed", "leave\n3")
    (root / "a.zip").write_bytes(buffer.getvalue())
    small_index.database.submit_write(lambda c: mirror(c, [Folder("notes", str(root), None)], [])).result()

    async def sync() -> SyncReport:
        pool = WorkerPool(size=1, timeout_s=60, memory_mb=1024, module="bad_converter")
        try:
            return await Sync(
                CollectionConfig(name="notes", path=str(root)),
                database=small_index.database,
                pool=pool,
                limits=IngestConfig(),
                ignore_files=IgnoreFiles(),
                progress=lambda *_: None,
            ).run()
        finally:
            await pool.close()

    report = asyncio.run(sync())
    assert (report.added, report.failed) == (1, 0)
    found = small_index.database.submit_read(lambda c: documents.under(c, "notes", "", 10, 0)).result()
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
