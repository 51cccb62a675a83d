"""The document of the selected hit, at the hit's place, with its matches. Draws in slices, so that keys never wait."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.binding import Binding
from textual.strip import Strip
from textual.worker import Worker

from gnoctl.printing import text
from gnoctl.ui import styles
from gnoctl.ui.results import place_of
from gnoctl.ui.scrolling import Scrolling
from gnod.errors import GnoError
from gnod.protocol.documents import DocumentGetParams, DocumentText
from gnod.protocol.search import Hit

if TYPE_CHECKING:
    from gnoctl.ui.rendering import DrawnDocument

BEFORE = 40
WINDOW = 240
"""The number of lines that are fetched at once, and how many of them are before the hit."""
SETTLED_S = 0.05
"""A user who holds an arrow key passes hits faster than that."""

_BETWEEN = re.compile(r"[\s|*_`]+")
_MARGIN = Segment(" ")

Fetch = Callable[[DocumentGetParams], Awaitable[DocumentText]]


class PreviewPane(Scrolling, can_focus=True):
    """`hit`: what is shown, or will be."""

    BINDINGS = [
        Binding("up", "scroll_up", show=False),
        Binding("down", "further(1)", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown,space", "further(0)", show=False),
        Binding("home", "scroll_home", show=False),
        Binding("end", "scroll_end", show=False),
    ]

    def __init__(self, fetch: Fetch, *, id: str) -> None:
        super().__init__(id=id)
        self.hit: Hit | None = None
        self.document: DocumentText | None = None
        self._fetch = fetch
        self._lines: list[Strip] = []
        self._width = 0
        self._loading: Worker[None] | None = None

    def show(self, hit: Hit | None, *, again: bool = False) -> None:
        """Show the document of a hit; `again`: its file has changed."""
        if hit is None:
            self.close()
            self.hit, self.document, self._lines = None, None, []
            self.set_height(len(self._lines))
        elif again or self.hit is None or _shown(hit) != _shown(self.hit):
            stays = self.hit is not None and (hit.docid, hit.line) == (self.hit.docid, self.hit.line)
            self.hit = hit
            self._start(hit, stays=stays)

    def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()

    def render_line(self, y: int) -> Strip:
        at, width = y + self.scroll_offset.y, self.columns
        if at >= len(self._lines):
            return Strip.blank(width)
        return Strip([_MARGIN, *self._lines[at]]).adjust_cell_length(width)

    def on_resize(self) -> None:
        if self.hit is not None and self.columns - 1 != self._width:
            self._start(self.hit, stays=False)

    def action_further(self, lines: int) -> None:
        """Scroll down by this many lines; 0 means a page. At the end, fetch the following lines."""
        lines = lines or max(1, self.size.height - 1)
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False)
        document = self.document
        is_near_end = self.scroll_offset.y + lines + 2 * self.size.height >= len(self._lines)
        is_idle = self._loading is None or self._loading.is_finished
        if document and is_near_end and is_idle and document.end_line < document.total_lines and self.hit:
            self._loading = self.run_worker(self._extend(self.hit, document.end_line + 1))

    def _start(self, hit: Hit, *, stays: bool) -> None:
        self.close()
        self._loading = self.run_worker(self._load(hit, stays=stays))

    async def _load(self, hit: Hit, *, stays: bool) -> None:
        await asyncio.sleep(SETTLED_S)
        if self.columns < 2:  # it is hidden, and drawn as soon as it has a size
            self._width = 0
            return
        start = max(1, hit.line - BEFORE)
        try:
            document = await self._fetch(DocumentGetParams(ref=hit.uri, start_line=start, max_lines=WINDOW))
            blocks = await self._draw(hit, document)
        except GnoError as error:
            self._say(error.message)
            return
        self.document = document
        self._lines = [*_head(document, hit, self._width), *(strip for block in blocks for strip in block.strips)]
        self.set_height(len(self._lines))
        if not stays:
            self.show_line(self._row_of(hit, document, blocks))

    async def _extend(self, hit: Hit, start: int) -> None:
        try:
            document = await self._fetch(DocumentGetParams(ref=hit.uri, start_line=start, max_lines=WINDOW))
            blocks = await self._draw(hit, document)
        except GnoError:
            return
        self.document = document
        self._lines += [strip for block in blocks for strip in block.strips]
        self.set_height(len(self._lines))

    async def _draw(self, hit: Hit, document: DocumentText) -> list[DrawnDocument]:
        from gnoctl.ui.rendering import draw

        self._width = self.columns - 1
        blocks = []
        for block in draw(document, words_of(hit), max(1, self._width)):
            blocks.append(block)
            await asyncio.sleep(0)
        return blocks

    def _row_of(self, hit: Hit, document: DocumentText, blocks: list[DrawnDocument]) -> int:
        """Return the row from which the hit's line is visible, a third from the top."""
        top = len(_head(None, hit, self._width))
        for block, after in zip(blocks, [*blocks[1:], None], strict=True):
            if after is None or after.line > hit.line:
                end = after.line if after else document.end_line + 1
                row = top + _row_within(block, hit.line, end)
                return max(0, row - self.size.height // 3) if row > self.size.height // 2 else 0
            top += len(block.strips)
        return 0

    def _say(self, problem: str) -> None:
        self._lines = [Strip([Segment(text.line(problem), styles.WARNING)])]
        self.set_height(len(self._lines))


def _row_within(block: DrawnDocument, line: int, end: int) -> int:
    """Return the row of a line in a block, which ends before the line `end`: the match nearest to its share."""
    expected = (line - block.line) * len(block.strips) // max(1, end - block.line)
    found = [row for row, strip in enumerate(block.strips) if _has_match(strip)]
    return min(found, key=lambda row: abs(row - expected), default=max(0, expected))


def _has_match(strip: Strip) -> bool:
    return any(styles.is_match(segment.style) for segment in strip)


def _head(document: DocumentText | None, hit: Hit, width: int) -> list[Strip]:
    """Return the lines above the text: what it is, and whether the file has changed."""
    place = text.clip_start(place_of(hit), width)
    changed = " · the file has changed since it was indexed" if document and document.stale else ""
    return [Strip([Segment(text.clip(place + changed, width), styles.DIM)]), Strip.blank(width)]


def _shown(hit: Hit) -> object:
    """Return what the preview of a hit depends on."""
    return hit.docid, hit.line, words_of(hit)


def words_of(hit: Hit) -> list[str]:
    """Return the words of the document that match the query. A mark may span several words, and cells of a table."""
    marked = (hit.snippet[start:end] for start, end in hit.marks)
    return list(dict.fromkeys(word for each in marked for word in _BETWEEN.split(each) if word))
