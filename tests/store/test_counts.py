"""Counts for the status, and the activity of the index over time."""

from __future__ import annotations

from gnod.store.connection import Connection
from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from gnod.store.tables import counts, failures
from gnod.store.tables.counts import Activity, CollectionCounts
from tests.small_index import SmallIndex, prepared


def test_counts_come_from_one_index_alone(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "zebra", "b.md": "zebra", "c.md": "lion"})
    small_index.remove("c.md")
    assert counts.of_collections(small_index.reader) == {"notes": CollectionCounts(2, 2, 2)}
    plan = small_index.database.submit_read(lambda c: c.execute(f"EXPLAIN QUERY PLAN {counts.SELECT}").fetchall())
    assert "COVERING INDEX documents_counted" in str(plan.result())


def test_failures_are_counted_by_kind(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "zebra"})

    def fail(connection: Connection) -> None:
        for number in range(5):
            kind = "empty" if number < 2 else "timeout"
            failures.note(connection, 1, f"{number}.pdf", stage="convert", kind=kind, message="", stat=None, now=1.0)

    small_index.write(fail)
    found = failures.by_kind(small_index.reader)
    assert found == {"notes": {"empty": 2, "timeout": 3}}


HOUR = 3600


def test_files_count_at_their_last_change(small_index: SmallIndex) -> None:
    small_index.write(_fill)

    def read(connection: Connection) -> list[Activity]:
        return counts.activity(connection, 100.5 * HOUR, 3, HOUR)

    assert small_index.database.submit_read(read).result() == [
        Activity(98 * HOUR, 1, 0, 0),
        Activity(99 * HOUR, 0, 1, 1),
        Activity(100 * HOUR, 1, 0, 0),
    ]


def _fill(connection: Connection) -> None:
    collections.mirror(connection, [Folder("notes", "/notes", None)], [])
    id_ = collections.id_of(connection, "notes")
    for path, hours in {"old.md": 97.9, "a.md": 98.0, "b.md": 98.5, "gone.md": 98.1}.items():
        writing.put(connection, id_, path, prepared(path, path), now=hours * HOUR)
    writing.put(connection, id_, "b.md", prepared("new", "b.md"), now=100.4 * HOUR)
    writing.remove(connection, id_, ["gone.md"], now=99.5 * HOUR)
    for path, kind in {"bad.pdf": "corrupt", "skipped.bin": "binary"}.items():
        failures.note(connection, id_, path, stage="convert", kind=kind, message="", stat=None, now=99.1 * HOUR)
