"""Documents, with their content, chunks and terms.

With the last active document of a mirror, its content and chunks are deleted in the same transaction, and triggers
delete the vectors. A caller that moves documents can keep the content for a while: `left` collects the mirror hashes,
for `drop_orphans`. A removed document keeps one row (`active = 0`), for `why`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from gnod import locations
from gnod.locations import Location, Locations
from gnod.store import joined, keys, packing
from gnod.store.database import Connection
from gnod.store.documents import definitions, fulltext, links, scans
from gnod.store.documents.records import ALL_PATHS, Between, FileStat, Prepared, Terms, Unread
from gnod.types import LineMap

# Enough letters to see the script of a text.
_SAMPLE_CHARACTERS = 200
_DOCID_DIGITS = 8
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class KnownFile(msgspec.Struct, frozen=True, gc=False):
    """What decides whether a file must be read again. `has_scans`: some of its pages have no text of their own."""

    stat: FileStat
    source_hash: str
    has_scans: bool = False

    @property
    def reusable_hash(self) -> str | None:
        """Return the hash, unless the document must be rebuilt (see `invalidate`)."""
        return self.source_hash if self.stat.mtime_ns >= 0 else None


class Document(NamedTuple):
    """One row, with its collection's name and folder. `dated` and `indexed_at` in seconds since 1970. `container`: the
    path of the file on disk that the document is in; None for a file itself."""

    id: int
    collection: str
    root: str
    path: str
    docid: str
    source_hash: str
    size: int
    mtime_ns: int
    inode: int
    mirror_hash: str
    title: str
    mime: str
    converter: str
    language: str | None
    dated: float
    metadata: str
    line_map_json: str
    locations_json: str | None
    active: bool
    indexed_at: float
    removed_at: float | None
    container: str | None
    unread_json: str | None

    @property
    def text_key(self) -> str:
        """Equal for documents with the same text, also of other indexes."""
        return keys.shortened(self.mirror_hash)

    @property
    def unread(self) -> list[Unread]:
        return msgspec.json.decode(self.unread_json, type=list[Unread]) if self.unread_json else []

    @property
    def stat(self) -> FileStat:
        return FileStat(self.size, self.mtime_ns, self.inode)

    @property
    def line_map(self) -> LineMap:
        return msgspec.json.decode(self.line_map_json, type=LineMap) if self.line_map_json != "[]" else []

    @property
    def locations(self) -> Locations | None:
        return locations.decoded(self.locations_json)

    def location_of(self, line: int) -> Location | None:
        """Return where a line of the canonical text is in the source; None for sources with lines."""
        return self.locations.at(line) if self.locations_json and self.locations else None

    @property
    def source(self) -> str:
        return f"{self.root.rstrip('/')}/{self.path}"


_COLUMNS = (
    "d.id, c.name, c.path, d.path, d.docid, d.source_hash, d.size, d.mtime_ns, d.inode, d.mirror_hash, d.title,"
    " d.mime, d.converter, d.language, d.dated, d.metadata, d.line_map, d.locations, d.active,"
    " d.indexed_at, d.removed_at, d.container, d.unread"
)
_FROM = "FROM documents d JOIN collections c ON c.id = d.collection_id"


def put(
    connection: Connection,
    collection_id: int,
    path: str,
    new: Prepared,
    *,
    now: float,
    left: set[str] | None = None,
    terms: dict[int, Terms] | None = None,
    container: str | None = None,
) -> bool:
    """Store a document under its path, replacing what was there. Returns whether the path was new. `container`: as in
    Document. `terms` collects the terms of many documents for `fulltext.store`."""
    stat = new.stat or FileStat(len(new.markdown), int(now * 1e9), 0)
    before = connection.execute(
        "SELECT id, mirror_hash, active FROM documents WHERE collection_id = ? AND path = ?",
        (collection_id, path),
    ).fetchone()
    key = keys.form(connection)
    mirror = key(new.mirror_hash)
    row = {
        "docid": "#" + new.source_hash[:_DOCID_DIGITS],
        "source_hash": new.source_hash,
        "size": stat.size,
        "mtime_ns": stat.mtime_ns,
        "inode": stat.inode,
        "mirror_hash": mirror,
        "chunks": _put_content(connection, key, new),
        "title": new.title,
        "mime": new.mime,
        "converter": new.converter,
        "language": new.language,
        "doc_type": _text(new.metadata.get("type")),
        "author": _text(new.metadata.get("author")),
        "dated": _dated(new.metadata, stat),
        "metadata": msgspec.json.encode(new.metadata).decode(),
        "line_map": msgspec.json.encode(new.line_map).decode(),
        "locations": locations.encoded(new.locations),
        "indexed_at": now,
        "reader": new.scans.reader if new.scans else None,
        "pages_used": new.scans.used if new.scans else 0,
        "scan_note": new.scans.note if new.scans else None,
        "container": container,
        "unread": msgspec.json.encode(new.unread).decode() if new.unread else None,
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
        connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", ((document_id, tag) for tag in new.tags))
    if new.definitions:
        definitions.put(connection, document_id, new.definitions)
    links.put(connection, collection_id, document_id, path, new)
    if terms is None:
        fulltext.store(connection, {document_id: new.terms})
    else:
        terms[document_id] = new.terms
    # After the new content was stored, so that chunks in both keep their vectors.
    if before and before[1] != mirror:
        _leave(connection, [before[1]], left)
    return not (before and before[2])


def touch(connection: Connection, collection_id: int, path: str, stat: FileStat) -> None:
    """Record that the file was written again with the same bytes."""
    of_document = (collection_id, path)
    found = connection.execute(
        "SELECT metadata FROM documents WHERE collection_id = ? AND path = ?", of_document
    ).fetchone()
    if found:
        connection.execute(
            "UPDATE documents SET size = ?, mtime_ns = ?, inode = ?, dated = ? WHERE collection_id = ? AND path = ?",
            (stat.size, stat.mtime_ns, stat.inode, _dated(msgspec.json.decode(found[0]), stat), *of_document),
        )


def touch_members(connection: Connection, collection_id: int, container: str, mtime_ns: int) -> None:
    """Give the documents of the files in another one its time, as a new index would."""
    rows = connection.execute(
        "SELECT id, metadata FROM documents WHERE collection_id = ? AND container = ? AND active",
        (collection_id, container),
    ).fetchall()
    connection.executemany(
        "UPDATE documents SET mtime_ns = ?, dated = ? WHERE id = ?",
        (
            (mtime_ns, _dated(msgspec.json.decode(str(metadata)), FileStat(0, mtime_ns, 0)), id_)
            for id_, metadata in rows
        ),
    )


def invalidate(connection: Connection, collection_id: int | None = None) -> None:
    """Make the next sync rebuild every document (of one collection)."""
    where, values = ("", ()) if collection_id is None else (" WHERE collection_id = ?", (collection_id,))
    connection.execute(f"UPDATE documents SET mtime_ns = -1{where}", values)


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
    """Remove documents, and those of the files in them, from the index. Returns how many of `paths` were in it."""
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
    """Remove the documents of files that are no longer in their container, which has these `paths`."""
    for path in known_members(connection, collection_id, [container]).get(container, {}).keys() - set(paths):
        _remove(connection, collection_id, "path", path, now, left)


def has_members(connection: Connection, collection_id: int, path: str) -> bool:
    """Tell whether the index has files in this one."""
    found = connection.execute(
        "SELECT 1 FROM documents WHERE collection_id = ? AND container = ? LIMIT 1", (collection_id, path)
    )
    return found.get is not None


def known_members(connection: Connection, collection_id: int, containers: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the documents of the files in others: by container, path to hash; "" where it must be read again."""
    rows = connection.execute(
        "SELECT d.container, d.path, CASE WHEN d.mtime_ns >= 0 THEN d.source_hash ELSE '' END FROM json_each(?2) wanted"
        " CROSS JOIN documents d ON d.collection_id = ?1 AND d.container = wanted.value AND d.container IS NOT NULL"
        " WHERE d.active",
        (collection_id, msgspec.json.encode(list(containers)).decode()),
    )
    found: dict[str, dict[str, str]] = {}
    for container, path, source_hash in rows:
        found.setdefault(container, {})[path] = source_hash
    return found


