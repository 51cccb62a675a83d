"""Map lines of a converted document to places in its source: page, slide, sheet and row, row, cell, message, chapter.

A document stores only the line of its canonical text where each place begins (docs/adr/0038-locations.md).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Literal, NamedTuple
from urllib.parse import quote

import msgspec

Kind = Literal["page", "slide", "sheet", "row", "cell", "message", "chapter", "file"]


class Start(msgspec.Struct, frozen=True, array_like=True):
    """The page, sheet and so on begins at `line` (from 1). `row`: the row at this line; later lines are later rows. It
    is 0 if the format has no rows, or the line is not a row. If a file has only rows, `value` is the row."""

    line: int
    value: int | str
    row: int = 0


class Locations(msgspec.Struct, frozen=True, array_like=True):
    """All starts of a document, in order of their lines."""

    kind: Kind
    starts: list[Start]

    def at(self, line: int) -> SourceLocation | None:
        """Return the location of a line; None before the first start.

        >>> Locations("sheet", [Start(1, "Costs"), Start(3, "Costs", 2)]).at(5)
        SourceLocation(kind='sheet', value='Costs', row=4)
        """
        index = bisect_right(self.starts, line, key=lambda start: start.line) - 1
        if index < 0:
            return None
        start = self.starts[index]
        if self.kind == "row" and isinstance(start.value, int):
            return SourceLocation(self.kind, start.value + line - start.line)
        return SourceLocation(self.kind, start.value, start.row + line - start.line if start.row else None)

    def lines(self, value: str, row: int = 0) -> tuple[int, int | None] | None:
        """Return the first line of the page (sheet, …) with this number or name, or of a row in it, and the last line
        of the page (None: the last line of the text). None if the page does not exist."""
        if self.kind == "row":
            return self._line_of_row(value)
        own = [start for start in self.starts if str(start.value) == value]
        if not own:
            return None
        first = next((start.line + row - start.row for start in reversed(own) if 0 < start.row <= row), own[0].line)
        after = (s.line for s in self.starts if s.line > own[-1].line)
        end = next(after, None)
        return first, end - 1 if end else None

    def _line_of_row(self, value: str) -> tuple[int, int] | None:
        """Return the line of a row. For a blank row, return the line of the row before it."""
        row = int(value) if value.isdecimal() else 0
        for number in range(len(self.starts) - 1, -1, -1):
            start = self.starts[number]
            if isinstance(start.value, int) and start.value <= row:
                line = start.line + row - start.value
                line = min(line, self.starts[number + 1].line - 1) if number + 1 < len(self.starts) else line
                return line, line
        return None

    @property
    def described(self) -> str:
        """The range of the locations in words.

        >>> Locations("page", [Start(1, 1), Start(9, 2), Start(20, 3)]).described
        'pages 1 to 3'
        """
        if self.kind == "row":
            return f"rows from {self.starts[0].value}"
        values = list(dict.fromkeys(str(start.value) for start in self.starts))
        shown = f"{values[0]} to {values[-1]}" if isinstance(self.starts[0].value, int) else ", ".join(values[:5])
        return f"{self.kind}{'s' if len(values) > 1 else ''} {shown if len(values) > 1 else values[0]}"


class SourceLocation(NamedTuple):
    """One place in a source."""

    kind: Kind
    value: int | str
    row: int | None = None

    @property
    def label(self) -> str:
        """Return the label that people read after the path.

        >>> SourceLocation("page", 12).label, SourceLocation("sheet", "Costs", 4).label
        ('p12', 'sheet Costs, row 4')
        """
        name = f"p{self.value}" if self.kind == "page" else f"{self.kind} {self.value}"
        return f"{name}, row {self.row}" if self.row else name

    @property
    def fragment(self) -> str:
        """The part of a URI after `#`. Pages follow RFC 8118.

        >>> SourceLocation("page", 12).fragment, SourceLocation("sheet", "Costs 2025", 4).fragment
        ('page=12', 'sheet=Costs%202025&row=4')
        """
        row = f"&row={self.row}" if self.row else ""
        return f"{self.kind}={quote(str(self.value), safe='')}{row}"


def encoded(locations: Locations | None) -> str | None:
    return msgspec.json.encode(locations).decode() if locations and locations.starts else None


def decoded(text: str | None) -> Locations | None:
    return msgspec.json.decode(text, type=Locations) if text else None
