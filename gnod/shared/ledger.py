"""Record what one publication has sent, in its own SQLite file, so that an interrupted publication can continue.

The file is a cache. If it is missing or has another version, everything is compared with the engine again. Only one
thread at a time may use it. Must not depend on engines or the index.

A change is noted before it is sent and confirmed afterwards, each in one transaction. The file has the frequencies of
the collection (`n`) and of the engine (`sent`). Frequencies are sent until both are equal.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import StorageFailed
from gnod.store.connection import json_list

# An impossible value, for an unknown frequency or mean length.
_UNKNOWN = -1
_VERSION = 1
_CACHE_KIB = 8 * 1024
_SCHEMA = f"""
    CREATE TABLE state (value TEXT NOT NULL) STRICT;
    CREATE TABLE documents (
        key TEXT PRIMARY KEY,
        path TEXT UNIQUE, -- NULL: a document from another publisher
        version TEXT NOT NULL,
        stamp TEXT NOT NULL,
        length INTEGER NOT NULL,
        pieces INTEGER NOT NULL,
        language TEXT,
        average REAL NOT NULL, -- the mean length for its weights
        sent INTEGER NOT NULL -- 0: the engine may have this version, another version, or a part
    ) STRICT;
    CREATE INDEX languages ON documents (language) WHERE path IS NOT NULL;
    CREATE INDEX strangers ON documents (key) WHERE path IS NULL;
    CREATE TABLE counted (key TEXT PRIMARY KEY, terms BLOB NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE terms (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, sent INTEGER NOT NULL) STRICT;
    CREATE INDEX terms_unsent ON terms (id) WHERE n <> sent;
    CREATE TABLE waiting (number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE failed (path TEXT PRIMARY KEY, message TEXT NOT NULL) STRICT;
    PRAGMA user_version = {_VERSION};
"""

Ids = NDArray[np.uint32]


class PublishedState(msgspec.Struct, kw_only=True):
    """`publisher`: the name of this publisher. `clock`, `floor` and `vectors`: how far the changes of the index are
    noted. `is_complete`: all documents have been compared since then. `is_alone`: the engine was empty before, so it
    has only what the ledger knows. Otherwise, `is_swept`: the data of earlier publishers were removed. `model`: the
    address of the model whose vectors are sent. `weighing`: how the weights were made (gnod.shared.weights).
    `documents`, `pieces` and `tokens` are sums over the documents. `change` grows with each change."""

    publisher: str = msgspec.field(default_factory=lambda: uuid.uuid4().hex)
    clock: int = 0
    floor: int = 0
    vectors: int = 0
    is_complete: bool = False
    is_alone: bool = False
    is_swept: bool = False
    model: str | None = None
    weighing: str = ""
    average: float = 0.0
    documents: int = 0
    pieces: int = 0
    tokens: int = 0
    change: int = 0


class SentDocument(NamedTuple):
    """A document that the engine has, or may have. `is_ours`: it belongs to the collection and is not removed yet."""

    key: str
    version: str
    length: int
    pieces: int
    average: float
    is_sent: bool
    is_ours: bool


class QueuedDocument(NamedTuple):
    """A document to send."""

    key: str
    path: str
    version: str
    stamp: str
    length: int
    pieces: int
    language: str | None
    terms: Ids


class Ledger:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = self._open()
        self.state = self._read_state()

    def close(self) -> None:
        self._connection.close()

    def delete(self) -> None:
        """Close and delete the file."""
        self.close()
        _unlink(self._path)

    def reset(self) -> None:
        """Delete everything except the name of the publisher."""
        publisher = self.state.publisher
        self.close()
        _unlink(self._path)
        self._connection = self._open()
        self.state = PublishedState(publisher=publisher)
        self.save()

    def save(self) -> None:
        """Store `state`."""
        with self._connection:
            self._save()

    # Waiting documents

    def wait_for(self, paths: Iterable[str]) -> None:
        """Store documents that may have changed, and `state`."""
        with self._connection:
            self._connection.executemany(
                "INSERT INTO waiting (path) VALUES (?) ON CONFLICT DO NOTHING", ((path,) for path in paths)
            )
            self._save()

    def waiting(self, limit: int) -> list[str]:
        """Return documents that may have changed, in the order in which they were stored."""
        rows = self._connection.execute("SELECT path FROM waiting ORDER BY number LIMIT ?", (limit,))
        return [str(path) for (path,) in rows]

    def count_waiting(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM waiting").get)

    def wait_for_all(self) -> None:
        """Store all documents whose weights have another mean length than `state`, and `state`."""
        with self._connection:
            self._connection.execute(
                "INSERT INTO waiting (path) SELECT path FROM documents WHERE average <> ? AND path IS NOT NULL"
                " ORDER BY path ON CONFLICT DO NOTHING",
                (self.state.average,),
            )
            self._save()

    def forget_weights(self) -> None:
        """Make the publisher send the weights of all documents again."""
        with self._connection:
            self._connection.execute("UPDATE documents SET average = ?", (_UNKNOWN,))
        self.wait_for_all()

    # Documents

    def documents(self, keys: Collection[str]) -> dict[str, SentDocument]:
        rows = self._connection.execute(
            "SELECT key, version, length, pieces, average, sent, path IS NOT NULL FROM documents"
            " WHERE key IN (SELECT value FROM json_each(?))",
            (json_list(keys),),
        )
        return {row[0]: SentDocument(*row[:-2], *map(bool, row[-2:])) for row in rows}

    def stamps(self, after: str, until: str | None) -> dict[str, str]:
        """Return the stamps by path, between two paths. The stamp is "" if the document was not sent completely."""
        rows = self._connection.execute(
            "SELECT path, iif(sent, stamp, '') FROM documents WHERE path > ?1 AND (?2 IS NULL OR path <= ?2)",
            (after, until),
        )
        return dict(rows)

    def strangers(self, limit: int) -> list[str]:
        """Return keys of documents that the engine has but the collection does not."""
        rows = self._connection.execute("SELECT key FROM documents WHERE path IS NULL LIMIT ?", (limit,))
        return [str(key) for (key,) in rows]

    def languages(self) -> list[str]:
        rows = self._connection.execute("SELECT DISTINCT language FROM documents WHERE path IS NOT NULL ORDER BY 1")
        return [str(language) for (language,) in rows if language]

    def is_current(self, key: str, version: str) -> bool:
        found = self._connection.execute("SELECT version FROM documents WHERE key = ? AND sent", (key,)).get
        return bool(found == version)

    def adopt(self, documents: Iterable[tuple[str, str]]) -> None:
        """Store the documents in the engine, from another publisher or an earlier ledger."""
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO documents VALUES (?, NULL, ?, '', 0, 0, NULL, -1, 1)", documents
            )

    def adopt_frequencies(self, frequencies: Iterable[tuple[int, int]]) -> None:
        """Store the frequencies in the engine, so that terms without a document are removed there."""
        with self._connection:
            self._connection.execute("UPDATE terms SET sent = 0")
            self._connection.executemany(
                "INSERT INTO terms VALUES (?, 0, ?) ON CONFLICT DO UPDATE SET sent = excluded.sent", frequencies
            )

    def begin(self, entries: Sequence[QueuedDocument], removed: Collection[str]) -> None:
        """Note the documents that are about to be sent, and the keys that are about to be removed."""
        before = self.documents([*(entry.key for entry in entries), *removed])
        with self._connection:
            old = self._terms([*(entry.key for entry in entries), *removed])
            self._count(old, [entry.terms for entry in entries])
            self._connection.executemany(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
                ((*entry[:-1], self.state.average) for entry in entries),
            )
            self._connection.executemany(
                "INSERT OR REPLACE INTO counted VALUES (?, ?)", ((e.key, _packed(e.terms)) for e in entries)
            )
            self._connection.executemany("DELETE FROM counted WHERE key = ?", ((key,) for key in removed))
            self._connection.executemany(
                "UPDATE documents SET path = NULL, sent = 0, length = 0, pieces = 0 WHERE key = ?",
                ((key,) for key in removed),
            )
            self.state.documents += len(entries) - sum(e.is_ours for e in before.values())
            self.state.pieces += sum(e.pieces for e in entries) - sum(e.pieces for e in before.values())
            self.state.tokens += sum(e.length for e in entries) - sum(e.length for e in before.values())
            self.state.change += 1
            self._save()

    def confirm(
        self, entries: Collection[str], removed: Collection[str], paths: Sequence[str], failed: dict[str, str]
    ) -> None:
        """Note the keys of documents that were sent or removed. `paths` no longer wait. `failed`: the reasons of the
        engine's refusals, by path."""
        with self._connection:
            self._connection.executemany("UPDATE documents SET sent = 1 WHERE key = ?", ((key,) for key in entries))
            self._connection.executemany("DELETE FROM documents WHERE key = ?", ((key,) for key in removed))
            self._connection.executemany("DELETE FROM waiting WHERE path = ?", ((path,) for path in paths))
            self._connection.executemany("DELETE FROM failed WHERE path = ?", ((path,) for path in paths))
            self._connection.executemany("INSERT INTO failed VALUES (?, ?)", failed.items())

    def reweighed(self, keys: Collection[str]) -> None:
        """Note that the weights of documents were sent."""
        with self._connection:
            self._connection.executemany(
                "UPDATE documents SET average = ? WHERE key = ?", ((self.state.average, key) for key in keys)
            )

    def restamp(self, stamps: Collection[tuple[str, str]]) -> None:
        """Store the new stamps, by key, of documents that did not change."""
        with self._connection:
            self._connection.executemany("UPDATE documents SET stamp = ?2 WHERE key = ?1", stamps)

    def failures(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT path, message FROM failed ORDER BY path"))

    # Frequencies

    def unsent_frequencies(self, limit: int) -> dict[int, int]:
        return dict(self._connection.execute("SELECT id, n FROM terms WHERE n <> sent ORDER BY id LIMIT ?", (limit,)))

    def attempt_frequencies(self, frequencies: Iterable[int]) -> None:
        """Note that these are about to be sent. Until they are confirmed, the numbers in the engine are unknown."""
        with self._connection:
            self._connection.executemany(
                "UPDATE terms SET sent = ? WHERE id = ?", ((_UNKNOWN, id_) for id_ in frequencies)
            )

    def confirm_frequencies(self, frequencies: dict[int, int]) -> None:
        with self._connection:
            self._connection.executemany("UPDATE terms SET sent = ?2 WHERE id = ?1", frequencies.items())
            self._connection.executemany(
                "DELETE FROM terms WHERE id = ? AND n = 0 AND sent = 0", ((id_,) for id_ in frequencies)
            )

    def _terms(self, keys: Collection[str]) -> list[Ids]:
        rows = self._connection.execute(
            "SELECT terms FROM counted WHERE key IN (SELECT value FROM json_each(?))", (json_list(keys),)
        )
        return [_unpacked(terms) for (terms,) in rows]

    def _count(self, old: Sequence[Ids], new: Sequence[Ids]) -> None:
        ids = np.concatenate([*new, *old]) if new or old else np.empty(0, np.uint32)
        signs = np.ones(len(ids), np.int64)
        signs[sum(map(len, new)) :] = -1
        unique, places = np.unique(ids, return_inverse=True)
        sums = np.bincount(places, signs, len(unique)).astype(np.int64)
        changed = sums != 0
        self._connection.executemany(
            "INSERT INTO terms VALUES (?1, ?2, 0) ON CONFLICT DO UPDATE SET n = n + ?2",
            zip(unique[changed].tolist(), sums[changed].tolist(), strict=True),
        )

    def _save(self) -> None:
        self._connection.execute("UPDATE state SET value = ?", (msgspec.json.encode(self.state).decode(),))

    def _read_state(self) -> PublishedState:
        return msgspec.json.decode(str(self._connection.execute("SELECT value FROM state").get), type=PublishedState)

    def _open(self) -> apsw.Connection:
        """Open the file. Replace an unusable file with a new one."""
        try:
            return self._opened()
        except (apsw.Error, msgspec.MsgspecError):
            _unlink(self._path)
        try:
            return self._opened()
        except apsw.Error as error:
            raise StorageFailed(f"{self._path} cannot be written: {error}") from error

    def _opened(self) -> apsw.Connection:
        connection = apsw.Connection(str(self._path))
        try:
            self._path.chmod(0o600)
            connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            version = int(connection.pragma("user_version"))
            if version == 0:
                with connection:
                    connection.execute(_SCHEMA)
                    connection.execute(
                        "INSERT INTO state VALUES (?)", (msgspec.json.encode(PublishedState()).decode(),)
                    )
            elif version != _VERSION:
                raise apsw.CorruptError("it has another version")
            msgspec.json.decode(str(connection.execute("SELECT value FROM state").get), type=PublishedState)
        except BaseException:
            connection.close()
            raise
        return connection


def _packed(ids: Ids) -> bytes:
    """Compress ascending numbers to a few bits each."""
    return zlib.compress(np.diff(ids, prepend=np.uint32(0)).astype("<u4").tobytes(), 1)


def _unpacked(data: bytes) -> Ids:
    return np.cumsum(np.frombuffer(zlib.decompress(data), "<u4"), dtype=np.uint32)


def _unlink(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()
