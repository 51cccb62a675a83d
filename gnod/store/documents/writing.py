"""Store and remove documents, with their content, chunks and terms.

When the last active document of a mirror is removed, the same transaction deletes its content and chunks, and triggers
delete the vectors. A caller that moves documents can keep the content for a while: `left` collects the mirror hashes
for `drop_orphans`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from gnod import locations
from gnod.store import packing
from gnod.store.connection import Connection, json_list
from gnod.store.documents import described
from gnod.store.keyword_index import fulltext
from gnod.store.links import links
from gnod.store.tables import changes, definitions, scans, tags
from gnod.store.tables.documents import DOCID_DIGITS, count_chunks, known_members
from gnod.store.tables.records import FileStat, PreparedDocument, Terms

_CONVERTERS = "converters"  # the key in `schema_meta` for their versions
# A date from the metadata does not change with the file's time.
_DATE_OF_FILE = "UPDATE documents SET dated = mtime_ns / 1e9 WHERE dated_by IS NULL AND collection_id = ?"


def put(
    connection: Connection,
    collection_id: int,
    path: str,
    new: PreparedDocument,
    *,
    now: float,
    left: set[str] | None = None,
    terms: dict[int, Terms] | None = None,
    container: str | None = None,
) -> bool:
    """Store a document under its path, and replace an earlier one. Returns whether the path was new. `container`: as in
    Document. `terms` collects the terms of many documents for `fulltext.store`."""
    stat = new.stat or FileStat(len(new.markdown), int(now * 1e9), 0)
    before = connection.execute(
        "SELECT id, mirror_hash, active FROM documents WHERE collection_id = ? AND path = ?",
        (collection_id, path),
    ).fetchone()
    mirror = packing.short_key(new.mirror_hash)
    row = {
        "docid": "#" + new.source_hash[:DOCID_DIGITS],
        "source_hash": new.source_hash,
        "size": stat.size,
        "mtime_ns": stat.mtime_ns,
        "inode": stat.inode,
        "ctime_ns": stat.ctime_ns,
        "mirror_hash": mirror,
        "chunks": _put_content(connection, new),
        "title": new.title,
        "mime": new.mime,
        "converter": new.converter,
        "language": new.language,
        **described.columns(new.metadata, stat),
        "metadata": msgspec.json.encode(new.metadata).decode(),
        "line_map": msgspec.json.encode(new.line_map).decode(),
        "locations": locations.encoded(new.locations),
        "indexed_at": now,
        "reader": new.scans.reader if new.scans else None,
        "pages_used": new.scans.used if new.scans else 0,
        "scan_note": new.scans.note if new.scans else None,
        "container": container,
        "unread": msgspec.json.encode(new.unread).decode() if new.unread else None,
        "log": msgspec.msgpack.encode(new.log) if new.log else None,
        "active": 1,
        "removed_at": None,
    }
    if before is None:
        document_id = _insert(connection, {"collection_id": collection_id, "path": path, **row})
    else:
        document_id = int(before[0])
        _update(connection, document_id, row)
        _forget_details(connection, document_id)
        if before[2]:
            connection.execute("DELETE FROM documents_fts WHERE rowid = ?", (document_id,))
    if new.scans:
        scans.note(connection, new.source_hash, new.scans)
    if new.tags:
        tags.put(connection, document_id, new.tags)
    if new.definitions:
        definitions.put(connection, document_id, new.definitions)
    links.put(connection, collection_id, document_id, path, new)
    if terms is None:
        fulltext.store(connection, {document_id: new.terms})
    else:
        terms[document_id] = new.terms
    # Do this after the new content is stored, so that chunks in both versions keep their vectors.
    if before and before[1] != mirror:
        _leave(connection, [before[1]], left)
    return not (before and before[2])


def touch(connection: Connection, collection_id: int, path: str, stat: FileStat) -> None:
    """Record that the file was written again with the same bytes."""
    of_document = (collection_id, path)
    connection.execute(
        "UPDATE documents SET size = ?, mtime_ns = ?, inode = ?, ctime_ns = ? WHERE collection_id = ? AND path = ?",
        (*msgspec.structs.astuple(stat), *of_document),
    )
    connection.execute(f"{_DATE_OF_FILE} AND path = ?", of_document)


def touch_members(connection: Connection, collection_id: int, container: str, mtime_ns: int) -> None:
    """Give the members of a container its time, as in a new index."""
    where = "WHERE collection_id = ? AND container = ? AND active"
    connection.execute(f"UPDATE documents SET mtime_ns = ? {where}", (mtime_ns, collection_id, container))
    connection.execute(f"{_DATE_OF_FILE} AND container = ? AND active", (collection_id, container))


def invalidate(connection: Connection, collection_id: int | None = None) -> None:
    """Make the next sync rebuild every document, or those of one collection."""
    where, values = ("", ()) if collection_id is None else (" WHERE collection_id = ?", (collection_id,))
    connection.execute(f"UPDATE documents SET mtime_ns = -1{where}", values)


def invalidate_converted(connection: Connection, versions: str, is_current: Callable[[str], bool]) -> int:
    """Make the next sync rebuild the documents of outdated converters, and their containers. Returns the number of
    outdated converters. Reads nothing if `versions` are the same as in the previous call."""
    if connection.execute("SELECT value FROM schema_meta WHERE key = ?", (_CONVERTERS,)).get == versions:
        return 0
    made = connection.execute("SELECT DISTINCT converter FROM documents").fetchall()
    outdated = [converter for (converter,) in made if not is_current(str(converter))]
    connection.execute(
        "WITH outdated AS (SELECT d.collection_id, d.path, d.container"
        " FROM documents d JOIN json_each(?) o ON o.value = d.converter)"
        " UPDATE documents SET mtime_ns = -1 WHERE (collection_id, path) IN"
        " (SELECT collection_id, path FROM outdated UNION SELECT collection_id, container FROM outdated)",
        (json_list(outdated),),
    )
    connection.execute("INSERT OR REPLACE INTO schema_meta VALUES (?, ?)", (_CONVERTERS, versions))
    return len(outdated)


def reread(connection: Connection, collection: str, path: str) -> None:
    """Make the next sync read this file again."""
    connection.execute(
        "UPDATE documents SET mtime_ns = -1 WHERE path = ?"
        " AND collection_id = (SELECT id FROM collections WHERE name = ?)",
        (path, collection),
    )


def remove(
    connection: Connection,
    collection_id: int,
    paths: Sequence[str],
    *,
    now: float = 0.0,
    left: set[str] | None = None,
) -> int:
    """Remove documents and their members from the index. Returns how many of `paths` were in it."""
    removed = [_remove(connection, collection_id, "path", path, now, left) for path in paths]
    for path in paths:
        _remove(connection, collection_id, "container", path, now, left)
    return sum(removed)


def keep_members(
    connection: Connection,
    collection_id: int,
    container: str,
    paths: Collection[str],
    *,
    now: float = 0.0,
    left: set[str] | None = None,
) -> None:
    """Remove the members of a container that are not among `paths`."""
    for path in known_members(connection, collection_id, [container]).get(container, {}).keys() - set(paths):
        _remove(connection, collection_id, "path", path, now, left)


def orphans(connection: Connection) -> list[str]:
    """Return the mirrors without an active document. Reads two indexes in the same order, which takes a second for a
    million documents."""
    rows = connection.execute(
        "SELECT mirror_hash FROM mirrors m"
        " WHERE NOT EXISTS (SELECT 1 FROM documents WHERE mirror_hash = m.mirror_hash AND active) ORDER BY mirror_hash"
    )
    return [mirror for (mirror,) in rows]


def drop_orphans(connection: Connection, mirrors: Iterable[str]) -> int:
    """Delete the content of the mirrors that no active document has. Returns how many were deleted."""
    dropped = 0
    for mirror in mirrors:
        connection.execute(
            "DELETE FROM mirrors WHERE mirror_hash = ?1"
            " AND NOT EXISTS (SELECT 1 FROM documents WHERE mirror_hash = ?1 AND active)",
            (mirror,),
        )
        dropped += connection.changes()
    return dropped


def purge(connection: Connection) -> tuple[int, int]:
    """Delete the rows of removed documents, and content and vectors without an active document. Returns the numbers of
    documents and contents."""
    connection.execute("DELETE FROM documents WHERE NOT active")
    removed = connection.changes()
    changes.prune(connection)
    scans.purge(connection)
    contents = drop_orphans(connection, orphans(connection))
    for table in ("content_vectors", "embedding_errors"):
        connection.execute(f"DELETE FROM {table} WHERE embed_hash NOT IN (SELECT embed_hash FROM chunks)")
    connection.execute("INSERT INTO documents_fts (documents_fts) VALUES ('optimize')")
    return removed, contents


def compact(connection: Connection) -> None:
    """Return free pages to the file system. Call this outside a transaction. Needs as much free space as the index
    takes."""
    connection.execute("PRAGMA temp_store = FILE")  # VACUUM makes a copy of the index
    try:
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _put_content(connection: Connection, new: PreparedDocument) -> int:
    """Store the text and its chunks unless they exist. Returns the number of chunks."""
    mirror, rest = packing.short_key(new.mirror_hash), packing.rest_of_hash(new.mirror_hash, new.markdown)
    text = packing.pack(connection, new.markdown)
    connection.execute(
        "INSERT INTO mirrors (mirror_hash, markdown, packed, title, digest_rest) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (mirror, *text, new.own_title, rest),
    )
    if not connection.changes():
        return count_chunks(connection, mirror)
    connection.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (mirror, seq, *msgspec.structs.astuple(chunk)[:-1], packing.short_key(chunk.embed_hash))
            for seq, chunk in enumerate(new.chunks)
        ),
    )
    return len(new.chunks)


def _insert(connection: Connection, row: Mapping[str, object]) -> int:
    """Return the id of the new row."""
    connection.execute(
        f"INSERT INTO documents ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
    )
    return connection.last_insert_rowid()


def _update(connection: Connection, document_id: int, row: Mapping[str, object]) -> None:
    connection.execute(
        f"UPDATE documents SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?", (*row.values(), document_id)
    )


def _forget_details(connection: Connection, document_id: int) -> None:
    """Delete the rows of a document in other tables, but not its terms."""
    connection.execute("DELETE FROM tags WHERE document_id = ?", (document_id,))
    definitions.remove(connection, document_id)
    links.remove(connection, document_id)


def _remove(
    connection: Connection, collection_id: int, column: str, value: str, now: float, left: set[str] | None
) -> int:
    rows = list(
        connection.execute(
            f"UPDATE documents SET active = 0, removed_at = ? WHERE collection_id = ? AND {column} = ? AND active"
            " RETURNING id, mirror_hash",
            (now, collection_id, value),
        )
    )
    for document_id, _ in rows:
        connection.execute("DELETE FROM documents_fts WHERE rowid = ?", (document_id,))
        _forget_details(connection, document_id)
    _leave(connection, [str(mirror) for _, mirror in rows], left)
    return len(rows)


def _leave(connection: Connection, mirrors: Iterable[str], left: set[str] | None) -> None:
    if left is None:
        drop_orphans(connection, set(mirrors))
    else:
        left.update(mirrors)
