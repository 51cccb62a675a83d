"""Invariants of the index database. Some always hold, even after a crash; the others hold in a quiescent index.

Also compares an index with the files on disk.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw

from gnod.store import packing
from gnod.store.health import damage
from gnod.store.tables.records import SKIP_KINDS

_SKIPS = ", ".join(f"'{kind}'" for kind in sorted(SKIP_KINDS))

# Each query returns the violations of an invariant.
_NEVER = {
    "a document in the full text that is not in the index": "SELECT id FROM documents_fts_docsize"
    " WHERE id NOT IN (SELECT id FROM documents WHERE active)",
    "a document that is not in the full text": "SELECT path FROM documents WHERE active"
    " AND id NOT IN (SELECT id FROM documents_fts_docsize)",
    "a document without its content": "SELECT path FROM documents WHERE active"
    " AND mirror_hash NOT IN (SELECT mirror_hash FROM content)",
    "content without chunks": "SELECT mirror_hash FROM content WHERE markdown <> ''"
    " AND mirror_hash NOT IN (SELECT mirror_hash FROM chunks)",
    "chunks out of sequence": "SELECT mirror_hash FROM chunks GROUP BY mirror_hash"
    " HAVING min(seq) <> 0 OR max(seq) <> count(*) - 1",
    "a tag of a document that is gone": "SELECT tag FROM tags"
    " WHERE document_id NOT IN (SELECT id FROM documents WHERE active)",
    "a vector without a chunk": "SELECT id FROM content_vectors"
    " WHERE embed_hash NOT IN (SELECT embed_hash FROM chunks)",
    "a chunk with some of its vectors": "SELECT v.embed_hash FROM content_vectors v"
    " JOIN (SELECT embed_hash, max(end - start) AS length FROM chunks GROUP BY 1) k ON k.embed_hash = v.embed_hash"
    " GROUP BY v.embed_hash, v.model_id"
    " HAVING min(v.start) <> 0 OR sum(coalesce(v.end, k.length) - v.start) <> k.length",
    "a chunk that is neither embedded nor pending": "SELECT embed_hash FROM embeddable"
    " EXCEPT SELECT embed_hash FROM unembedded",
    "a chunk that is both embedded and pending": "SELECT model_id, embed_hash FROM unembedded"
    " EXCEPT SELECT model_id, embed_hash FROM embeddable",
    "a failure of a chunk that is gone": "SELECT embed_hash FROM embedding_errors"
    " WHERE embed_hash NOT IN (SELECT embed_hash FROM chunks)",
    "a vector whose coming was not written down": "SELECT id FROM content_vectors"
    " WHERE id NOT IN (SELECT vector_id FROM vector_changes)"
    " AND (SELECT coalesce(min(seq), 1) FROM vector_changes) = 1",
    "a document whose coming was not written down": "SELECT d.path FROM documents d"
    " JOIN collections c ON c.id = d.collection_id WHERE active"
    " AND NOT EXISTS (SELECT 1 FROM changes h WHERE h.collection = c.name AND h.path = d.path)",
    "a failure that was not written down": "SELECT e.path FROM ingest_errors e"
    f" JOIN collections c ON c.id = e.collection_id WHERE e.kind NOT IN ({_SKIPS})"
    " AND NOT EXISTS (SELECT 1 FROM changes h WHERE h.collection = c.name AND h.path = e.path)",
    "a clock ahead of time": "SELECT clock FROM changes"
    " WHERE clock > (SELECT seq FROM sqlite_sequence WHERE name = 'changes')",
}
# During a sync, moving documents may leave content behind.
_NOT_WHEN_QUIET = {
    "content without a document": "SELECT mirror_hash FROM content"
    " WHERE mirror_hash NOT IN (SELECT mirror_hash FROM documents WHERE active)",
    "a chunk that waits": "SELECT embed_hash FROM unembedded",
    "a file that failed because of us": "SELECT path, kind, message FROM ingest_errors WHERE kind IN"
    " ('crashed', 'timeout', 'memory', 'unreadable', 'vanished')",
}


Kept = Mapping[tuple[str, str], str]
"""Source hashes by collection and path."""


def faults_left_behind(database: Path, kept: Kept) -> list[str]:
    """Return the faults in the database of a killed daemon. `kept` lists documents that it must still contain.

    This checks a copy of database and log, so that the next daemon finds the files unchanged.
    """
    with tempfile.TemporaryDirectory(prefix="gnod-", dir="/tmp") as folder:
        copy = Path(folder, "copy.sqlite")
        for suffix in ("", "-wal"):
            source = database.with_name(database.name + suffix)
            if source.exists():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        return _listed(apsw.Connection(str(copy)), kept, is_quiet=False)


def faults_when_quiet(database: Path) -> list[str]:
    """Return the faults in the database of a quiescent daemon."""
    copy = apsw.Connection(":memory:")
    source = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    source.set_busy_timeout(10_000)
    with copy.backup("main", source, "main") as backup:
        backup.step()
    source.close()
    return _listed(copy, {}, is_quiet=True)


def _listed(connection: apsw.Connection, kept: Kept, *, is_quiet: bool) -> list[str]:
    packing.register(connection)
    try:
        return [*_faults(connection, is_quiet), *_lost(connection, kept)]
    except apsw.Error as error:
        return [f"{type(error).__name__}: {error}"]
    finally:
        connection.close()


def _faults(connection: apsw.Connection, is_quiet: bool) -> Iterator[str]:
    for (said,) in connection.execute("PRAGMA integrity_check"):
        if said != "ok":
            yield f"integrity: {said}"
    yield from (f"foreign key: {row}" for row in connection.execute("PRAGMA foreign_key_check"))
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schema_meta'").fetchone():
        return  # the next daemon creates the tables
    connection.execute("INSERT INTO documents_fts (documents_fts) VALUES ('integrity-check')")
    if damage.has_lost_words(connection):
        yield "words are missing from the full-text table"
    for name, sql in (_NEVER | _NOT_WHEN_QUIET if is_quiet else _NEVER).items():
        rows = connection.execute(sql).fetchall()
        if rows:
            yield f"{name}: {len(rows)}, {rows[:3]}"


def _lost(connection: apsw.Connection, kept: Kept) -> Iterator[str]:
    if kept:
        select = "SELECT c.name, d.path, source_hash FROM documents d JOIN collections c ON c.id = collection_id"
        known = {(name, path): digest for name, path, digest in connection.execute(f"{select} WHERE active")}
        yield from (f"lost: {at}" for at, digest in kept.items() if known.get(at) != digest)


def drift(database: Path, roots: dict[str, Path]) -> list[str]:
    """Return the differences between an index and the files below the roots, by content. Every file must be indexed or
    recorded as a failure."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(10_000)
    of = "JOIN collections c ON c.id = collection_id"
    connection.execute("BEGIN")
    indexed = connection.execute(f"SELECT c.name, d.path, source_hash FROM documents d {of} WHERE active").fetchall()
    failed = {(str(n), str(path)) for n, path in connection.execute(f"SELECT c.name, e.path FROM ingest_errors e {of}")}
    connection.close()
    known = {(str(name), str(path)): str(digest) for name, path, digest in indexed}
    there = {
        (name, str(path.relative_to(root))): hashlib.sha256(path.read_bytes()).hexdigest()
        for name, root in roots.items()
        for path in root.rglob("*")
        if path.is_file()
    }
    found = [f"duplicates: {len(indexed) - len(known)}"] if len(indexed) != len(known) else []
    found += [f"missing from the index: {at}" for at in there.keys() - known.keys() - failed]
    found += [f"removed file still in the index: {at}" for at in (known.keys() | failed) - there.keys()]
    found += [f"not up to date: {at}" for at in known.keys() & there.keys() if known[at] != there[at]]
    return found