def unread_members(connection: Connection, container: Document) -> list[Document]:
    """Return the documents of the files in another one of which something is not indexed."""
    where = "WHERE c.name = ? AND d.container = ? AND d.active AND d.unread IS NOT NULL ORDER BY d.path"
    return list(_select(connection, where, (container.collection, container.path)))


def is_file(connection: Connection, collection_id: int, path: str) -> bool:
    """Tell whether a path is that of a file on disk, not of one in another."""
    found = connection.execute(
        "SELECT 1 FROM documents WHERE collection_id = ? AND path = ? AND active AND container IS NULL",
        (collection_id, path),
    )
    return found.fetchone() is not None


def orphans(connection: Connection) -> list[str]:
    """Return the mirrors that no active document has. Reads two indexes in the same order, a second for a million
    documents."""
    rows = connection.execute(
        "SELECT mirror_hash FROM mirrors m"
        " WHERE NOT EXISTS (SELECT 1 FROM documents WHERE mirror_hash = m.mirror_hash AND active) ORDER BY mirror_hash"
    )
    return [mirror for (mirror,) in rows]


def drop_orphans(connection: Connection, mirrors: Iterable[str]) -> int:
    """Delete the content of those of these mirrors that no active document has. Returns how many."""
    dropped = 0
    for mirror in mirrors:
        connection.execute(
            "DELETE FROM mirrors WHERE mirror_hash = ?1"
            " AND NOT EXISTS (SELECT 1 FROM documents WHERE mirror_hash = ?1 AND active)",
            (mirror,),
        )
        dropped += connection.changes()
    return dropped


