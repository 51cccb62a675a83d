"""Rows of chosen fields: a table for people, CSV for programs. Imported only when columns are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from gnoctl.printing.records import csv_line
from gnoctl.printing.terminal import Terminal, columns
from gnod.protocol.search import Row


def cell(value: object) -> str:
    """Return a value of a document's metadata as text.

    >>> cell(["a", 1.5]), cell(True), cell(None), cell({"x": [1]})
    ('a, 1.5', 'true', '', '{"x":[1]}')
    """
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def cells(row: Row, names: Sequence[str]) -> list[str]:
    return [cell(row.values.get(name)) for name in names]


def table(rows: Sequence[Row], names: Sequence[str], terminal: Terminal) -> Iterator[str]:
    return columns(names, [cells(row, names) for row in rows], terminal, flexible=None)


def csv_lines(rows: Sequence[Row], names: Sequence[str]) -> Iterator[str]:
    yield csv_line(names)
    yield from (csv_line(cells(row, names)) for row in rows)
