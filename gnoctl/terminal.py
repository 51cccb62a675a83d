"""What standard output can show: colours, and how wide it is. ANSI by hand: rich takes 40 ms to import."""

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
    """`width` is in cells, and None when the output is no terminal: then nothing is cut or wrapped."""

    colour: bool = False
    width: int | None = None

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.colour and text else text


def detect(*, no_color: bool = False) -> Terminal:
    """Return what standard output is. https://no-color.org: any value that is not empty counts."""
    if not _is_terminal(sys.stdout):
        return Terminal()
    wanted = not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Terminal(colour=wanted, width=_width())


def stderr_is_terminal() -> bool:
    return _is_terminal(sys.stderr)


def _is_terminal(stream: object) -> bool:
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty())


def _width() -> int:
    # shutil.get_terminal_size does the same, and importing shutil costs 5 ms.
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
