"""Define plain data for viewing a page: its picture, and the text and links that a user can select and follow. Also
join characters to runs.

Must not depend on formats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec


class TextRun(NamedTuple):
    """Adjacent characters and their box. The last run of a line ends in a line end."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


class LinkArea(NamedTuple):
    """A box that leads to a `page` of the file or to a web `address`."""

    left: float
    top: float
    right: float
    bottom: float
    page: int | None = None
    address: str | None = None


class LayerRead(NamedTuple):
    """The text and links of the page `number`. Boxes are in points from the upper left corner of the displayed page."""

    number: int
    width: float
    height: float
    runs: list[TextRun]
    links: list[LinkArea]


class OutlineMark(NamedTuple):
    """An entry of the outline; level 1 is the highest."""

    level: int
    title: str
    page: int


class ImageRead(msgspec.Struct, frozen=True, kw_only=True, tag="image_read"):
    """A page as a picture that this process has encoded itself. `pages`: the number of pages of the file."""

    source_hash: str
    mime: str
    width: int
    height: int
    pages: int
    data: bytes


class PictureRead(msgspec.Struct, frozen=True, kw_only=True, tag="picture_read"):
    mime: str
    data: bytes


class LayersRead(msgspec.Struct, frozen=True, kw_only=True, tag="layers_read"):
    """`pages`: the number of pages of the file. `outline`: only with the first page. A picture has one layer without
    text."""

    source_hash: str
    pages: int
    layers: list[LayerRead]
    outline: list[OutlineMark]


def runs_of(text: str, edges: Sequence[float]) -> Iterator[TextRun]:
    """Yield the text in runs. A run ends at a line end, and at a gap that is wider than a letter is high. `edges`: as
    in PageText."""
    run: list[str] = []
    boxes: list[Sequence[float]] = []
    for at, character in enumerate(text + "\n"):
        box = edges[4 * at : 4 * at + 4]
        if boxes and any(box) and _is_apart(boxes[-1], box):
            yield _run(run, boxes)
            run, boxes = [], []
        run.append(character)
        if any(box):
            boxes.append(box)
        elif character == "\n":
            if boxes:
                yield _run(run, boxes)
            run, boxes = [], []


def _is_apart(before: Sequence[float], box: Sequence[float]) -> bool:
    gap = max(box[0] - before[2], before[0] - box[2])
    return gap > before[3] - before[1] or box[1] > before[3] or box[3] < before[1]


def _run(text: list[str], boxes: list[Sequence[float]]) -> TextRun:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return TextRun("".join(text), min(lefts), min(tops), max(rights), max(bottoms))
