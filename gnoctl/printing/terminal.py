"""The abilities of standard output: colours, width and columns. Does not use rich, which takes 40 ms to import."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gnoctl.printing import text

BOLD = "1"
DIM = "2"
RED = "31"
GREEN = "32"
YELLOW = "33"
MATCH = "1;33"

MIN_WIDTH = 20
_MEMBER = "!/"  # between an archive and a file in it
_IN_ADDRESSES = frozenset(b"/-._~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")


class Terminal(NamedTuple):
    """`width` is in cells. It is None if the output is not a terminal; then nothing is cut or wrapped. `has_links`:
    hyperlinks are written."""

    colour: bool = False
    width: int | None = None
    has_links: bool = False

    def paint(self, shown: str, style: str) -> str:
        return f"\x1b[{style}m{shown}\x1b[0m" if self.colour and shown else shown

    def line(self, shown: str, style: str) -> str:
        """Return a text as one safe line, painted."""
        return self.paint(text.line(shown), style)

    def link(self, shown: str, path: str) -> str:
        """Return a text with a hyperlink to a file, or to the archive that contains it (OSC 8). The host name lets a
        terminal recognise files of another machine over ssh."""
        if not self.has_links or not path.startswith("/"):
            return shown
        encoded = "".join(
            chr(byte) if byte in _IN_ADDRESSES else f"%{byte:02X}" for byte in os.fsencode(path.split(_MEMBER)[0])
        )
        return f"\x1b]8;;file://{os.uname().nodename}{encoded}\x1b\\{shown}\x1b]8;;\x1b\\"

    def clip(self, line: str) -> str:
        return text.clip(line, self.width) if self.width else line

    def wrap(self, shown: str, indent: str = "") -> Iterator[str]:
        """Yield the lines of a text, made safe and at most as wide as the terminal; a blank line without the indent."""
        for line in text.block(shown).replace("\t", "    ").split("\n"):
            ranges = text.wrap(line, max(self.width - len(indent), 1)) if self.width else [(0, len(line))]
            yield from (indent + line[start:end] for start, end in ranges) if line.strip() else [""]


def detect(*, no_color: bool = False) -> Terminal:
    """Return what standard output can show. NO_COLOR counts if it is not empty (https://no-color.org). Terminals
    without hyperlinks ignore them, except the Linux console; FORCE_HYPERLINK=0 turns them off."""
    if not _is_terminal(sys.stdout):
        return Terminal()
    colour = not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    has_links = colour and os.environ.get("TERM") != "linux" and os.environ.get("FORCE_HYPERLINK") != "0"
    return Terminal(colour=colour, width=_width(), has_links=has_links)


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


GAP = "  "
MIN_CELLS = 8


def columns(
    headers: Sequence[str], rows: Sequence[Sequence[str]], terminal: Terminal, *, flexible: int | None = -1
) -> Iterator[str]:
    """Yield a header and the rows; columns of numbers are aligned right.

    On a terminal the `flexible` column is cut at its beginning, so that the others fit. None: the widest columns are
    cut at their ends.
    """
    safe = [[text.line(cell) for cell in row] for row in rows]
    right = [bool(safe) and all(_is_number(row[at]) for row in safe) for at in range(len(headers))]
    widths = [max(text.cells(row[at]) for row in [headers, *safe]) for at in range(len(headers))]
    if terminal.width is not None:
        room = terminal.width - len(GAP) * (len(widths) - 1)
        if flexible is None:
            widths = _narrowed(widths, room)
        else:
            widths[flexible] = max(MIN_CELLS, widths[flexible] - max(0, sum(widths) - room))
    clip = text.clip if flexible is None else text.clip_start

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths, right, strict=True)
        padded = (text.pad(clip(cell, width), width, right=at_right) for cell, width, at_right in cells)
        return GAP.join(padded).rstrip()

    yield terminal.paint(line(headers), DIM)
    yield from map(line, safe)


def _narrowed(widths: Sequence[int], room: int) -> list[int]:
    """Limit the widths to the greatest value with which all columns fit.

    >>> _narrowed([40, 5, 30], 55), _narrowed([9, 9], 4)
    ([25, 5, 25], [8, 8])
    """
    limits = range(max(MIN_CELLS, min(room, max(widths))), MIN_CELLS, -1)
    limit = next((each for each in limits if sum(min(each, width) for width in widths) <= room), MIN_CELLS)
    return [min(limit, width) for width in widths]


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").isdigit()
