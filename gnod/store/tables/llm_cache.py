"""Cache answers of language models by the hash of everything that they depend on. Must not depend on models."""

from __future__ import annotations

from gnod.store.connection import Connection

KEPT = 10_000


def get(connection: Connection, key: str) -> str | None:
    value: str | None = connection.execute("SELECT value FROM llm_cache WHERE key = ?", (key,)).get
    return value


def put(connection: Connection, key: str, value: str, now: float) -> None:
    """Store the value. `now` is in seconds since 1970. Only the KEPT most recently used entries remain."""
    connection.execute(
        "INSERT INTO llm_cache (key, value, created, used) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value, used = excluded.used",
        (key, value, now, now),
    )
    connection.execute(
        "DELETE FROM llm_cache WHERE rowid IN"
        " (SELECT rowid FROM llm_cache WHERE key != ? ORDER BY used DESC, rowid DESC LIMIT -1 OFFSET ?)",
        (key, KEPT - 1),
    )
