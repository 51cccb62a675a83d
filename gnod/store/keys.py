"""The hashes of texts and chunks as keys of rows: 20 characters of base64 for the first 120 bits of a SHA-256.

Such a key stands in up to eight places for each document. An index of an older version has the 64 hex digits in all of
its rows, until `shorten_all`. So an index has keys of one form, and what was read as a key finds its rows again.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256

import apsw

_DIGITS = 64
_BYTES = 15
_AT_ONCE = 5_000
# The columns that have keys: in tables with a rowid, and in those in the order of the first key.
_WITH_ROWID = {
    "mirrors": ["mirror_hash"],
    "documents": ["mirror_hash"],
    "content_vectors": ["embed_hash"],
    "unembedded": ["embed_hash"],
}
_WITHOUT_ROWID = {"chunks": ["mirror_hash", "embed_hash"], "embedding_errors": ["embed_hash"]}
# Building these indexes again takes less time than changing each of their entries.
_INDEXES = ("documents_by_mirror_hash", "chunks_by_embed_hash")


def form(connection: apsw.Connection) -> Callable[[str], str]:
    """Return the function that makes a key of this index from a hash in hex. A key stays unchanged."""
    return shortened if are_short(connection) else str


def are_short(connection: apsw.Connection) -> bool:
    """Tell which form the keys of this index have."""
    return bool(connection.execute("SELECT length(mirror_hash) FROM mirrors LIMIT 1").get != _DIGITS)


def shortened(key: str) -> str:
    """Return the short key of a hash in hex, or of a key of either form: equal in all indexes. Raises ValueError."""
    return urlsafe_b64encode(bytes.fromhex(key[: 2 * _BYTES])).decode() if len(key) == _DIGITS else key


def rest_of(digest: str, text: str) -> bytes | None:
    """Return what the short key of a text lacks of its hash; None where that is the SHA-256 of the text itself."""
    return bytes.fromhex(digest[2 * _BYTES :]) if digest != _sha256(text) else None


def digest_of(key: str, rest: bytes | None, text: str) -> str:
    """Return the hash of a text, in hex."""
    if len(key) == _DIGITS:
        return key
    return _sha256(text) if rest is None else urlsafe_b64decode(key).hex() + rest.hex()


def shorten_all(connection: apsw.Connection) -> None:
    """Give an index of an older version short keys, in one transaction of its own. Outside a transaction."""
    if are_short(connection):
        return
    connection.create_scalar_function("shortened", lambda *keys: shortened(str(keys[0])), 1, deterministic=True)
    connection.execute("PRAGMA foreign_keys = OFF")  # all rows change, one after the other
    try:
        with connection, _without(connection, "type = 'trigger' OR name IN ('" + "', '".join(_INDEXES) + "')"):
            for table, columns in _WITH_ROWID.items():
                last = int(connection.execute(f"SELECT coalesce(max(rowid), 0) FROM {table}").get)
                for first in range(0, last + 1, _AT_ONCE):
                    _shorten(connection, table, columns, "rowid", first, first + _AT_ONCE)
            for table, columns in _WITHOUT_ROWID.items():
                for first in range(256):
                    _shorten(connection, table, columns, columns[0], f"{first:02x}", f"{first:02x}g")
    finally:
        connection.execute("PRAGMA foreign_keys = ON")


@contextmanager
def _without(connection: apsw.Connection, which: str) -> Iterator[None]:
    """Drop triggers and indexes, and create them again: nothing changes that triggers should note."""
    rows = connection.execute(f"SELECT type, name, sql FROM sqlite_schema WHERE {which} ORDER BY rowid").fetchall()
    for kind, name, _ in rows:
        connection.execute(f'DROP {kind} "{name}"')
    yield
    for _, _, sql in rows:
        connection.execute(str(sql))


def _shorten(
    connection: apsw.Connection, table: str, columns: list[str], by: str, first: str | int, end: str | int
) -> None:
    changes = [f"{column} = shortened({column})" for column in columns]
    if table == "mirrors":
        changes.append(f"digest_rest = unhex(substr(mirror_hash, {2 * _BYTES + 1}))")
    connection.execute(f"UPDATE {table} SET {', '.join(changes)} WHERE {by} >= ? AND {by} < ?", (first, end))


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