def stats(
    connection: Connection, collection_id: int, under: Collection[str] | Between = ALL_PATHS
) -> Iterator[tuple[str, FileStat]]:
    """Yield the files that are indexed of a collection: those in a range, or these paths and what lies below them,
    perhaps twice."""
    select = (
        "SELECT path, size, mtime_ns, inode FROM documents WHERE collection_id = ?1 AND active AND container IS NULL"
    )
    for path, size, mtime_ns, inode in rows_under(connection, select, "path", collection_id, under):
        yield path, FileStat(size, mtime_ns, inode)


def known_files(connection: Connection, collection_id: int, paths: Collection[str]) -> dict[str, KnownFile]:
    """Return those of the files that are indexed."""
    rows = connection.execute(
        "SELECT d.path, size, mtime_ns, inode, source_hash, reader IS NOT NULL FROM json_each(?2) wanted"
        " CROSS JOIN documents d ON d.collection_id = ?1 AND d.path = wanted.value"
        " WHERE active AND container IS NULL",
        (collection_id, msgspec.json.encode(list(paths)).decode()),
    )
    return {
        path: KnownFile(FileStat(size, mtime_ns, inode), source_hash, bool(has_scans))
        for path, size, mtime_ns, inode, source_hash, has_scans in rows
    }


def by_path(connection: Connection, collection: str, path: str, *, active: bool = True) -> Document | None:
    """Return the document of that path; with `active=False` also one that was removed."""
    found = _select(connection, "WHERE c.name = ? AND d.path = ? AND d.active >= ?", (collection, path, int(active)))
    return next(found, None)


def by_docid(connection: Connection, prefix: str) -> list[Document]:
    """Return the active documents whose source hash starts with `prefix` (lower-case hex), in URI order."""
    docid = f"#{prefix[:_DOCID_DIGITS]}"
    return list(
        _select(
            connection,
            "WHERE d.docid >= ? AND d.docid < ? AND d.source_hash >= ? AND d.source_hash < ? AND d.active"
            " ORDER BY c.name, d.path",
            (docid, docid + "g", prefix, prefix + "g"),
        )
    )


def by_ids(connection: Connection, ids: Sequence[int]) -> dict[int, Document]:
    """Return documents by id, in any order, also of indexes that are joined (gnod.store.joined)."""
    return {
        document.id: document
        for each, of_it in joined.split(connection, ids)
        for document in _select(each, f"WHERE d.id IN ({','.join('?' * len(of_it))})", tuple(of_it))
    }


