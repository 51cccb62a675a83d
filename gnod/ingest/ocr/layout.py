"""Turn recognised lines into the text of a page: reading order, columns, paragraphs, divided words. Pure.

A recursive X-Y cut (Nagy & Seth 1984) cuts between paragraphs, then between columns. The rest is read row by row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

# Minimum space between paragraphs and between columns, and minimum width of the lines of a column, all in line heights.
# The columns of a table are narrower, so a table is read row by row.
_PARAGRAPH = 0.9
_GUTTER = 0.8
_COLUMN = 9
_MIN_LINES = 3
_DIVIDED = re.compile(r"(\w+)[-\u00ad\u2010]$")
_CONTINUED = re.compile(r"[^\W\d_A-Z]\S*")


class RecognisedLine(NamedTuple):
    """`corners`: in pixels, clockwise from the upper left."""

    text: str
    confidence: float
    corners: Sequence[tuple[float, float]]


class RecognisedBox(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


class _Placed(NamedTuple):
    """A line, and its box on the straightened page."""

    line: RecognisedLine
    box: RecognisedBox


def arranged(lines: Sequence[RecognisedLine]) -> list[list[list[RecognisedLine]]]:
    """Return paragraphs of rows of lines, in reading order."""
    if not lines:
        return []
    tilt = _tilt(lines)
    placed = [_Placed(line, _turned(line, -tilt)) for line in lines]
    return _cut(placed, median(each.box.bottom - each.box.top for each in placed))


def text_of(paragraphs: Sequence[Sequence[Sequence[RecognisedLine]]]) -> tuple[str, list[RecognisedBox]]:
    """Return the text, and the box of each line that is not empty."""
    blocks: list[str] = []
    boxes: list[RecognisedBox] = []
    for rows in paragraphs:
        blocks.append("\n".join(_joined([" ".join(line.text.strip() for line in row) for row in rows])))
        boxes += [_around([corner for line in row for corner in line.corners]) for row in rows]
    return "\n\n".join(blocks), boxes


def _joined(rows: list[str]) -> list[str]:
    """Join words that are divided at the end of a line."""
    for number in range(len(rows) - 1):
        rest = _CONTINUED.match(rows[number + 1])
        if rest and _DIVIDED.search(rows[number]) and len(rest[0]) < len(rows[number + 1]):
            rows[number] = rows[number][:-1] + rest[0]
            rows[number + 1] = rows[number + 1][rest.end() :].lstrip()
    return rows


def _cut(placed: list[_Placed], height: float) -> list[list[list[RecognisedLine]]]:
    for parts in (_split(placed, 1, _PARAGRAPH * height), _columns(placed, height)):
        if len(parts) > 1:
            return [paragraph for part in parts for paragraph in _cut(part, height)]
    return [_rows(placed, height)]


def _columns(placed: list[_Placed], height: float) -> list[list[_Placed]]:
    parts = _split(placed, 0, _GUTTER * height)
    are_columns = all(
        len(part) >= _MIN_LINES and median(each.box.right - each.box.left for each in part) >= _COLUMN * height
        for part in parts
    )
    return parts if are_columns else [placed]


def _split(placed: list[_Placed], axis: int, gap: float) -> list[list[_Placed]]:
    """Split at spaces without lines that are wider than `gap`. `axis`: 0 between columns, 1 between rows."""
    parts: list[list[_Placed]] = []
    end = -math.inf
    for each in sorted(placed, key=lambda each: each.box[axis]):
        if each.box[axis] - end > gap:
            parts.append([])
        parts[-1].append(each)
        end = max(end, each.box[axis + 2])
    return parts


def _rows(placed: list[_Placed], height: float) -> list[list[RecognisedLine]]:
    rows: list[list[_Placed]] = []
    for each in sorted(placed, key=lambda each: each.box.top + each.box.bottom):
        middle = (each.box.top + each.box.bottom) / 2
        if rows and middle - (rows[-1][0].box.top + rows[-1][0].box.bottom) / 2 < height / 2:
            rows[-1].append(each)
        else:
            rows.append([each])
    return [[each.line for each in sorted(row, key=lambda each: each.box.left)] for row in rows]


def _tilt(lines: Sequence[RecognisedLine]) -> float:
    """Return the angle of the page in radians, measured on its longer lines."""
    edges = [(line.corners[0], line.corners[1]) for line in lines]
    angles = [(math.dist(a, b), math.atan2(b[1] - a[1], b[0] - a[0])) for a, b in edges]
    longest = max(length for length, _ in angles)
    angle = median(angle for length, angle in angles if length >= longest / 2)
    return angle if abs(angle) < math.pi / 8 else 0.0


def _turned(line: RecognisedLine, angle: float) -> RecognisedBox:
    cos, sin = math.cos(angle), math.sin(angle)
    return _around([(x * cos - y * sin, x * sin + y * cos) for x, y in line.corners])


def _around(corners: Sequence[tuple[float, float]]) -> RecognisedBox:
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return RecognisedBox(min(xs), min(ys), max(xs), max(ys))
