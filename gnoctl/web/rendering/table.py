"""Render the rows of a table that is Markdown, one per line, without reading them as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_BAR = re.compile(r"(?<!\\)\|")
_MAX_CELL = 2_000


def render(head: str | None, rows: Sequence[str], numbers: Sequence[int], head_line: int | None = None) -> str:
    """Return the rows, with their line numbers, under the `head`, which has one where it is not repeated."""
    body = "".join(_row(row, "td", number) for row, number in zip(rows, numbers, strict=True))
    top = "" if head is None else f"<thead>{_row(head, 'th', head_line)}</thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _row(row: str, tag: str, number: int | None = None) -> str:
    line = "" if number is None else f' data-line="{number}"'
    cells = _BAR.split(row.strip().removeprefix("|").removesuffix("|"))
    return f"<tr{line}>{''.join(f'<{tag}>{_text(cell)}</{tag}>' for cell in cells)}</tr>"


def _text(cell: str) -> str:
    cell = cell.strip().replace("\\|", "|")
    return escape(cell if len(cell) <= _MAX_CELL else cell[:_MAX_CELL] + "…")
