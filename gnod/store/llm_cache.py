"""What language models answered before: texts by the hash of all that they depend on. Knows no model and no meaning."""

from __future__ import annotations

from gnod.store.database import Connection

KEPT = 10_000


def get(connection: Connection, key: str) -> str | None:
    value: str | None = connection.execute("SELECT value FROM llm_cache WHERE key = ?", (key,)).get
    return value


def put(connection: Connection, key: str, value: str, now: float) -> None:
    """Keep the value, seconds since 1970 being `now`. Of more than KEPT, those put longest ago are dropped."""
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
