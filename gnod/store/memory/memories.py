"""Read and write memories in their database: sealed bodies, keyed hashes, sealed vectors. Has no key to decrypt
them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from gnod.store.connection import Connection, json_list


class Namespace(NamedTuple):
    id: int
    lookup: bytes
    sealed_name: bytes


class MemoryRow(NamedTuple):
    """A memory without its body. `name` is for users; times are milliseconds since 1970. `superseded_by`: a name."""

    id: int
    name: str
    namespace_id: int
    type: str
    created_ms: int
    updated_ms: int
    fingerprint: bytes
    superseded_by: str | None = None


class StoredBody(NamedTuple):
    """A sealed body. `has_older`: the memory supersedes others. `newer_…` describe the memory that supersedes this one.
    `newer_ms`: when that memory was stored, or when it changed if it was stored before this one."""

    body: bytes
    has_older: bool
    newer_name: str | None
    newer_ms: int | None
    newer_body: bytes | None


class NewRow(NamedTuple):
    """A memory to write. `topics`: keyed hashes. `superseded_by`: the current value, or None to remove the link."""

    name: str
    namespace_id: int
    type: str
    created_ms: int
    updated_ms: int
    fingerprint: bytes
    body: bytes
    topics: Sequence[bytes]
    superseded_by: str | None = None


_COLUMNS = (
    "id, name, namespace_id, kind, created_ms, updated_ms, fingerprint,"
    " (SELECT newer.name FROM memories newer WHERE newer.id = memories.superseded_by)"
)


def key_record(connection: Connection) -> bytes | None:
    record: bytes | None = connection.execute("SELECT record FROM keys").get
    return record


def put_key_record(connection: Connection, record: bytes) -> None:
    """Store the only record. With another key, all data that were sealed before would be lost."""
    connection.execute("INSERT INTO keys VALUES (1, ?)", (record,))


def replace_key_record(connection: Connection, record: bytes) -> None:
    """Store another record of the same key."""
    connection.execute("UPDATE keys SET record = ? WHERE id = 1", (record,))


def overwrite_deleted(connection: Connection) -> None:
    """Make the writing connection overwrite deleted data with zeros from now on."""
    connection.execute("PRAGMA secure_delete = ON")


def empty_log(connection: Connection) -> None:
    """Checkpoint and empty the write-ahead log, which has old pages. Call this outside a transaction."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def namespaces(connection: Connection) -> list[Namespace]:
    return [Namespace(*row) for row in connection.execute("SELECT id, lookup, sealed_name FROM namespaces ORDER BY id")]


def add_namespace(connection: Connection, lookup: bytes, sealed_name: bytes, now_ms: int) -> int:
    """Create the namespace unless it exists. Returns its id."""
    connection.execute(
        "INSERT INTO namespaces (lookup, sealed_name, created_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (lookup, sealed_name, now_ms),
    )
    return int(connection.execute("SELECT id FROM namespaces WHERE lookup = ?", (lookup,)).get)


def rows(connection: Connection) -> list[MemoryRow]:
    """Return all memories, oldest first."""
    return _select(connection)


def named(connection: Connection, names: Collection[str]) -> list[MemoryRow]:
    """Return the existing memories with these names."""
    return _select(connection, "WHERE name IN (SELECT value FROM json_each(?))", json_list(names))


def find(connection: Connection, namespace_id: int, fingerprint: bytes) -> tuple[MemoryRow, bytes] | None:
    """Return the memory with this fingerprint, and its body."""
    found = connection.execute(
        f"SELECT {_COLUMNS}, body FROM memories WHERE namespace_id = ? AND fingerprint = ?", (namespace_id, fingerprint)
    ).fetchone()
    return (MemoryRow(*found[:-1]), found[-1]) if found else None


def bodies(connection: Connection, ids: Collection[int]) -> dict[int, StoredBody]:
    """Return the sealed bodies of the existing ids."""
    wanted = json_list(sorted(ids))
    found = connection.execute(
        "SELECT m.id, m.body, EXISTS (SELECT 1 FROM memories older WHERE older.superseded_by = m.id),"
        " newer.name, iif(newer.created_ms >= m.created_ms, newer.created_ms, newer.updated_ms), newer.body"
        " FROM json_each(?) wanted CROSS JOIN memories m ON m.id = wanted.value"
        " LEFT JOIN memories newer ON newer.id = m.superseded_by",
        (wanted,),
    )
    return {id_: StoredBody(*columns) for id_, *columns in found}


def topics(connection: Connection) -> Iterator[tuple[bytes, int]]:
    """Yield (keyed hash, memory id) of all topics."""
    yield from connection.execute("SELECT lookup, memory_id FROM memory_topics")


