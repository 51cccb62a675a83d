"""Read documents and their texts (gnod.store.documents.writing stores them).

A removed document keeps one row (`active = 0`), for `why`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from unicodedata import normalize

import msgspec

from gnod import locations
from gnod.disks.spellings import folded
from gnod.locations import Locations, SourceLocation
from gnod.store import packing
from gnod.store.connection import Connection, by_id, from_any, json_list
from gnod.store.link_names import PATH, key
from gnod.store.tables.filters import Filters
from gnod.store.tables.records import ALL_PATHS, Between, FileStat, LogMark, LogPart, Unread
from gnod.types import LineMap, format_uri

# This many letters are enough to determine the script of a text.
_SAMPLE_CHARACTERS = 200
DOCID_DIGITS = 8
# Longer texts are read one at a time, because a thousand of them would not fit in memory.
SHORT_BYTES = 32 << 10
_NO_TAGS = "[]"


class KnownFile(msgspec.Struct, frozen=True, gc=False):
    """The data that decide whether a file must be read again. `has_scans`: some of its pages have no text of their own.
    `is_log`: its document is the first part of a log."""

    stat: FileStat
    source_hash: str
    has_scans: bool = False
    is_log: bool = False

    @property
    def reusable_hash(self) -> str | None:
        """Return the hash, unless the document must be rebuilt (see `invalidate`)."""
        return self.source_hash if self.stat.mtime_ns >= 0 else None


class DocumentRow(NamedTuple):
    """One row, with the name and folder of its collection. `dated` and `indexed_at` are seconds since 1970. `dated_by`:
    the metadata field with the date; None if the date is the file's time. `container`: the path of the file on disk
    that contains the document; None if the document is a file itself."""

    id: int
    collection: str
    root: str
    path: str
    docid: str
    source_hash: str
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int | None
    mirror_hash: str
    title: str
    mime: str
    converter: str
    language: str | None
    dated: float
    dated_by: str | None
    metadata: str
    line_map_json: str
    locations_json: str | None
    active: bool
    indexed_at: float
    removed_at: float | None
    container: str | None
    unread_json: str | None

    @property
    def unread(self) -> list[Unread]:
        return msgspec.json.decode(self.unread_json, type=list[Unread]) if self.unread_json else []

    @property
    def stat(self) -> FileStat:
        return FileStat(self.size, self.mtime_ns, self.inode, self.ctime_ns)

    @property
    def line_map(self) -> LineMap:
        return msgspec.json.decode(self.line_map_json, type=LineMap) if self.line_map_json != "[]" else []

    @property
    def locations(self) -> Locations | None:
        return locations.decoded(self.locations_json)

    def location_of(self, line: int) -> SourceLocation | None:
        """Return the location of a line of the canonical text in the source, or None for sources with lines."""
        return located.at(line) if self.locations_json and (located := self.locations) else None

    @property
    def source(self) -> str:
        return f"{self.root.rstrip('/')}/{self.path}"

    @property
    def uri(self) -> str:
        return format_uri(self.collection, self.path)


class Columns(NamedTuple):
    """The columns of its document that a hit shows, under the same names as on the wire."""

    tags: Sequence[str] = ()


class Shown(NamedTuple):
    """`text` is None if it is long. `is_code`: the document has definitions."""

    columns: Columns
    is_code: bool
    text: str | None


_COLUMNS = (
    "d.id, c.name, c.path, d.path, d.docid, d.source_hash, d.size, d.mtime_ns, d.inode, d.ctime_ns, d.mirror_hash,"
    " d.title, d.mime, d.converter, d.language, d.dated, d.dated_by, d.metadata, d.line_map, d.locations, d.active,"
    " d.indexed_at, d.removed_at, d.container, d.unread"
)
_FROM = "FROM documents d JOIN collections c ON c.id = d.collection_id"


def _at_or_below(column: str, path: str) -> str:
    """Return the condition for a path and everything below it."""
    # "0" is the character after "/", so the last range contains exactly the paths below a folder. The first range lets
    # SQLite use an index: for an OR, it searches no index of a table without rowids.
    below = f"{column} >= {path} || '/'"
    return f"({column} >= {path} AND {column} < {path} || '0' AND ({column} = {path} OR {below}))"


_NAMED = (
    "SELECT d.path FROM names n CROSS JOIN documents d ON d.id = n.document_id"
    f" WHERE n.collection_id = ?1 AND n.rank = {PATH}"
)
_SPELLINGS = f"""
    WITH named (path) AS (
        {_NAMED} AND n.name = ?4
        UNION ALL {_NAMED} AND n.name > ?3 || '/' AND n.name < ?3 || '0'
        UNION ALL SELECT path FROM ingest_errors WHERE collection_id = ?1 AND {_at_or_below("folded", "?3")}
    ) SELECT path FROM named WHERE NOT {_at_or_below("path", "?2")}
