"""Decode FTS5's records of sizes: numbers of terms."""

from __future__ import annotations

from collections.abc import Iterator

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
