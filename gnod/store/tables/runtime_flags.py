"""Settings that the daemon stores in the database, and that survive a restart."""

from __future__ import annotations

from gnod.store.connection import Connection

_PAUSED = "embedding_paused"


def is_embedding_paused(connection: Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM schema_meta WHERE key = ?", (_PAUSED,)).get)


def pause_embedding(connection: Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO schema_meta VALUES (?, '1')", (_PAUSED,))


def resume_embedding(connection: Connection) -> None:
    connection.execute("DELETE FROM schema_meta WHERE key = ?", (_PAUSED,))