"""


def has_members(connection: Connection, collection_id: int, path: str) -> bool:
    """Tell whether the index has members of this file."""
    found = connection.execute(
        "SELECT 1 FROM documents WHERE collection_id = ? AND container = ? LIMIT 1", (collection_id, path)
    )
    return found.get is not None


def known_members(connection: Connection, collection_id: int, containers: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the hashes of members by container and path. The hash is "" if the member must be read again."""
    rows = connection.execute(
        "SELECT d.container, d.path, CASE WHEN d.mtime_ns >= 0 THEN d.source_hash ELSE '' END FROM json_each(?2) wanted"
        " CROSS JOIN documents d ON d.collection_id = ?1 AND d.container = wanted.value AND d.container IS NOT NULL"
        " WHERE d.active",
        (collection_id, json_list(containers)),
    )
    found: dict[str, dict[str, str]] = {}
    for container, path, source_hash in rows:
        found.setdefault(container, {})[path] = source_hash
    return found


def unread_members(connection: Connection, container: DocumentRow) -> list[DocumentRow]:
    """Return the members of a container that are indexed only in part."""
    where = "WHERE c.name = ? AND d.container = ? AND d.active AND d.unread IS NOT NULL ORDER BY d.path"
    return list(_select(connection, where, (container.collection, container.path)))


def is_file(connection: Connection, collection_id: int, path: str) -> bool:
    """Tell whether a path names an indexed file on disk, not a member."""
    found = connection.execute(
        "SELECT 1 FROM documents WHERE collection_id = ? AND path = ? AND active AND container IS NULL",
        (collection_id, path),
    )
    return found.fetchone() is not None


def stats(
    connection: Connection, collection_id: int, under: Collection[str] | Between = ALL_PATHS
) -> Iterator[tuple[str, FileStat]]:
    """Yield the indexed files of a collection: the files in a range, or these paths and everything below them. A file
    may come twice."""
    select = (
        "SELECT path, size, mtime_ns, inode, ctime_ns FROM documents"
        " WHERE collection_id = ?1 AND active AND container IS NULL"
    )
    rows = rows_under(connection, select, "path", collection_id, under)
    for path, size, mtime_ns, inode, ctime_ns in rows:
        yield path, FileStat(size, mtime_ns, inode, ctime_ns)


def known_files(connection: Connection, collection_id: int, paths: Collection[str]) -> dict[str, KnownFile]:
    """Return the indexed files among `paths`."""
    rows = connection.execute(
        "SELECT d.path, size, mtime_ns, inode, ctime_ns, source_hash, reader IS NOT NULL, log IS NOT NULL"
        " FROM json_each(?2) wanted"
        " CROSS JOIN documents d ON d.collection_id = ?1 AND d.path = wanted.value"
        " WHERE active AND container IS NULL",
        (collection_id, json_list(paths)),
    )
    return {
        path: KnownFile(FileStat(*stat), source_hash, bool(has_scans), bool(is_log))
        for path, *stat, source_hash, has_scans, is_log in rows
    }


def log_parts(connection: Connection, collection_id: int, path: str) -> list[LogPart]:
    """Return the indexed parts of a log in order; empty if they must be read again."""
    rows = connection.execute(
        "SELECT source_hash, log FROM documents WHERE collection_id = ?1 AND (path = ?2 OR container = ?2)"
        " AND active AND log IS NOT NULL AND mtime_ns >= 0",
        (collection_id, path),
    )
    parts = [LogPart(source_hash, msgspec.msgpack.decode(mark, type=LogMark)) for source_hash, mark in rows]
    return sorted(parts, key=lambda part: part.mark.number)


