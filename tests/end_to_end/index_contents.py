"""Compare the complete contents of two indexes, except for ids and times, which depend on the order of changes.

An index that followed its files through many changes must equal an index made from scratch.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from gnod.store import packing
from tests.machine import Machine, temporary_machine

_OF = "FROM documents d JOIN collections c ON c.id = d.collection_id"
_QUERIES = {
    "documents": "SELECT c.name, d.path, docid, source_hash, size, mtime_ns, inode, ctime_ns, mirror_hash, title, mime,"
    f" converter, d.language, doc_type, author, dated, dated_by, other_titles, metadata, line_map,"
    f" container, unread {_OF} WHERE active",
    "tags": f"SELECT c.name, d.path, tag, written, is_own {_OF} JOIN tags t ON t.document_id = d.id WHERE active",
    "names": f"SELECT c.name, d.path, n.name, rank, depth {_OF} JOIN names n ON n.document_id = d.id",
    "links": "SELECT c.name, d.path, seq, kind, target, key, reach, fragment, line, start, end"
    f" {_OF} JOIN links l ON l.document_id = d.id",
    "meant": f"SELECT c.name, d.path, l.seq, m.path, n.rank {_OF} JOIN links l ON l.document_id = d.id"
    " JOIN names n ON n.collection_id = l.collection_id AND n.name = l.key AND n.rank <= l.reach"
    " JOIN documents m ON m.id = n.document_id",
    "content": "SELECT mirror_hash, title, markdown FROM content",
    "chunks": "SELECT * FROM chunks",
    "terms": f"SELECT c.name, d.path, col, offset, term {_OF} JOIN temp.terms ON doc = d.id",
    "strays": "SELECT doc FROM temp.terms WHERE doc NOT IN (SELECT id FROM documents WHERE active)",
    "failures": "SELECT c.name, e.path, stage, kind, message"
    " FROM ingest_errors e JOIN collections c ON c.id = e.collection_id",
    "collections": "SELECT c.name, c.path, c.language, c.mounted FROM collections c",
    "contexts": "SELECT scope, text FROM contexts",
}
# Comparable only if both indexes had the model from the start.
_QUERIES_OF_MODELS = {
    "models": "SELECT uri, dimensions FROM embedding_models",
    "serving": "SELECT c.name, m.uri FROM collections c JOIN embedding_models m ON m.id = c.served_by",
    "unembedded": "SELECT embed_hash FROM unembedded",
    "embedding failures": "SELECT embed_hash, message FROM embedding_errors",
}


def contents(database: Path, *, of_models: bool = False) -> dict[str, Counter[Any]]:
    """Return the rows of each table with their counts."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(10_000)
    packing.register(connection)
    connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, documents_fts, instance)")
    queries = _QUERIES | (_QUERIES_OF_MODELS if of_models else {})
    connection.execute("BEGIN")  # one snapshot for all queries
    try:
        return {name: Counter(connection.execute(sql)) for name, sql in queries.items()}
    finally:
        connection.close()


def compare_contents(ours: Path, theirs: Path, *, of_models: bool = False) -> int:
    """Assert that the contents are equal. Returns the number of documents."""
    here, there = contents(ours, of_models=of_models), contents(theirs, of_models=of_models)
    for name in here:
        surplus, missing = here[name] - there[name], there[name] - here[name]
        assert not surplus, f"{name}: {list(surplus)[:9]} is surplus, {list(missing)[:9]} is missing"
        assert not missing, f"{name}: {list(missing)[:9]} is missing"
    return here["documents"].total()


def compare_vectors(ours: Path, theirs: Path) -> int:
    """Assert that both have the same vectors, except for rounding. Returns the number of vectors."""

    def vectors(database: Path) -> dict[Any, Any]:
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        rows = connection.execute("SELECT embed_hash, start, end, line, last_line, embedding FROM content_vectors")
        found = {row[:-1]: np.frombuffer(row[-1], np.float32) for row in rows}
        connection.close()
        return found

    here, there = vectors(ours), vectors(theirs)
    assert here.keys() == there.keys()
    for key, vector in here.items():
        assert float(vector @ there[key]) > 0.999, key
    return len(here)


@contextlib.contextmanager
def scratch(machine: Machine) -> Iterator[Machine]:
    """Index the same folders into an empty database."""
    with temporary_machine() as fresh:
        fresh.config.parent.mkdir()
        shutil.copy(machine.config, fresh.config)
        fresh.start()
        fresh.call("index.sync")
        if is_embedding(machine):
            fresh.call("index.embed")
        yield fresh


def is_embedding(machine: Machine) -> bool:
    return "embed: none" not in machine.config.read_text()
