"""Columns of text for people: aligned by cells, cut to the terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnoctl import text
from gnoctl.terminal import DIM, Terminal

GAP = "  "
MIN_CELLS = 8


def columns(
    headers: Sequence[str], rows: Sequence[Sequence[str]], terminal: Terminal, *, flexible: int = -1
) -> Iterator[str]:
    """Yield a header and the rows; columns of numbers are aligned right.

    On a terminal the `flexible` column is cut at its beginning, so that the others fit.
    """
    safe = [[text.line(cell) for cell in row] for row in rows]
    right = [bool(safe) and all(_is_number(row[at]) for row in safe) for at in range(len(headers))]
    widths = [max(text.cells(row[at]) for row in [headers, *safe]) for at in range(len(headers))]
    if terminal.width is not None:
        excess = sum(widths) + len(GAP) * (len(widths) - 1) - terminal.width
        widths[flexible] = max(MIN_CELLS, widths[flexible] - max(0, excess))
    yield terminal.paint(_row(headers, widths, right), DIM)
    for row in safe:
        yield _row(row, widths, right)


def _row(row: Sequence[str], widths: list[int], right: list[bool]) -> str:
    cells = (
        text.pad(text.clip_start(cell, width), width, right=at_right)
        for cell, width, at_right in zip(row, widths, right, strict=True)
    )
    return GAP.join(cells).rstrip()


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").isdigit()