def by_path(connection: Connection, collection: str, path: str, *, active: bool = True) -> DocumentRow | None:
    """Return the document of a path in any Unicode composition. `active=False` includes removed documents."""
    where = "WHERE c.name = ? AND d.path = ? AND d.active >= ?"
    found = next(_select(connection, where, (collection, path, int(active))), None)
    composed = path if found else _composed(connection, collection, path)
    return found if composed == path else next(_select(connection, where, (collection, composed, int(active))), None)


def by_docid(connection: Connection, prefix: str) -> list[DocumentRow]:
    """Return the active documents whose source hash starts with `prefix` (lower-case hex), in URI order."""
    docid = f"#{prefix[:DOCID_DIGITS]}"
    return list(
        _select(
            connection,
            "WHERE d.docid >= ? AND d.docid < ? AND d.source_hash >= ? AND d.source_hash < ? AND d.active"
            " ORDER BY c.name, d.path",
            (docid, docid + "g", prefix, prefix + "g"),
        )
    )


@by_id
def by_ids(connection: Connection, ids: Collection[int]) -> dict[int, DocumentRow]:
    """Return documents by id, in any order."""
    found = _select(connection, f"WHERE d.id IN ({','.join('?' * len(ids))})", tuple(ids))
    return {document.id: document for document in found}


@by_id
def facts(connection: Connection, ids: Collection[int]) -> dict[int, tuple[str, str, str | None, str]]:
    """Return (docid, collection, language, text) of documents. `text` is the beginning if the language is unknown."""
    rows = connection.execute(
        "SELECT d.id, d.docid, c.name, d.language, CASE WHEN d.language IS NULL THEN"
        " (SELECT substr(markdown, 1, ?2) FROM content WHERE mirror_hash = d.mirror_hash) END"
        " FROM json_each(?1) wanted CROSS JOIN documents d ON d.id = wanted.value"
        " CROSS JOIN collections c ON c.id = d.collection_id",
        (json_list(sorted(ids)), _SAMPLE_CHARACTERS),
    )
    return {id_: (docid, collection, language, sample or "") for id_, docid, collection, language, sample in rows}


def shown(connection: Connection, ids: Collection[int]) -> dict[int, Shown]:
    """Return the data of all documents of a result in one statement."""
    # Unpack the texts here: as a column of the view `content`, each text would also cost a call by SQLite.
    rows = connection.execute(
        "SELECT d.id,"
        " (SELECT json_group_array(written) FROM"
        " (SELECT written FROM tags WHERE document_id = d.id AND is_own ORDER BY tag)),"
        " EXISTS (SELECT 1 FROM definitions WHERE document_id = d.id), m.packed, m.markdown"
        " FROM json_each(?) wanted CROSS JOIN documents d ON d.id = wanted.value"
        " LEFT JOIN mirrors m ON m.mirror_hash = d.mirror_hash",
        (json_list(ids),),
    )
    return {
        id_: Shown(Columns(_tags(tags)), bool(is_code), _short(connection, packed, text))
        for id_, tags, is_code, packed, text in rows
    }


def passing(connection: Connection, ids: Collection[int], filters: Filters) -> set[int]:
    """Return the documents that pass the filters."""
    where, values = filters.condition().with_ids(ids)
    return {id_ for (id_,) in connection.execute(f"SELECT d.id FROM documents d WHERE {where}", values)}


def under(connection: Connection, collection: str | None, prefix: str, limit: int, offset: int) -> list[DocumentRow]:
    """Return the active documents at or below the path `prefix`, in order of collection and path."""
    where, values = in_scope(connection, collection, prefix)
    select = f"WHERE d.active{where} ORDER BY c.name, d.path LIMIT ? OFFSET ?"
    return list(_select(connection, select, (*values, limit, offset)))


def count_under(connection: Connection, collection: str | None, prefix: str) -> int:
    where, values = in_scope(connection, collection, prefix)
    return int(connection.execute(f"SELECT count(*) {_FROM} WHERE d.active{where}", values).get)


def addresses(connection: Connection) -> Iterator[tuple[int, str, str]]:
    """Yield (id, collection, path) of every active document in order."""
    yield from connection.execute(f"SELECT d.id, c.name, d.path {_FROM} WHERE d.active ORDER BY c.name, d.path")


@from_any
def markdown(connection: Connection, mirror_hash: str) -> str:
    """Return the text of a mirror."""
    return str(connection.execute("SELECT markdown FROM content WHERE mirror_hash = ?", (mirror_hash,)).get or "")