def facts(connection: Connection, ids: Collection[int]) -> dict[int, tuple[str, str, str | None, str]]:
    """Return the docid, collection and language of documents, also of indexes that are joined; if the language is not
    known, the first characters."""
    groups = joined.split(connection, ids)
    return {id_: found for each, of_it in groups for id_, found in _facts(each, of_it).items()}


def _facts(connection: Connection, ids: Collection[int]) -> dict[int, tuple[str, str, str | None, str]]:
    rows = connection.execute(
        "SELECT d.id, d.docid, c.name, d.language, CASE WHEN d.language IS NULL THEN"
        " (SELECT substr(markdown, 1, ?2) FROM content WHERE mirror_hash = d.mirror_hash) END"
        " FROM json_each(?1) wanted CROSS JOIN documents d ON d.id = wanted.value"
        " CROSS JOIN collections c ON c.id = d.collection_id",
        (msgspec.json.encode(sorted(ids)).decode(), _SAMPLE_CHARACTERS),
    )
    return {id_: (docid, collection, language, sample or "") for id_, docid, collection, language, sample in rows}


def under(connection: Connection, collection: str | None, prefix: str, limit: int, offset: int) -> list[Document]:
    """Return active documents in order of collection and path: those whose path is `prefix` or below it."""
    where, values = _scope(collection, prefix)
    return list(_select(connection, f"{where} ORDER BY c.name, d.path LIMIT ? OFFSET ?", (*values, limit, offset)))


def count_under(connection: Connection, collection: str | None, prefix: str) -> int:
    where, values = _scope(collection, prefix)
    return int(connection.execute(f"SELECT count(*) {_FROM} {where}", values).get)


def addresses(connection: Connection) -> Iterator[tuple[int, str, str]]:
    """Yield (id, collection, path) of every active document in order."""
    yield from connection.execute(f"SELECT d.id, c.name, d.path {_FROM} WHERE d.active ORDER BY c.name, d.path")


def markdown(connection: Connection, mirror_hash: str) -> str:
    """Return the text of a mirror, also of indexes that are joined."""
    for each in joined.each(connection):
        row = each.execute("SELECT markdown FROM content WHERE mirror_hash = ?", (mirror_hash,)).fetchone()
        if row:
            return str(row[0])
    return ""


def content_digest(connection: Connection, mirror_hash: str) -> str:
    """Return the hash of a mirror in hex, also of indexes that are joined."""
    for each in joined.each(connection):
        row = each.execute("SELECT digest_rest FROM mirrors WHERE mirror_hash = ?", (mirror_hash,)).fetchone()
        if row:
            return keys.digest_of(mirror_hash, row[0], markdown(each, mirror_hash))
    return ""


def text_bytes(connection: Connection, mirror_hash: str) -> int:
    """Return the length of a mirror's text in bytes of UTF-8; a long text is not read."""
    found = connection.execute("SELECT octet_length(markdown) FROM content WHERE mirror_hash = ?", (mirror_hash,))
    return int(found.get or 0)


def tags_of(connection: Connection, document_id: int) -> list[str]:
    rows = connection.execute("SELECT tag FROM tags WHERE document_id = ? ORDER BY tag", (document_id,))
    return [tag for (tag,) in rows]


def count_chunks(connection: Connection, mirror_hash: str) -> int:
    return int(connection.execute("SELECT count(*) FROM chunks WHERE mirror_hash = ?", (mirror_hash,)).get)


def languages(connection: Connection) -> dict[str, int]:
    """Return how many active documents there are of each language, most first; "" where it is not known."""
    rows = connection.execute(
        "SELECT coalesce(language, ''), count(*) AS n FROM documents WHERE active GROUP BY 1 ORDER BY n DESC, 1"
    )
    return {str(language): int(n) for language, n in rows}


def distinct_languages(connection: Connection) -> list[str | None]:
    """Return the languages of the active documents; None where one is not known."""
    return [language for (language,) in connection.execute("SELECT DISTINCT language FROM documents WHERE active")]


