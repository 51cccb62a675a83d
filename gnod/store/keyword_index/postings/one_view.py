"""Reads that see one state of the database and of the postings. Opens no connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gnod.store.connection import Connection
from gnod.store.keyword_index.postings import attachment
from gnod.store.keyword_index.postings.files import Damaged

T = TypeVar("T")


def in_one_view(connection: Connection, work: Callable[[Connection], T]) -> T:
    """Run a read in the transaction that is open; the postings are looked up once. Where these turn out to be damaged,
    it runs again without them."""
    try:
        with attachment.one_snapshot(connection):
            return work(connection)
    except (Damaged, IndexError):
        if not attachment.doubt(connection):
            raise
        with attachment.without_postings(connection):
            return work(connection)


def in_snapshot(connection: Connection, work: Callable[[Connection], T]) -> T:
    """Run a read that sees one state of the database."""
    connection.execute("BEGIN")
    try:
        return in_one_view(connection, work)
    finally:
        # An interrupt may have ended the transaction.
        if connection.in_transaction:
            connection.execute("COMMIT")