def insert(connection: Connection, row: NewRow) -> MemoryRow:
    """Store a memory that is not in its namespace yet."""
    connection.execute(
        "INSERT INTO memories (name, namespace_id, kind, created_ms, updated_ms, fingerprint, body)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        row[:7],
    )
    id_ = connection.last_insert_rowid()
    _put_topics(connection, id_, row.topics)
    return _select(connection, "WHERE id = ?", id_)[0]


def replace(connection: Connection, id_: int, row: NewRow) -> MemoryRow:
    """Overwrite a memory. Its vectors stay until `put_vectors`."""
    connection.execute(
        "UPDATE memories SET kind = ?, updated_ms = ?, fingerprint = ?, body = ?,"
        " superseded_by = (SELECT id FROM memories newer WHERE newer.name = ?) WHERE id = ?",
        (row.type, row.updated_ms, row.fingerprint, row.body, row.superseded_by, id_),
    )
    connection.execute("DELETE FROM memory_topics WHERE memory_id = ?", (id_,))
    _put_topics(connection, id_, row.topics)
    return _select(connection, "WHERE id = ?", id_)[0]


def supersede(connection: Connection, row: MemoryRow, type_: str, updated_ms: int, newer: str) -> MemoryRow:
    """Link a memory to the one that supersedes it, and set its type."""
    connection.execute(
        "UPDATE memories SET kind = ?, updated_ms = ?,"
        " superseded_by = (SELECT id FROM memories newer WHERE newer.name = ?) WHERE id = ?",
        (type_, updated_ms, newer, row.id),
    )
    return row._replace(type=type_, updated_ms=updated_ms, superseded_by=newer)


def unlink(connection: Connection, row: MemoryRow) -> MemoryRow:
    """Remove the link to the memory that supersedes this one."""
    connection.execute("UPDATE memories SET superseded_by = NULL WHERE id = ?", (row.id,))
    return row._replace(superseded_by=None)


def delete(connection: Connection, ids: Collection[int]) -> list[MemoryRow]:
    """Delete memories with their topics and vectors. Returns the other memories that a deleted one superseded. Its
    successor, if any, now supersedes them."""
    older: set[int] = set()
    for id_ in ids:
        older.update(
            each
            for (each,) in connection.execute(
                "UPDATE memories SET superseded_by = (SELECT superseded_by FROM memories WHERE id = ?1)"
                " WHERE superseded_by = ?1 RETURNING id",
                (id_,),
            )
        )
    connection.execute("DELETE FROM memories WHERE id IN (SELECT value FROM json_each(?))", (json_list(sorted(ids)),))
    return _select(connection, "WHERE id IN (SELECT value FROM json_each(?))", json_list(sorted(older)))


def put_vectors(connection: Connection, memory_id: int, uri: str, sealed: Sequence[bytes]) -> list[int]:
    """Replace the vectors of a memory, including those of other models, with vectors of the model `uri`. Returns the
    new ids, which ascend."""
    connection.execute("DELETE FROM memory_vectors WHERE memory_id = ?", (memory_id,))
    if not sealed:
        return []
    connection.execute("INSERT INTO memory_models (uri) VALUES (?) ON CONFLICT DO NOTHING", (uri,))
    model = int(connection.execute("SELECT id FROM memory_models WHERE uri = ?", (uri,)).get)
    ids = []
    for vector in sealed:
        connection.execute(
            "INSERT INTO memory_vectors (memory_id, model_id, sealed) VALUES (?, ?, ?)", (memory_id, model, vector)
        )
        ids.append(connection.last_insert_rowid())
    return ids


def vectors(connection: Connection, uri: str) -> Iterator[tuple[int, int, bytes]]:
    """Yield (id, memory id, sealed vector) of a model in order of id."""
    yield from connection.execute(
        "SELECT v.id, v.memory_id, v.sealed FROM memory_vectors v JOIN memory_models m ON m.id = v.model_id"
        " WHERE m.uri = ? ORDER BY v.id",
        (uri,),
    )


def forget_vectors(connection: Connection, uri: str) -> None:
    """Delete all vectors of a model."""
    connection.execute(
        "DELETE FROM memory_vectors WHERE model_id = (SELECT id FROM memory_models WHERE uri = ?)", (uri,)
    )


def _select(connection: Connection, where: str = "", *values: object) -> list[MemoryRow]:
    """Return memories, oldest first."""
    return [
        MemoryRow(*row) for row in connection.execute(f"SELECT {_COLUMNS} FROM memories {where} ORDER BY id", values)
    ]


def _put_topics(connection: Connection, id_: int, lookups: Sequence[bytes]) -> None:
    connection.executemany(
        "INSERT INTO memory_topics VALUES (?, ?) ON CONFLICT DO NOTHING", [(lookup, id_) for lookup in lookups]
    )
