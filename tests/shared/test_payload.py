"""A reader gets all data that it needs, but no data that only concern the machine with the files."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.local_engine import LocalEngine
from gnod.errors import EngineFailed
from gnod.shared import payload
from gnod.shared.payload import Payload, prepared_of
from gnod.store.connection import Connection
from gnod.store.documents import collections, writing
from gnod.store.tables import documents
from gnod.store.tables.records import Chunk
from tests.small_index import SmallIndex, prepared

if sys.version_info >= (3, 14):
    from compression.zstd import compress
else:
    from backports.zstd import compress

MODEL = "file:/models/one.gguf"
HEAD = "---\ntags: [X/y]\ncreated: 2026-05-04\naliases: [Other Name]\nstatus: open\n---\n"
TEXTS = {  # in order of path
    "b.py": "class Thing:\n    # says it\n    def method(self) -> int:\n        return 1\n",
    "notes/a.md": f"{HEAD}# A\n\nSee [[b]] and [c](../c.md).\n\n## Two\n\nText.",
}
TABLES = {
    "documents": "path, docid, source_hash, size, mtime_ns, mirror_hash, title, mime, converter, language, doc_type,"
    " author, dated, dated_by, other_titles, metadata, line_map, locations, container, chunks",
    "mirrors": "mirror_hash, title",
    "chunks": "*",
    "tags": "tag, written, is_own",
    "definitions": "*",
    "names": "name, rank, depth",
    "links": "kind, target, key, reach, fragment, line, start",
}


def test_a_reader_stores_the_same_document(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.add(TEXTS)
    small_index.embed(MODEL)
    connection = small_index.database.open_reader()
    published = LocalEngine(connection, "notes", MODEL).documents(None)
    other = SmallIndex(tmp_path / "other.sqlite")
    try:
        other.add({"gone.md": "text"})
        other.remove("gone.md")
        other.database.submit_write(lambda c: c.execute("DELETE FROM documents")).result()

        def store(connection: Connection) -> None:
            for document in published:
                found = payload.decode(document.payload)
                writing.put(connection, collections.id_of(connection, "notes"), found.path, found.prepared, now=1.0)

        other.database.submit_write(store).result()
        for table, columns in TABLES.items():
            select = f"SELECT {columns} FROM {table} ORDER BY {'1' if table == 'tags' else '1, 2'}"
            assert other.rows(select) == small_index.rows(select), table
    finally:
        other.close()


def test_a_payload_has_no_local_path(small_index: SmallIndex) -> None:
    small_index.add(TEXTS)
    connection = small_index.database.open_reader()
    for document in LocalEngine(connection, "notes", MODEL).documents(None):
        plain = msgspec.msgpack.encode(payload.decode(document.payload))
        assert b"/data/notes" not in plain
    found = documents.under(connection, "notes", "", -1, 0)[0]
    whole = prepared_of(connection, found)
    encoded = payload.encode(Payload(path=found.path, prepared=whole))
    stat = payload.decode(encoded).prepared.stat
    assert stat
    assert stat.inode == 0
    assert encoded == payload.encode(Payload(path=found.path, prepared=whole))


def test_data_that_no_publisher_sends_are_refused() -> None:
    good = Payload(path="a.md", prepared=prepared("text", "a.md"))
    beyond = msgspec.structs.replace(good.prepared, chunks=[Chunk(0, 10_000, 1, 1, "", "x")])
    encoded = payload.encode(good)
    for bad in (
        b"",
        b"text",
        encoded[:-3],
        compress(b"\xc1"),
        compress(msgspec.msgpack.encode({"path": 1})),
        payload.encode(msgspec.structs.replace(good, path="/etc/passwd")),
        payload.encode(msgspec.structs.replace(good, path="a/../../b")),
        payload.encode(msgspec.structs.replace(good, container="../b")),
        payload.encode(msgspec.structs.replace(good, prepared=beyond)),
    ):
        with pytest.raises(EngineFailed, match="is damaged"):
            payload.decode(bad)
    assert payload.decode(encoded).prepared.markdown == good.prepared.markdown
