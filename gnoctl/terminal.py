"""What standard output can show: colours and width. Without rich, which takes 40 ms to import."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

BOLD = "1"
DIM = "2"
RED = "31"
GREEN = "32"
YELLOW = "33"
MATCH = "1;33"

MIN_WIDTH = 20


class Terminal(NamedTuple):
    """`width` is in cells; None if the output is not a terminal: then nothing is cut or wrapped."""

    colour: bool = False
    width: int | None = None

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.colour and text else text


def detect(*, no_color: bool = False) -> Terminal:
    """Return what standard output can show. NO_COLOR counts if it is not empty (https://no-color.org)."""
    if not _is_terminal(sys.stdout):
        return Terminal()
    colour = not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Terminal(colour=colour, width=_width())


def stderr_is_terminal() -> bool:
    return _is_terminal(sys.stderr)


def _is_terminal(stream: object) -> bool:
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty())


def _width() -> int:
    # shutil.get_terminal_size does the same, but importing shutil takes 5 ms.
    try:
        columns = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns
        except (OSError, ValueError):
            columns = 0
    return max(MIN_WIDTH, columns or 80)
