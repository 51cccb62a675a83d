"""Report the progress of a long measurement on standard error."""

from __future__ import annotations

import time
from typing import TextIO

FIRST_AFTER_S = 1.0
_REDRAW_S = 0.1
_LINE_EVERY_S = 5.0


class ProgressLine:
    """Redraws one line on a terminal; elsewhere prints a line every few seconds. Prints nothing in the first second."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._draws = stream.isatty()
        self._due = time.monotonic() + FIRST_AFTER_S
        self._drawn = False

    def __call__(self, task: str, done: int, total: int) -> None:
        now = time.monotonic()
        if self._quiet or now < self._due:
            return
        self._due = now + (_REDRAW_S if self._draws else _LINE_EVERY_S)
        line = f"{task}: {done:,} of {total:,}"
        self._stream.write(f"\r\x1b[2K{line}" if self._draws else f"{line}\n")
        self._stream.flush()
        self._drawn = True

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._drawn and self._draws:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
