"""How many files were indexed, removed and failed over time. A file counts once, at its last change."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gnod.store.connection import Connection
from gnod.store.tables.failures import FAILED


class Activity(NamedTuple):
    """The files that changed from `start` on, in seconds since 1970."""

    start: float
    indexed: int
    removed: int
    failed: int


_QUERIES = (
    "SELECT CAST(indexed_at / :bucket AS INTEGER), count(*) FROM documents"
    " WHERE active AND indexed_at >= :since GROUP BY 1",
    "SELECT CAST(removed_at / :bucket AS INTEGER), count(*) FROM documents"
    " WHERE NOT active AND removed_at >= :since GROUP BY 1",
    f"SELECT CAST(last_at / :bucket AS INTEGER), count(*) FROM ingest_errors"
    f" WHERE {FAILED} AND last_at >= :since GROUP BY 1",
)


def read(connection: Connection, now: float, count: int, bucket_s: int) -> list[Activity]:
    """Return the last `count` buckets, of which the last one is not over yet. They begin at multiples of `bucket_s`."""
    last = int(now // bucket_s)
    first = last - count + 1
    values = {"bucket": float(bucket_s), "since": float(first * bucket_s)}
    indexed, removed, failed = (
        Counter({int(str(number)): int(str(files)) for number, files in connection.execute(query, values)})
        for query in _QUERIES
    )
    return [
        Activity(number * bucket_s, indexed[number], removed[number], failed[number])
        for number in range(first, last + 1)
    ]
