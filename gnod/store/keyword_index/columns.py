"""Read FTS5's tables: the order of columns, the records of sizes (in terms), and how often a document has a phrase.

FTS5 needs two more bytes per document for a word outside the first column. Nearly all words are in the body, so that is
the first column. Everywhere else, weights and counts are in the order of `Terms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from struct import Struct
from weakref import WeakKeyDictionary

import apsw
import numpy as np
from numpy.typing import NDArray

from gnod.store.connection import Connection, json_list

# The positions of path, title and body among the columns. The positions of the columns in `Terms` are the same.
ORDER = (2, 1, 0)
BODY, TITLE = 0, 1
_MOST_BYTES = 9  # the length of a varint; its last byte has eight bits
# Up to this many documents are looked up individually, which takes 30 µs each. For more documents, all occurrences of a
# phrase are read, which takes 1 µs for each document with the phrase.
FEW = 50
# Packs a row id, and how often each column of the row has a phrase.
_PACK = Struct(f"=q{len(ORDER)}I").pack
_OF_ROW = np.dtype([("id", np.int64), ("counts", np.uint32, len(ORDER))])
# Connections that have the SQL function note_counts, and the rows that it has noted.
_noted: WeakKeyDictionary[Connection, list[bytes]] = WeakKeyDictionary()
# The id of the record with the totals.
_AVERAGES = 1


def column_sizes(record: bytes) -> Iterator[int]:
    """Yield the number of terms in each column, from a record of documents_fts_docsize (SQLite's varints)."""
    number, length = 0, 0
    for byte in record:
        length += 1
        if length == _MOST_BYTES or byte < 0x80:
            yield number << 8 | byte if length == _MOST_BYTES else number << 7 | byte
            number, length = 0, 0
        else:
            number = number << 7 | byte & 0x7F


def lengths(records: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of terms in all columns together, and in the title, from the records of many documents."""
    data = np.frombuffer(b"".join(records), np.uint8)
    # The value of a byte depends on its distance from the last byte of its number.
    last = np.flatnonzero(data < 0x80)
    at = np.arange(len(data))
    column = last.searchsorted(at)
    digits = last[column.clip(max=len(last) - 1)] - at if len(last) else 0 * at
    values = (data & 0x7F) * 128.0 ** digits.clip(0)
    sizes = np.array(list(map(len, records)), np.int64)
    of_record = np.repeat(np.arange(len(records)), sizes)
    first = column.take(np.cumsum(sizes) - sizes, mode="clip") if len(column) else column
    in_title = column - first[of_record] == TITLE
    return _summed(of_record, values, len(records)), _summed(of_record, values * in_title, len(records))


def totals(connection: Connection) -> tuple[int, int]:
    """Return the numbers of documents and terms in the full-text table."""
    record = connection.execute("SELECT block FROM documents_fts_data WHERE id = ?", (_AVERAGES,)).get
    rows, *lengths = column_sizes(record) if record else (0,)
    return rows, sum(lengths)


def counts(
    connection: Connection, phrase: str, among: Sequence[int] | None
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the documents with a phrase, and how often each column has it. `among` restricts the documents (None:
    all)."""
    noted = _noted.get(connection)
    if noted is None:
        noted = _noted[connection] = []
        connection.register_fts5_function("note_counts", partial(_note_counts, noted.append))
    noted.clear()
    # The statements return no rows, because returning a row would take as long as noting it.
    select = "SELECT 1 FROM documents_fts WHERE documents_fts MATCH ? AND"
    if among is None:
        connection.execute(f"{select} note_counts(documents_fts)", (phrase,)).fetchone()
    elif len(among) <= FEW:
        for document in among:
            connection.execute(f"{select} note_counts(documents_fts) AND rowid = ?", (phrase, document)).fetchone()
    else:
        # With CASE, SQLite calls the function only for these rows.
        case = "CASE WHEN rowid IN (SELECT value FROM json_each(?)) THEN note_counts(documents_fts) END"
        listed = json_list(among)
        connection.execute(f"{select} {case} AND rowid >= ?", (phrase, listed, among[0])).fetchone()
    found = np.frombuffer(b"".join(noted), _OF_ROW)
    noted.clear()
    return found["id"], found["counts"][:, ORDER]


def _summed(of_record: NDArray[np.int64], values: NDArray[np.float64], records: int) -> NDArray[np.int64]:
    return np.bincount(of_record, values, records).astype(np.int64)


def _note_counts(note: Callable[[bytes], None], api: apsw.FTS5ExtensionApi, /) -> None:
    # SQLite calls this for each row, and a common phrase has thousands of rows.
    first, second, third = api.phrase_locations(0)
    note(_PACK(api.rowid, len(first), len(second), len(third)))
