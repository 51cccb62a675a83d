"""Quarantine a damaged or outdated index: rename it, and create a new one in its place.

Such an index is never repaired, because it can be rebuilt from the folders and the config. Only its vectors, which take
long to compute, are copied if they are readable and valid. See docs/adr/0021-damaged-index.md. An index is outdated if
a version of gnod before the first release made it (docs/adr/0064-first-schema.md).
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

import apsw
import msgspec
import numpy as np

from gnod.errors import DatabaseCorrupt
from gnod.store import packing
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.faults import files_of
from gnod.store.keyword_index.columns import column_sizes
from gnod.store.vectors import vectors
from gnod.store.vectors.vector_rows import DTYPE

_KEPT = 3
_OFTEN_WITHIN_S = 3600.0
_NORM_TOLERANCE = 1e-3
_LARGEST_GAP = 2**40  # more than there are vectors
Reason = Literal["damaged", "outdated"]
_log = logging.getLogger(__name__)


class _Piece(NamedTuple):
    """A row of `content_vectors`."""

    embed_hash: str
    start: int
    end: int | None
    line: int
    last_line: int | None
    embedding: bytes


def find(connection: Connection) -> str | None:
    """Check every page and entry of an index. Returns the first fault, or None."""
    # This query refreshes the connection's cache of the full-text table. Without it, the check could report damage
    # after a write by another connection.
    connection.execute("SELECT rowid FROM documents_fts WHERE documents_fts MATCH 'x' LIMIT 1").fetchall()
    verdict = str(connection.execute("PRAGMA integrity_check(1)").get)
    # A check that could not run is not damage.
    if verdict != "ok" and not verdict.startswith("unable to validate"):
        return verdict
    return "words are missing from the full-text table" if has_lost_words(connection) else None


def has_lost_words(connection: Connection) -> bool:
    """Tell whether the full-text index has fewer words than were stored. Needs one snapshot. Raises apsw.Error.

    SQLite's integrity check does not detect this: a list of segments is valid even if some are missing, and FTS5 does
    not store the text (`content = ''`). But FTS5 stores the number of words of each document. Counting the words of the
    index takes a fifth of the time of that check.
    """
    kept = "SELECT sz FROM documents_fts_docsize WHERE typeof(sz) = 'blob'"
    expected = sum(sum(column_sizes(sizes)) for (sizes,) in connection.execute(kept))
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab ('main', 'documents_fts', 'row')")
    try:
        return int(connection.execute("SELECT total(cnt) FROM temp.words").get) != expected
    finally:
        connection.execute("DROP TABLE IF EXISTS temp.words")  # an interrupt may have rolled it back


def quarantined(path: Path) -> list[tuple[Path, Reason]]:
    """Return the quarantined databases beside `path` by reason, newest first."""
    return [(file, reason) for reason in get_args(Reason) for file in _files(path, reason)]


def delete_quarantined(path: Path) -> None:
    for reason in get_args(Reason):
        _delete(path, reason)


def happens_too_often(path: Path) -> bool:
    """Return whether this is the fourth time within an hour. If so, the disk or the memory may be failing."""
    recent = 0
    for aside in _files(path, "damaged"):
        with contextlib.suppress(OSError):
            recent += abs(time.time() - aside.stat().st_ctime) < _OFTEN_WITHIN_S
    return recent >= _KEPT


def too_often(path: Path) -> str:
    return (
        f"the index {path} was damaged {_KEPT + 1} times within an hour: the disk or the memory of this machine may be "
        "failing. Check them, then delete the .damaged files beside it and run `gnoctl daemon restart`"
    )


def renew(path: Path, reason: Reason = "damaged") -> None:
    """Quarantine a closed database, and create a new one with the vectors that can be saved.

    Raises DatabaseCorrupt if the index is damaged too often, and the errors of opening a database.
    """
    if reason == "damaged" and happens_too_often(path):
        raise DatabaseCorrupt(too_often(path))
    # Delete before renaming. Files are sorted by name, so a second file of the same second could seem to be the oldest.
    _delete(path, reason, _KEPT - 1)
    aside = quarantine(path, reason)
    _log.error("index.quarantined", extra={"fields": {"reason": reason, "to": str(aside)}})
    database = Database(path)
    try:
        database.submit_write(lambda connection: _carry_over(aside, connection)).result()
    except Exception:  # the old file is damaged; the new index works without its vectors
        _log.exception("index.nothing_saved")
    finally:
        database.close()


def quarantine(path: Path, reason: Reason) -> Path:
    """Rename a database, its write-ahead log first: a new database must never find the log of another one."""
    stamp = datetime.now().astimezone().strftime("%Y%m%dT%H%M%S")
    aside = path.with_name(f"{path.name}.{reason}-{stamp}")
    number = 1
    while any(file.exists() for file in files_of(aside)):
        number += 1
        aside = path.with_name(f"{path.name}.{reason}-{stamp}-{number}")
    _, wal, shm = files_of(path)
    with contextlib.suppress(FileNotFoundError):
        wal.rename(files_of(aside)[1])
    shm.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
    return aside


def _files(path: Path, reason: Reason) -> list[Path]:
    """Return the databases that were quarantined for this reason, newest first."""
    found = [p for p in path.parent.glob(f"{path.name}.{reason}-*") if not p.name.endswith(("-wal", "-shm"))]
    return sorted(found, key=lambda p: p.name, reverse=True)


def _delete(path: Path, reason: Reason, kept: int = 0) -> None:
    """Delete all but the newest `kept` databases."""
    for old in _files(path, reason)[kept:]:
        for file in files_of(old):
            file.unlink(missing_ok=True)


def _carry_over(aside: Path, connection: Connection) -> None:
    """Copy the readable runtime flags and vectors from a quarantined database."""
    damaged = Connection(str(aside), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        with contextlib.suppress(apsw.Error):
            if vectors.is_embedding_paused(damaged):
                vectors.pause_embedding(connection)
        saved = 0
        for model_id, uri, dimensions in _models(damaged):
            connection.execute("INSERT INTO embedding_models (uri, dimensions) VALUES (?, ?)", (uri, dimensions))
            ours = connection.last_insert_rowid()
            for piece in _whole_chunks(_pieces(damaged, model_id, dimensions)):
                connection.execute(
                    "INSERT INTO content_vectors (model_id, embed_hash, start, end, line, last_line, embedding)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (ours, *piece),
                )
                saved += 1
    finally:
        damaged.close()
    _log.info("index.saved", extra={"fields": {"vectors": saved}})


def _models(damaged: Connection) -> list[tuple[int, str, int]]:
    """Return the ids, addresses and dimensions of the models."""
    try:
        rows = damaged.execute("SELECT id, uri, dimensions FROM embedding_models WHERE dimensions > 0").fetchall()
        return [msgspec.convert(row, tuple[int, str, int]) for row in rows]
    except (apsw.Error, UnicodeDecodeError, msgspec.ValidationError):
        return []


def _pieces(damaged: Connection, model_id: int, dimensions: int) -> Iterator[_Piece]:
    """Yield the valid vectors in order of arrival. Rows that cannot be read are skipped in growing steps."""
    at, gap = 0, 0
    while gap < _LARGEST_GAP:
        try:
            for number, *values in damaged.execute(
                "SELECT id, embed_hash, start, end, line, last_line, embedding FROM content_vectors NOT INDEXED"
                " WHERE id > ? AND model_id = ? AND NOT is_brief ORDER BY id",
                (at + gap, model_id),
            ):
                at, gap = cast(int, number), 0
                with contextlib.suppress(msgspec.ValidationError, ValueError):
                    piece = msgspec.convert(values, _Piece)
                    piece = piece._replace(embed_hash=packing.short_key(piece.embed_hash))
                    if _is_vector(piece.embedding, dimensions):
                        yield piece
        except (apsw.Error, UnicodeDecodeError):
            gap = max(1, gap * 2)
        else:
            return


def _is_vector(embedding: bytes, dimensions: int) -> bool:
    """Tell whether bytes are a stored vector. Stored vectors have length 1; random bytes do not."""
    if len(embedding) != dimensions * DTYPE.itemsize:
        return False
    with np.errstate(invalid="ignore"):  # random bytes may be a signalling NaN
        values = np.frombuffer(embedding, DTYPE).astype(np.float64)
    return bool(np.isfinite(values).all()) and abs(float(np.linalg.norm(values)) - 1) < _NORM_TOLERANCE


def _whole_chunks(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """Yield the pieces of complete chunks only, because an incomplete chunk would count as embedded."""
    for _, group in groupby(pieces, key=lambda piece: piece.embed_hash):
        chunk = list(group)
        ends = [0, *(piece.end for piece in chunk)]
        if ends[-1] is None and [piece.start for piece in chunk] == ends[:-1]:
            yield from chunk
