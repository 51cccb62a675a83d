"""Which view a connection reads: the newest postings that its snapshot allows, and what changed after them.

Both must agree with the full-text table about the number of documents and their lengths. Otherwise the view has only
what the table says. Must not depend on filters or the query language.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from gnod.analysis.stemming import stemmer_number
from gnod.store.connection import Connection
from gnod.store.keyword_index.columns import column_sizes, lengths
from gnod.store.keyword_index.postings.contents import ordered_docid
from gnod.store.keyword_index.postings.files import Damaged
from gnod.store.keyword_index.postings.segment import Segment
from gnod.store.keyword_index.postings.versions import Postings, Version
from gnod.store.keyword_index.postings.view import View
from gnod.store.tables import changes
from gnod.store.tables.changes import Position

_AVERAGES = 1
# Documents, with the records of their lengths where the full-text table has them.
_SELECT = "SELECT d.id, d.docid, d.collection_id, d.language, s.sz FROM"
_SIZES = "LEFT JOIN documents_fts_docsize s ON s.id = d.id AND typeof(s.sz) = 'blob'"
_ALL = f"{_SELECT} documents d {_SIZES} WHERE d.active"
_THESE = f"{_SELECT} json_each(?) wanted CROSS JOIN documents d ON d.id = wanted.value {_SIZES}"
# The order is fixed, because SQLite would read all changes of each collection: 40 ms for a million.
_CHANGED = (
    f"{_SELECT} changes h CROSS JOIN collections c ON c.name = h.collection"
    f" CROSS JOIN documents d ON d.collection_id = c.id AND d.path = h.path {_SIZES} WHERE h.clock > ?"
)

T = TypeVar("T")


@dataclass
class _ViewReader:
    """`postings`: None: the connection reads the full-text table alone. `kept`: the view that was used last, its clock,
    and the version that it reads: segments are merged without a change of the database. `seen`: the view of the
    snapshot that is read now; `is_one`: there is a snapshot."""

    postings: Postings | None = None
    kept: tuple[int, Version | None, View] | None = None
    seen: View | None = None
    is_one: bool = False


_readers: WeakKeyDictionary[Connection, _ViewReader] = WeakKeyDictionary()


def attach(connection: Connection, postings: Postings | None) -> None:
    """Let the connection, which must be a reader, use postings."""
    _readers[connection] = _ViewReader(postings)


def view_of(connection: Connection) -> View:
    """Return the view of the connection's snapshot."""
    reader = _readers.setdefault(connection, _ViewReader())
    if reader.seen is not None:
        return reader.seen
    clock = changes.present(connection).clock
    version = reader.postings.up_to(clock) if reader.postings else None
    if reader.kept is None or reader.kept[0] != clock or reader.kept[1] is not version:
        reader.kept = clock, version, _view(connection, version, clock)
    if reader.is_one:
        reader.seen = reader.kept[2]
    return reader.kept[2]


def in_one_view(connection: Connection, work: Callable[[Connection], T]) -> T:
    """Run a read in the transaction that is open; the postings are looked up once. Where these turn out to be damaged,
    it runs again without them."""
    reader = _readers.setdefault(connection, _ViewReader())
    try:
        with _one(reader):
            return work(connection)
    except (Damaged, IndexError):
        postings = reader.postings
        if postings is None or not postings.doubt():
            raise
        attach(connection, None)
        try:
            with _one(_readers[connection]):
                return work(connection)
        finally:
            attach(connection, postings)


def in_snapshot(connection: Connection, work: Callable[[Connection], T]) -> T:
    """Run a read that sees one state of the database."""
    connection.execute("BEGIN")
    try:
        return in_one_view(connection, work)
    finally:
        # An interrupt may have ended the transaction.
        if connection.in_transaction:
            connection.execute("COMMIT")


@contextmanager
def sample(connection: Connection, ids: Collection[int], mean: float) -> Iterator[None]:
    """Let keyword searches meanwhile see only these documents. They are scored as a part of others that are not here:
    `mean` is the mean length of all."""
    before = _readers.get(connection, _ViewReader())
    listed = msgspec.json.encode(sorted(ids)).decode()
    view = View(connection, [], _segment_of(list(connection.execute(_THESE, (listed,)))), mean=mean)
    _readers[connection] = _ViewReader(seen=view, is_one=True)
    try:
        yield
    finally:
        _readers[connection] = before


def totals(connection: Connection) -> tuple[int, int]:
    """Return the number of documents in the full-text table, and of their terms."""
    record = connection.execute("SELECT block FROM documents_fts_data WHERE id = ?", (_AVERAGES,)).get
    rows, *lengths = column_sizes(record) if record else (0,)
    return rows, sum(lengths)


@contextmanager
def _one(reader: _ViewReader) -> Iterator[None]:
    """Let all reads meanwhile use the same view: they are in one transaction."""
    before, reader.is_one = (reader.seen, reader.is_one), True
    try:
        yield
    finally:
        if reader.seen is not None and not before[1]:
            reader.seen.forget()
        reader.seen, reader.is_one = before


def _view(connection: Connection, version: Version | None, clock: int) -> View:
    before = Position(version.clock, version.floor) if version else None
    if version and before and changes.catch_up(connection, before) == before:
        changed = list(connection.execute(_CHANGED, (version.clock,))) if version.clock < clock else []
        touched = np.array(sorted(id_ for id_, *_ in changed), np.int64)
        parts = [part.without(touched) for part in version.parts] if changed else version.parts
        view = View(connection, parts, _segment_of(changed))
        if (view.size, view.length) == totals(connection):
            return view
    return View(connection, [], _segment_of(list(connection.execute(_ALL))), only_rest=False)


def _segment_of(rows: Sequence[tuple[Any, ...]]) -> Segment:
    """Return the documents of rows that are in the full-text table, as a segment without postings: that table has
    them."""
    there = sorted(row for row in rows if row[-1])
    ids, docids, collections, languages, records = zip(*there, strict=True) if there else [()] * 5
    of_all, of_titles = lengths(records)
    return Segment.of_documents(
        {
            "ids": np.array(ids, np.int64),
            "docids": np.array([ordered_docid(docid) for docid in docids], np.int64),
            "collections": np.array(collections, np.int64),
            "stemmers": np.array([stemmer_number(language) for language in languages], np.int64),
            "lengths": of_all,
            "titles": of_titles,
        }
    )
