"""What became of each path, in order, by a clock that a restart does not set back.

The clock ticks in the transaction that changes a document or a failure (triggers of the schema), so whoever has read
up to some clock has seen all that was committed up to there, even after a crash. A path has one row, at its last
change: read are not all the states that it went through, but what it is now.

Rows of what is gone for good are dropped now and then, and the floor rises: below it one has to begin anew.

A power cut may take the last commits back, and a backup that is restored takes many: who was told of them knows a clock
that was never reached here, and has to begin anew as well. So each run of the daemon lets the clock leap over all that
the one before may have told.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from gnod.store.database import Connection
from gnod.store.records import SKIP_KINDS

# More than is ever lost at once, where the time of day has gone back.
_LEAST_LEAP = 1_000_000
# With so many starts of the daemon behind him, a subscriber begins anew.
_KEPT_LEAPS = 100


class Position(NamedTuple):
    """How far somebody knows the changes. `floor`: where the floor was when he began anew; nothing is missing from what
    is told since then, although its clocks may be lower."""

    clock: int
    floor: int = 0


class Change(NamedTuple):
    """A path that changed at `clock`, as it is now: with a `kind` it failed, else with a `docid` it is indexed, else it
    is gone. One that failed and has a `docid` is found as it was before."""

    clock: int
    collection: str
    path: str
    docid: str | None
    title: str | None
    kind: str | None
    message: str | None


class Page(NamedTuple):
    """Changes in order. `position` is after them; `more` follow there. `is_reset`: the reader had missed some that are
    no longer here; this page begins with the first there is, and what it does not name is not there."""

    position: Position
    is_reset: bool
    changes: list[Change]
    more: bool


_SKIPS = ", ".join(f"'{kind}'" for kind in sorted(SKIP_KINDS))
_NOW = (
    " LEFT JOIN collections c ON c.name = h.collection"
    " LEFT JOIN documents d ON d.collection_id = c.id AND d.path = h.path AND d.active"
    " LEFT JOIN ingest_errors e ON e.collection_id = c.id AND e.path = h.path"
    f" AND e.kind NOT IN ({_SKIPS})"
)


def leap(connection: Connection) -> None:
    """Begin a run of the clock, above what any run before it can have told: at the time of day in microseconds. For
    whoever opens the database, before anything else is written."""
    last = present(connection).clock
    first = max(last + _LEAST_LEAP, time.time_ns() // 1000)
    leaps = [*_leaps(connection), (last, first)]
    for _, until in leaps[:-_KEPT_LEAPS]:
        connection.execute("UPDATE changes_floor SET clock = max(clock, ?)", (until,))
    connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'changes'", (first,))
    connection.execute(
        "INSERT OR REPLACE INTO schema_meta VALUES ('leaps', ?)",
        (msgspec.json.encode(leaps[-_KEPT_LEAPS:]).decode(),),
    )


def present(connection: Connection) -> Position:
    """Return the position of somebody who knows everything up to now."""
    clock = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").get
    return Position(int(clock))


def catch_up(connection: Connection, position: Position) -> Position:
    """Return the same position, or the very beginning where some changes after it can no longer be told.

    A clock of the future is one of another database, and one that was leapt over is one of commits that were lost.
    """
    floor = int(connection.execute("SELECT clock FROM changes_floor").get)
    has_missed = (
        max(position.clock, position.floor) < floor
        or position.clock > present(connection).clock
        or any(last < position.clock < first for last, first in _leaps(connection))
    )
    return Position(0, floor) if has_missed else position


def read(connection: Connection, position: Position, collections: Collection[str], limit: int) -> Page:
    """Return what changed after `position` in these collections (all when empty), at most `limit` paths."""
    begin = catch_up(connection, position)
    rows = connection.execute(
        f"SELECT h.clock, h.collection, h.path, d.docid, d.title, e.kind, e.message FROM changes h {_NOW}"
        " WHERE h.clock > ?1 AND (?2 = '[]' OR h.collection IN (SELECT value FROM json_each(?2)))"
        " ORDER BY h.clock LIMIT ?3",
        (begin.clock, msgspec.json.encode(sorted(collections)).decode(), limit + 1),
    )
    changes = [Change(*row) for row in rows]
    more = len(changes) > limit
    clock = changes[limit - 1].clock if more else present(connection).clock
    return Page(Position(clock, begin.floor), begin != position, changes[:limit], more)


def begin_anew(connection: Connection) -> None:
    """Have everybody begin anew who knows the clock of the database in whose place this one comes.

    A leap alone would miss whoever was reading page after page: what he has read up to a low clock was true in that
    database, where a path may have stood at a higher clock than it stands at here.
    """
    leap(connection)
    connection.execute("UPDATE changes_floor SET clock = (SELECT seq FROM sqlite_sequence WHERE name = 'changes')")


def prune(connection: Connection) -> None:
    """Drop the rows of paths that are neither indexed nor failed any more. The floor rises to the last of them."""
    gone = f"SELECT h.clock FROM changes h {_NOW} WHERE d.id IS NULL AND e.path IS NULL"
    connection.execute(f"UPDATE changes_floor SET clock = max(clock, (SELECT coalesce(max(clock), 0) FROM ({gone})))")
    connection.execute(f"DELETE FROM changes WHERE clock IN ({gone})")


def _leaps(connection: Connection) -> list[tuple[int, int]]:
    """Return (from, to) of each leap of the clock that is remembered."""
    row = connection.execute("SELECT value FROM schema_meta WHERE key = 'leaps'").fetchone()
    return msgspec.json.decode(row[0], type=list[tuple[int, int]]) if row else []
