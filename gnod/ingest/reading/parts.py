"""Build a text from parts, record the location of each part in the source, and enforce a limit on their total size."""

from __future__ import annotations

from gnod.ingest.reading.result import too_long
from gnod.locations import Kind, Locations, Start

_BETWEEN = "\n\n"


class Parts:
    """Parts of one kind, in order, without empty ones."""

    def __init__(self, kind: Kind, max_characters: int) -> None:
        self._kind = kind
        self._max_characters = max_characters
        self._left = max_characters
        self._texts: list[str] = []
        self._starts: list[Start] = []
        self._line = 1

    def add(self, text: str, value: int | str, rows: list[tuple[int, int]] | None = None) -> None:
        """Add the text of a page, sheet or other part. `rows`: the starts of rows of the source, as (line of the text
        from 0, row); the lines after a start are the rows that follow.

        Raises ConversionFailed (too_long).
        """
        text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        if not text.strip():
            return
        self._left -= len(text)
        if self._left < 0:
            raise too_long(self._max_characters)
        self._starts.append(Start(self._line, value))
        self._starts += [Start(self._line + line, value, row) for line, row in rows or []]
        self._texts.append(text)
        self._line += text.count("\n") + _BETWEEN.count("\n")

    @property
    def left(self) -> int:
        return self._left

    @property
    def markdown(self) -> str:
        return _BETWEEN.join(self._texts)

    @property
    def locations(self) -> Locations:
        """Return the locations with the lines of `markdown`."""
        return Locations(self._kind, self._starts)