def count_by_language(connection: Connection) -> dict[str | None, int]:
    """Return the number of active documents in each language."""
    return dict(connection.execute("SELECT language, count(*) FROM documents WHERE active GROUP BY language"))


def rows_under(
    connection: Connection, select: str, column: str, collection_id: int, under: Collection[str] | Between
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `select` in collection `?1`: in a range of paths, or of these paths and everything below."""
    if isinstance(under, Between):
        ends = [(operator, path) for operator, path in ((">", under.after), ("<=", under.last)) if path is not None]
        select += "".join(f" AND {column} {operator} ?" for operator, _ in ends)
        yield from connection.execute(select, (collection_id, *(path for _, path in ends)))
        return
    # "0" is the character after "/": the range holds exactly what is below the folder.
    select += f" AND ({column} = ?2 OR ({column} >= ?2 || '/' AND {column} < ?2 || '0'))"
    for path in under:
        yield from connection.execute(select, (collection_id, path))


def _select(connection: Connection, where: str, values: tuple[object, ...]) -> Iterator[Document]:
    rows = connection.execute(f"SELECT {_COLUMNS} {_FROM} {where}", values)
    return (Document(*row) for row in rows)


def _scope(collection: str | None, prefix: str) -> tuple[str, tuple[object, ...]]:
    if collection is None:
        return "WHERE d.active", ()
    prefix = prefix.rstrip("/")
    if not prefix:
        return "WHERE d.active AND c.name = ?", (collection,)
    # "0" is the character after "/": the range holds exactly what is below the folder.
    return (
        "WHERE d.active AND c.name = ? AND (d.path = ? OR (d.path >= ? AND d.path < ?))",
        (collection, prefix, prefix + "/", prefix + "0"),
    )


def _put_content(connection: Connection, key: Callable[[str], str], new: Prepared) -> int:
    """Store the text and its chunks, if they are not there. Returns how many chunks there are."""
    mirror, rest = key(new.mirror_hash), keys.rest_of(new.mirror_hash, new.markdown)
    text = packing.pack(connection, new.markdown)
    connection.execute(
        "INSERT INTO mirrors (mirror_hash, markdown, packed, title, digest_rest) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (mirror, *text, new.own_title, rest),
    )
    is_new = connection.changes() > 0
    if not is_new and not _take_over(connection, mirror, new.own_title):
        return count_chunks(connection, mirror)
    connection.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (mirror, seq, *msgspec.structs.astuple(chunk)[:-1], key(chunk.embed_hash))
            for seq, chunk in enumerate(new.chunks)
        ),
    )
    if not is_new:
        connection.execute("DELETE FROM chunks WHERE mirror_hash = ? AND seq < 0", (mirror,))
        # Of its copies: they share the chunks.
        connection.execute(
            "UPDATE documents SET chunks = ?1 WHERE mirror_hash = ?2 AND active AND chunks <> ?1",
            (len(new.chunks), mirror),
        )
    return len(new.chunks)


def _take_over(connection: Connection, mirror_hash: str, title: str) -> bool:
    """Make room for the chunks of a text that an older version stored. Returns whether it did. Old chunks are deleted
    last, so that chunks in both keep their vectors."""
    connection.execute("UPDATE mirrors SET title = ? WHERE mirror_hash = ? AND title IS NULL", (title, mirror_hash))
    if not connection.changes():
        return False
    connection.execute("UPDATE chunks SET seq = -1 - seq WHERE mirror_hash = ?", (mirror_hash,))
    return True


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


def _text(value: object) -> str | None:
    if isinstance(value, list):
        return ", ".join(str(v) for v in value) or None
    return str(value) if value not in (None, "") else None


def _dated(metadata: Mapping[str, object], stat: FileStat) -> float:
    """Return the frontmatter's date when it is one, else the file's time."""
    value = str(metadata.get("date", ""))
    if match := _ISO_DATE.match(value):
        for text in (value, match[0]):
            try:
                moment = datetime.fromisoformat(text)
            except ValueError:
                continue
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return stat.mtime_ns / 1e9
