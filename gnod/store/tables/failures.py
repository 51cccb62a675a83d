"""Record the files that could not be indexed, or only in part."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable

import msgspec

from gnod.disks.spellings import folded
from gnod.store.connection import Connection
from gnod.store.tables.documents import rows_under
from gnod.store.tables.records import ALL_PATHS, SKIP_KINDS, Between, FileStat


class FailedFile(msgspec.Struct, frozen=True, gc=False):
    """One row. The file is not tried again while its `stat` is unchanged. `acknowledged`: the user knows the
    failure."""

    collection: str
    path: str
    stage: str
    kind: str
    message: str
    first_at: float
    last_at: float
    times: int
    acknowledged: bool
    stat: FileStat | None


_SELECT = (
    "SELECT c.name, e.path, stage, kind, message, first_at, last_at, count, acknowledged, size, mtime_ns, inode,"
    " ctime_ns FROM ingest_errors e JOIN collections c ON c.id = e.collection_id"
)
_SKIPPED = ", ".join(repr(kind) for kind in sorted(SKIP_KINDS))
FAILED = f"kind NOT IN ({_SKIPPED})"
# The parts of documents that are not read. `part.value` is a records.Unread.
_PARTS = (
    "FROM documents d INDEXED BY documents_in_part JOIN collections c ON c.id = d.collection_id"
    " JOIN json_each(d.unread) part WHERE d.active AND d.unread IS NOT NULL"
)
_IS_MEMBER = "part.value ->> 0 <> '' OR part.value ->> 1 = 'more'"


def note(
    connection: Connection,
    collection_id: int,
    path: str,
    *,
    stage: str,
    kind: str,
    message: str,
    stat: FileStat | None,
    now: float,
) -> None:
    """Record a failure. A repeated failure of the same kind increments its count."""
    of_file = msgspec.structs.astuple(stat) if stat else (None,) * 4
    connection.execute(
        "INSERT INTO ingest_errors VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1, ?8, ?9, ?10, ?11, 0)"
        " ON CONFLICT (collection_id, path) DO UPDATE SET"
        " first_at = CASE WHEN kind = excluded.kind THEN first_at ELSE excluded.first_at END,"
        " count = CASE WHEN kind = excluded.kind THEN count + 1 ELSE 1 END,"
        " acknowledged = acknowledged AND kind = excluded.kind AND size IS excluded.size"
        " AND mtime_ns IS excluded.mtime_ns,"
        " stage = excluded.stage, kind = excluded.kind, message = excluded.message, last_at = excluded.last_at,"
        " size = excluded.size, mtime_ns = excluded.mtime_ns, inode = excluded.inode, ctime_ns = excluded.ctime_ns",
        (collection_id, path, folded(path), stage, kind, message, now, *of_file),
    )


def forget(connection: Connection, collection_id: int, paths: Iterable[str]) -> None:
    connection.executemany(
        "DELETE FROM ingest_errors WHERE collection_id = ? AND path = ?",
        ((collection_id, path) for path in paths),
    )


def of_collection(
    connection: Connection, collection_id: int, under: Collection[str] | Between = ALL_PATHS
) -> dict[str, FailedFile]:
    """Return the failures of a collection by path: in a range, or at these paths and everything below them."""
    rows = rows_under(connection, f"{_SELECT} WHERE e.collection_id = ?1", "e.path", collection_id, under)
    return {failed.path: failed for failed in map(_failed_file, rows)}


def files_named(connection: Connection, collection_id: int, name: str) -> list[str]:
    """Return the files of a collection, indexed or not, that may have this name. Only ASCII letters are compared."""
    escaped = re.sub(r"([%_\\])", r"\\\1", unicodedata.normalize("NFC", name))
    likely = re.sub(r"[^\0-\x7f]+", "%", escaped)
    where = "collection_id = ?1 AND (path LIKE ?2 ESCAPE '\\' OR path LIKE '%/' || ?2 ESCAPE '\\')"
    rows = connection.execute(
        f"SELECT path FROM ingest_errors WHERE {where}"
        f" UNION SELECT path FROM documents WHERE {where} AND active AND container IS NULL",
        (collection_id, likely),
    )
    return [str(path) for (path,) in rows]


def listed(connection: Connection, limit: int) -> list[FailedFile]:
    """Return the first failures in order of collection and path, without skipped files."""
    rows = connection.execute(f"{_SELECT} WHERE {FAILED} ORDER BY c.name, e.path LIMIT ?", (limit,))
    return [_failed_file(row) for row in rows]


def skipped(connection: Connection, collection: str | None, limit: int, offset: int) -> tuple[list[FailedFile], int]:
    """Return a page of skipped files and unread parts of documents, and their total number. None: all collections.
    Parts have the stages `part` and `member` (a file inside the document)."""
    chosen = "(?1 IS NULL OR c.name = ?1)"
    unread = (
        f"{_SELECT} WHERE kind IN ({_SKIPPED}) AND {chosen} UNION ALL SELECT c.name,"
        f" d.path || coalesce('!/' || nullif(part.value ->> 0, ''), ''), iif({_IS_MEMBER}, 'member', 'part'),"
        f" part.value ->> 1, part.value ->> 2, d.indexed_at, d.indexed_at, 1, 0, NULL, NULL, NULL, NULL {_PARTS}"
        f" AND {chosen}"
    )
    total = connection.execute(f"SELECT count(*) FROM ({unread})", (collection,)).get
    rows = connection.execute(f"{unread} ORDER BY 1, 4, 2 LIMIT ?2 OFFSET ?3", (collection, limit, offset))
    return [_failed_file(row) for row in rows], int(total)


def acknowledge(connection: Connection, collections: list[str], kinds: list[str]) -> int:
    """Mark these failures as known to the user until the files change. Empty `kinds` means all kinds. Returns how many
    were newly marked."""
    where, values = _chosen(collections, kinds)
    connection.execute(f"UPDATE ingest_errors SET acknowledged = 1 WHERE NOT acknowledged AND {where}", values)
    return connection.changes()


def try_again(connection: Connection, collections: list[str], kinds: list[str]) -> int:
    """Make the next sync read these files again, although they are unchanged. Returns the number of files."""
    where, values = _chosen(collections, kinds)
    forgotten = "size = NULL, mtime_ns = NULL, inode = NULL, ctime_ns = NULL, acknowledged = 0"
    connection.execute(f"UPDATE ingest_errors SET {forgotten} WHERE {where}", values)
    return connection.changes()


def _chosen(collections: list[str], kinds: list[str]) -> tuple[str, list[str]]:
    of_kinds = f" AND kind IN ({_marks(kinds)})" if kinds else ""
    named = f"collection_id IN (SELECT id FROM collections WHERE name IN ({_marks(collections)}))"
    return f"{FAILED} AND {named}{of_kinds}", [*collections, *kinds]


def _marks(values: list[str]) -> str:
    return ",".join("?" * len(values))


def acknowledged(connection: Connection) -> dict[str, int]:
    """Return how many failures of each collection the user knows."""
    rows = connection.execute(
        "SELECT c.name, count(*) FROM ingest_errors e JOIN collections c ON c.id = e.collection_id"
        " WHERE acknowledged GROUP BY 1"
    )
    return {str(name): int(n) for name, n in rows}


def by_kind(connection: Connection) -> dict[str, Counter[str]]:
    """Return how many files of each collection failed, by kind. Skipped files are included."""
    return _by_kind(
        connection,
        "SELECT c.name, e.kind, count(*) FROM ingest_errors e JOIN collections c ON c.id = e.collection_id"
        " GROUP BY 1, 2",
    )


def in_part(connection: Connection) -> dict[str, Counter[str]]:
    """Return how many documents of each collection are read only in part, by the kind of the missing parts. `members`:
    members of the document are missing."""
    return _by_kind(
        connection,
        f"SELECT c.name, iif({_IS_MEMBER}, 'members', part.value ->> 1), count(DISTINCT d.id) {_PARTS} GROUP BY 1, 2",
    )


def _by_kind(connection: Connection, select: str) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for name, kind, n in connection.execute(select):
        found.setdefault(str(name), Counter())[str(kind)] = int(n)
    return found


def count(connection: Connection, collections: list[str]) -> int:
    """Return how many files of these collections failed. Skipped and acknowledged files are not counted."""
    where, values = _chosen(collections, [])
    counted = "SELECT count(*) FROM ingest_errors INDEXED BY ingest_errors_failed WHERE NOT acknowledged"
    return int(connection.execute(f"{counted} AND {where}", values).get)


def _failed_file(row: tuple[object, ...]) -> FailedFile:
    *fields, acknowledged, size, mtime_ns, inode, ctime_ns = row
    stat = None if size is None else FileStat(size, mtime_ns, inode, ctime_ns)  # type: ignore[arg-type]
    return FailedFile(*fields, bool(acknowledged), stat)  # type: ignore[arg-type, call-arg]
