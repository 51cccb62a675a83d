"""Read the last change of each path, ordered by a clock that never goes back.

Triggers advance the clock in the transaction that changes a document or a failure. A reader of all changes up to a
clock has therefore seen everything committed up to it, even after a crash. A path has one row, with its current state.

Rows of removed paths are deleted from time to time, and the floor rises. A reader below the floor starts over.

A power cut may lose the last commits, and a restored backup may lose many. A reader that saw them has a clock that this
database never reached, and must also start over. So each run of the daemon advances the clock beyond the previous run.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from gnod.store.connection import Connection, json_list
from gnod.store.tables.records import SKIP_KINDS

# The minimum leap, in case the system clock goes back. Fewer changes than this are lost at once.
_LEAST_LEAP = 1_000_000
# Keep this many leaps. A reader that missed more starts of the daemon starts over.
_KEPT_LEAPS = 100


class Position(NamedTuple):
    """How far a reader has read the changes. `floor`: the floor when the reader started over. Nothing is missing since
    then, although clocks may be lower."""

    clock: int
    floor: int = 0


class IndexChange(NamedTuple):
    """The current state of a path that changed at `clock`. It failed if it has a `kind`; otherwise, it is indexed if it
    has a `docid`, and removed if not. With both, the version before the failure is indexed."""

    clock: int
    collection: str
    path: str
    docid: str | None
    title: str | None
    kind: str | None
    message: str | None


class ChangePage(NamedTuple):
    """Changes in order. `position` is the position after them; `more`: more changes follow there. `is_reset`: the
    reader missed deleted changes, so it starts over with this page."""

    position: Position
    is_reset: bool
    changes: list[IndexChange]
    more: bool


_SKIPS = ", ".join(f"'{kind}'" for kind in sorted(SKIP_KINDS))
_NOW = (
    " LEFT JOIN collections c ON c.name = h.collection"
    " LEFT JOIN documents d ON d.collection_id = c.id AND d.path = h.path AND d.active"
    " LEFT JOIN ingest_errors e ON e.collection_id = c.id AND e.path = h.path"
    f" AND e.kind NOT IN ({_SKIPS})"
)


def leap(connection: Connection) -> None:
    """Advance the clock beyond any earlier run, to the time in microseconds. Call this after opening the database and
    before any other write."""
    last = present(connection).clock
    first = max(last + _LEAST_LEAP, time.time_ns() // 1000)
    leaps = [*_leaps(connection), (last, first)]
    for _, until in leaps[:-_KEPT_LEAPS]:
        connection.execute("UPDATE changes_floor SET clock = max(clock, ?)", (until,))
    connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'changes'", (first,))
    connection.execute(
        "INSERT OR REPLACE INTO schema_meta VALUES ('leaps', ?)",
        (json_list(leaps[-_KEPT_LEAPS:]),),
    )


def present(connection: Connection) -> Position:
    """Return the position after all changes so far."""
    clock = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").get
    return Position(int(clock))


def catch_up(connection: Connection, position: Position) -> Position:
    """Return the same position, or the beginning if changes after it were deleted.

    A clock in the future comes from another database; a clock inside a leap comes from lost commits.
    """
    floor = int(connection.execute("SELECT clock FROM changes_floor").get)
    has_missed = (
        max(position.clock, position.floor) < floor
        or position.clock > present(connection).clock
        or any(last < position.clock < first for last, first in _leaps(connection))
    )
    return Position(0, floor) if has_missed else position


def read(connection: Connection, position: Position, collections: Collection[str], limit: int) -> ChangePage:
    """Return at most `limit` paths that changed after `position` in these collections (all if empty)."""
    begin = catch_up(connection, position)
    rows = connection.execute(
        f"SELECT h.clock, h.collection, h.path, d.docid, d.title, e.kind, e.message FROM changes h {_NOW}"
        " WHERE h.clock > ?1 AND (?2 = '[]' OR h.collection IN (SELECT value FROM json_each(?2)))"
        " ORDER BY h.clock LIMIT ?3",
        (begin.clock, json_list(sorted(collections)), limit + 1),
    )
    changes = [IndexChange(*row) for row in rows]
    more = len(changes) > limit
    clock = changes[limit - 1].clock if more else present(connection).clock
    return ChangePage(Position(clock, begin.floor), begin != position, changes[:limit], more)


def make_readers_start_over(connection: Connection) -> None:
    """Make all readers of the replaced database start over.

    A leap is not enough for a reader between two pages: a path may have had a higher clock in the replaced database.
    """
    leap(connection)
    connection.execute("UPDATE changes_floor SET clock = (SELECT seq FROM sqlite_sequence WHERE name = 'changes')")


def prune(connection: Connection) -> None:
    """Delete the rows of paths that are neither indexed nor failed. The floor rises to the last of them."""
    gone = f"SELECT h.clock FROM changes h {_NOW} WHERE d.id IS NULL AND e.path IS NULL"
    connection.execute(f"UPDATE changes_floor SET clock = max(clock, (SELECT coalesce(max(clock), 0) FROM ({gone})))")
    connection.execute(f"DELETE FROM changes WHERE clock IN ({gone})")


def _leaps(connection: Connection) -> list[tuple[int, int]]:
    """Return (from, to) of the recorded leaps of the clock."""
    row = connection.execute("SELECT value FROM schema_meta WHERE key = 'leaps'").fetchone()
    return msgspec.json.decode(row[0], type=list[tuple[int, int]]) if row else []
