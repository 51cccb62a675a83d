"""What is counted for the status."""

from __future__ import annotations

from gnod.store.connection import Connection
from gnod.store.tables import counts, failures
from gnod.store.tables.counts import CollectionCounts
from tests.small_index import SmallIndex


def test_counts_come_from_one_index_alone(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "zebra", "b.md": "zebra", "c.md": "lion"})
    small_index.remove("c.md")
    assert small_index.database.submit_read(counts.of_collections).result() == {"notes": CollectionCounts(2, 2, 2)}
    plan = small_index.database.submit_read(lambda c: c.execute(f"EXPLAIN QUERY PLAN {counts.SELECT}").fetchall())
    assert "COVERING INDEX documents_counted" in str(plan.result())


def test_failures_are_counted_by_kind(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "zebra"})

    def fail(connection: Connection) -> None:
        for number in range(5):
            kind = "empty" if number < 2 else "timeout"
            failures.note(connection, 1, f"{number}.pdf", stage="convert", kind=kind, message="", stat=None, now=1.0)

    small_index.database.submit_write(fail).result()
    found = small_index.database.submit_read(failures.by_kind).result()
    assert found == {"notes": {"empty": 2, "timeout": 3}}
