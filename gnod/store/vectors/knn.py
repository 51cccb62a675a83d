"""The sqlite-vec tables: one per model, a copy of its `content_vectors` that SQLite can scan for neighbours.

Temporary triggers on the writer's connection update the copy in the transaction that changes the vectors, so a machine
without sqlite-vec can use the same database. `attach` catches up with changes made there.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

import apsw
import msgspec

# sqlite-vec refuses to return more.
MAX_NEIGHBOURS = 4096


class Neighbour(NamedTuple):
    """`cosine` in [-1, 1]."""

    vector_id: int
    cosine: float


def table_of(uri: str) -> str:
    return f"vec_{sha256(uri.encode()).hexdigest()[:8]}"


def load(connection: apsw.Connection) -> str | None:
    """Load sqlite-vec into a connection. Returns the reason if that fails."""
    try:
        import sqlite_vec

        connection.enable_load_extension(True)
        try:
            connection.load_extension(sqlite_vec.loadable_path())
        finally:
            connection.enable_load_extension(False)
    except ImportError:
        return "the package sqlite-vec is not installed"
    except (apsw.Error, AttributeError, OSError) as error:
        return f"sqlite-vec does not load: {error}"
    return None


def is_loaded(connection: apsw.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'vec0'").get)


def attach(connection: apsw.Connection) -> None:
    """Make the tables of all models equal `content_vectors`, and keep them so on this connection."""
    rows = connection.execute("SELECT id, uri, dimensions FROM embedding_models WHERE dimensions IS NOT NULL")
    models = [(int(model_id), str(uri), int(dimensions)) for model_id, uri, dimensions in rows]
    wanted = {table_of(uri) for _, uri, _ in models}
    for table in _tables(connection) - wanted:
        connection.execute(f"DROP TABLE {table}")
    for model_id, uri, dimensions in models:
        add_model(connection, model_id, uri, dimensions)
        _catch_up(connection, model_id, table_of(uri))


def add_model(connection: apsw.Connection, model_id: int, uri: str, dimensions: int) -> None:
    """Create the table and its triggers. Without sqlite-vec, do nothing."""
    if not is_loaded(connection):
        return
    table = table_of(uri)
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {table}"
        f" USING vec0 (embedding float[{dimensions}] distance_metric=cosine);"
        f"CREATE TEMP TRIGGER IF NOT EXISTS knn_came_{model_id} AFTER INSERT ON main.content_vectors"
        f" WHEN NEW.model_id = {model_id}"
        f" BEGIN INSERT INTO {table} (rowid, embedding) VALUES (NEW.id, NEW.embedding); END;"
        f"CREATE TEMP TRIGGER IF NOT EXISTS knn_left_{model_id} AFTER DELETE ON main.content_vectors"
        f" WHEN OLD.model_id = {model_id}"
        f" BEGIN DELETE FROM {table} WHERE rowid = OLD.id; END;"
    )


def drop_model(connection: apsw.Connection, model_id: int, uri: str) -> None:
    """Drop the table and its triggers. Without sqlite-vec, the next `attach` does."""
    if is_loaded(connection):
        connection.execute(
            f"DROP TRIGGER IF EXISTS temp.knn_came_{model_id};"
            f"DROP TRIGGER IF EXISTS temp.knn_left_{model_id};"
            f"DROP TABLE IF EXISTS {table_of(uri)}"
        )


def has_table(connection: apsw.Connection, uri: str) -> bool:
    return is_loaded(connection) and table_of(uri) in _tables(connection)


def search(
    connection: apsw.Connection, uri: str, query: bytes, limit: int, among: Sequence[int] | None = None
) -> list[Neighbour]:
    """Return the nearest vectors (of those with the ids `among`), best first: at most MAX_NEIGHBOURS, and none where
    there is no table."""
    if not has_table(connection, uri):
        return []
    table = table_of(uri)
    where = ""
    bound: tuple[str, ...] = ()
    if among is not None:
        where, bound = " AND rowid IN (SELECT value FROM json_each(?))", (msgspec.json.encode(list(among)).decode(),)
    rows = connection.execute(
        f"SELECT rowid, 1 - distance FROM {table} WHERE embedding MATCH ? AND k = ?{where} ORDER BY distance",
        (query, min(limit, MAX_NEIGHBOURS), *bound),
    )
    return [Neighbour(*row) for row in rows]


def ids(connection: apsw.Connection, uri: str) -> set[int]:
    """Return the ids of the vectors in the model's table."""
    return {vector_id for (vector_id,) in connection.execute(f"SELECT rowid FROM {table_of(uri)}_rowids")}


def _tables(connection: apsw.Connection) -> set[str]:
    found = connection.execute(
        "SELECT name FROM main.sqlite_schema WHERE name GLOB 'vec_????????' AND sql LIKE 'CREATE VIRTUAL TABLE%'"
    )
    return {str(name) for (name,) in found}


def _catch_up(connection: apsw.Connection, model_id: int, table: str) -> None:
    """Ids are never reused: equal counts and sums mean equal sets."""
    ours = connection.execute(
        "SELECT count(*), coalesce(sum(id), 0) FROM content_vectors WHERE model_id = ?", (model_id,)
    ).fetchone()
    theirs = connection.execute(f"SELECT count(*), coalesce(sum(rowid), 0) FROM {table}_rowids").fetchone()
    if ours == theirs:
        return
    kept = "SELECT id FROM content_vectors WHERE model_id = ?"
    connection.execute(
        f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table}_rowids WHERE rowid NOT IN ({kept}))",
        (model_id,),
    )
    connection.execute(
        f"INSERT INTO {table} (rowid, embedding) SELECT id, embedding FROM content_vectors"
        f" WHERE model_id = ? AND id NOT IN (SELECT rowid FROM {table}_rowids)",
        (model_id,),
    )