@from_any
def content_digest(connection: Connection, mirror_hash: str) -> str:
    """Return the hash of a mirror in hex."""
    row = connection.execute("SELECT digest_rest FROM mirrors WHERE mirror_hash = ?", (mirror_hash,)).fetchone()
    return packing.hash_of_key(mirror_hash, row[0], markdown(connection, mirror_hash)) if row else ""


def text_bytes(connection: Connection, mirror_hash: str) -> int:
    """Return the length of a mirror's text in bytes of UTF-8; a long text is not read."""
    found = connection.execute("SELECT octet_length(markdown) FROM content WHERE mirror_hash = ?", (mirror_hash,))
    return int(found.get or 0)


def count_chunks(connection: Connection, mirror_hash: str) -> int:
    return int(connection.execute("SELECT count(*) FROM chunks WHERE mirror_hash = ?", (mirror_hash,)).get)


def distinct_languages(connection: Connection) -> list[str | None]:
    """Return the languages of the active documents. None: the language is unknown."""
    return [language for (language,) in connection.execute("SELECT DISTINCT language FROM documents WHERE active")]


def count_by_language(connection: Connection) -> dict[str | None, int]:
    """Return the number of active documents in each language, largest first. None: the language is unknown."""
    rows = connection.execute(
        "SELECT language, count(*) AS n FROM documents WHERE active GROUP BY 1 ORDER BY n DESC, 1"
    )
    return dict(rows)


def spellings(connection: Connection, collection_id: int, paths: Iterable[str]) -> set[str]:
    """Return the other spellings of these paths of files or folders in a collection: equal except for case and
    composition. The files need not be indexed."""
    found = set()
    for path in paths:
        name, depth = folded(path), path.count("/") + 1
        rows = connection.execute(_SPELLINGS, (collection_id, path, name, key(path)))
        starts = ("/".join(other.split("/")[:depth]) for (other,) in rows)
        found |= {start for start in starts if folded(start) == name}
    return found


def rows_under(
    connection: Connection, select: str, column: str, collection_id: int, under: Collection[str] | Between
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `select` in collection `?1`: in a range of paths, or at these paths and everything below
    them."""
    if isinstance(under, Between):
        ends = [(operator, path) for operator, path in ((">", under.after), ("<=", under.last)) if path is not None]
        select += "".join(f" AND {column} {operator} ?" for operator, _ in ends)
        yield from connection.execute(select, (collection_id, *(path for _, path in ends)))
        return
    for path in under:
        yield from connection.execute(f"{select} AND {_at_or_below(column, '?2')}", (collection_id, path))


def _select(connection: Connection, where: str, values: tuple[object, ...]) -> Iterator[DocumentRow]:
    rows = connection.execute(f"SELECT {_COLUMNS} {_FROM} {where}", values)
    return (DocumentRow(*row) for row in rows)


def _short(connection: Connection, packed: bytes | None, text: str | None) -> str | None:
    if packed is not None:
        return packing.unpack(connection, packed) if packing.size(packed) <= SHORT_BYTES else None
    return text if text is not None and len(text) <= SHORT_BYTES else None


def _tags(written: str) -> list[str]:
    return [] if written == _NO_TAGS else msgspec.json.decode(written, type=list[str])


def in_scope(connection: Connection, collection: str | None, prefix: str) -> tuple[str, tuple[object, ...]]:
    """Return the condition for documents `d` of collections `c` at or below a folder. None: all collections."""
    if collection is None:
        return "", ()
    prefix = prefix.rstrip("/")
    if not prefix:
        return " AND c.name = ?", (collection,)
    path = _composed(connection, collection, prefix)
    return f" AND c.name = ? AND {_at_or_below('d.path', '?')}", (collection, path, path, path, path)


def _composed(connection: Connection, collection: str, path: str) -> str:
    """Return the path of a file or folder in the composition that its documents have."""
    has = f"EXISTS (SELECT 1 FROM documents WHERE collection_id = c.id AND active AND {_at_or_below('path', '?2')})"
    for id_, is_exact in connection.execute(f"SELECT id, {has} FROM collections c WHERE name = ?1", (collection, path)):
        others = () if is_exact else sorted(spellings(connection, id_, [path]))
        return next((other for other in others if normalize("NFC", other) == normalize("NFC", path)), path)
    return path
