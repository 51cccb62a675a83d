"""Store the collections and contexts in the database: a copy of the config file, with ids and times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gnod.errors import CollectionNotFound
from gnod.store.connection import Connection
from gnod.store.documents import writing
from gnod.store.tables import documents

# Files of these types may have pages or pictures without text.
_SCANS = (
    "(reader IS NOT NULL OR mime GLOB 'image/*' OR mime IN ('application/pdf', 'application/epub+zip')"
    " OR mime GLOB 'application/vnd.openxmlformats-officedocument.[wp]*' OR mime GLOB 'application/vnd.oasis.*')"
)


class Collection(NamedTuple):
    """`last_sync`: when the last sync of the collection ended, in seconds since 1970."""

    id: int
    name: str
    path: str
    language: str | None
    masked: bool
    last_sync: float | None


class Folder(NamedTuple):
    """A collection as configured. `language` overrides detection. `reader` recognises pages without text. `masked`:
    conversations are stored without keys and passwords."""

    name: str
    path: str
    language: str | None
    masked: bool = True
    reader: str | None = None


def all_collections(connection: Connection) -> list[Collection]:
    rows = connection.execute("SELECT id, name, path, language, masked, last_sync FROM collections ORDER BY name")
    return [Collection(*row) for row in rows]


def id_of(connection: Connection, name: str) -> int:
    """Raises CollectionNotFound."""
    row = connection.execute("SELECT id FROM collections WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise CollectionNotFound(f"there is no collection '{name}'", {"name": name})
    return int(row[0])


def mirror(connection: Connection, folders: Sequence[Folder], contexts: Sequence[tuple[str, str]]) -> list[str]:
    """Make the tables equal the config. Returns the names of removed collections; their documents are also removed. A
    collection whose folder changed keeps its documents until the next sync."""
    names = {folder.name for folder in folders}
    before = {collection.name: collection for collection in all_collections(connection)}
    gone = [name for name in before if name not in names]
    for name in gone:
        remove(connection, name)
    for folder in folders:
        connection.execute(
            "INSERT INTO collections (name, path, language, masked) VALUES (?, ?, ?, ?) ON CONFLICT (name)"
            " DO UPDATE SET path = excluded.path, language = excluded.language, masked = excluded.masked",
            folder[:4],
        )
        if folder.name in before and before[folder.name][3:5] != folder[2:4]:
            writing.invalidate(connection, before[folder.name].id)
        _note_reader(connection, folder)
    connection.execute("DELETE FROM contexts")
    connection.executemany("INSERT OR IGNORE INTO contexts VALUES (?, ?)", contexts)
    return gone


def _note_reader(connection: Connection, folder: Folder) -> None:
    """If another program now recognises pages, make the next sync read files again that may have pages without text."""
    connection.execute(
        "UPDATE collections SET reader = ?2 WHERE name = ?1 AND reader IS NOT ?2", (folder.name, folder.reader or "")
    )
    if connection.changes():
        collection_id = id_of(connection, folder.name)
        connection.execute(f"UPDATE documents SET mtime_ns = -1 WHERE collection_id = ? AND {_SCANS}", (collection_id,))
        connection.execute(
            "DELETE FROM ingest_errors WHERE collection_id = ? AND size > 0"
            " AND kind IN ('needs_ocr', 'unsupported', 'empty')",
            (collection_id,),
        )


def rename(connection: Connection, name: str, new_name: str) -> None:
    connection.execute("UPDATE collections SET name = ? WHERE name = ?", (new_name, name))


def remove(connection: Connection, name: str) -> int:
    """Delete a collection and its documents. Returns how many documents were active."""
    ids = [i for (i,) in connection.execute("SELECT id FROM collections WHERE name = ?", (name,))]
    removed = 0
    for collection_id in ids:
        paths = [path for path, _ in documents.stats(connection, collection_id)]
        writing.remove(connection, collection_id, paths)
        removed += len(paths)
        connection.execute("DELETE FROM collections WHERE id = ?", (collection_id,))
    return removed


def was_mounted(connection: Connection, collection_id: int) -> bool:
    """Return whether the collection's folder was a mount point at its last sync."""
    return bool(connection.execute("SELECT mounted FROM collections WHERE id = ?", (collection_id,)).get)


def note_sync(connection: Connection, collection_id: int, at: float, *, mounted: bool = False) -> None:
    connection.execute(
        "UPDATE collections SET last_sync = ?, mounted = ? WHERE id = ?", (at, int(mounted), collection_id)
    )
