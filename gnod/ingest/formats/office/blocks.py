"""Collects paragraphs, lists and tables as Markdown, in reading order. Must not depend on a format."""

from __future__ import annotations

from gnod.ingest.formats.table import markdown_table
from gnod.ingest.reading.result import too_long

_DEEPEST_ITEM = 20
Cell = list[str]


class Blocks:
    """The blocks so far. In a table, text goes into the newest cell; a table in a cell becomes text of the cell."""

    def __init__(self, max_characters: int) -> None:
        self._max_characters = self._left = max_characters
        self._out: list[str] = []
        self._tables: list[list[list[Cell]]] = []
        self._after_item = False

    @property
    def markdown(self) -> str:
        return "".join(self._out).strip("\n")

    def paragraph(self, text: str) -> None:
        """Add lines that are not headings, even if they begin like one."""
        if text.startswith("#"):
            text = "\\" + text
        self._add(text)

    def heading(self, text: str, level: int) -> None:
        self._add(f"{'#' * min(level, 6)} {' '.join(text.split())}")

    def item(self, text: str, depth: int) -> None:
        """Add a list item; `text` includes its mark. `depth` counts from 0."""
        self._add(f"{'  ' * min(depth, _DEEPEST_ITEM)}{text}", is_item=True)

    def begin_table(self) -> None:
        self._tables.append([])

    def begin_row(self) -> None:
        if self._tables:
            self._tables[-1].append([])

    def begin_cell(self) -> None:
        if self._tables and self._tables[-1]:
            self._tables[-1][-1].append([])

    def end_table(self) -> None:
        if not self._tables:
            return
        rows = [without_blanks([" ".join(cell) for cell in row]) for row in self._tables.pop()]
        if self._tables:
            for row in filter(any, rows):
                self._put(" ".join(filter(None, row)))
        elif len(rows) == 1 and len(rows[0]) == 1:  # a table of one cell is a frame
            self._put(rows[0][0])
        elif text := markdown_table(rows, self._max_characters):
            self._put(text)

    def end(self) -> None:
        """End the tables that a damaged file leaves open."""
        while self._tables:
            self.end_table()

    def _add(self, text: str, *, is_item: bool = False) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise too_long(self._max_characters)
        self._put(text, is_item=is_item)

    def _put(self, text: str, *, is_item: bool = False) -> None:
        if self._tables and self._tables[-1] and self._tables[-1][-1]:
            self._tables[-1][-1][-1].append(" ".join(text.lstrip("#").split()))
        else:
            self._out += ["\n" if is_item and self._after_item else "\n\n", text]
            self._after_item = is_item


def trimmed(text: str) -> str:
    """Return the lines of a text that are not empty, with single spaces."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


def without_blanks(row: list[str]) -> list[str]:
    """Return a row without the empty cells at its end."""
    while row and not row[-1]:
        row.pop()
    return row
