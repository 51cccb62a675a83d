"""How FTS5 stores the full-text table: the order of its columns, and its records of sizes, which are numbers of terms.

FTS5 writes two bytes more for each document of a word that is not in the first column, and nearly all are in the body.
Everywhere else, weights and counts are in the order of `Terms`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

# The places of path, title and body among the columns, and of the columns in `Terms`: they are the same.
ORDER = (2, 1, 0)
BODY, TITLE = 0, 1
_MOST_BYTES = 9  # the length of a varint; its last byte has eight bits


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
    # What a byte adds depends on how far the last byte of its number is away.
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


def _summed(of_record: NDArray[np.int64], values: NDArray[np.float64], records: int) -> NDArray[np.int64]:
    return np.bincount(of_record, values, records).astype(np.int64)
