"""Preview the document of the selected hit, at the hit's place. Matches are highlighted, and counted in the whole
document.

Draws in slices, so that keys never wait.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.binding import Binding
from textual.strip import Strip
from textual.worker import Worker

from gnoctl.printing import text
from gnoctl.ui import styles
from gnoctl.ui.lines import Scrolling
from gnoctl.ui.results import place_of
from gnoctl.ui.session import Daemon
from gnod.errors import GnoError
from gnod.protocol.documents import DocumentGetParams, DocumentMatchesParams, DocumentMatchesResult, DocumentText
from gnod.protocol.search import Hit

if TYPE_CHECKING:
    from gnoctl.ui.rendering import DrawnBlock

BEFORE = 40
WINDOW = 240
"""BEFORE and WINDOW are numbers of lines: those before the hit, and all that are fetched at once."""
SETTLED_S = 0.05
"""Seconds. A user who holds an arrow key passes hits faster than that."""

_HEAD_LINES = 2
_BETWEEN = re.compile(r"[\s|*_`]+")
_MARGIN = Segment(" ")


class PreviewPane(Scrolling, can_focus=True):
    """`hit`: the hit that is shown, or will be shown, with the matches of `sought`."""

    BINDINGS = [
        Binding("up", "scroll_up", show=False),
        Binding("down", "further(1)", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown,space", "further(0)", show=False),
        Binding("home", "scroll_home", show=False),
        Binding("end", "scroll_end", show=False),
        Binding("n", "match(1)", show=False),
        Binding("N", "match(-1)", show=False),
    ]

    def __init__(self, daemon: Daemon, *, id: str) -> None:
        super().__init__(id=id)
        self.hit: Hit | None = None
        self.document: DocumentText | None = None
        self.sought = ""
        self._daemon = daemon
        self._blocks: list[DrawnBlock] = []
        self._lines: list[Strip] = []
        self._found: DocumentMatchesResult | None = None
        self._match: int | None = None
        self._width = 0
        self._loading: Worker[None] | None = None

    def show(self, hit: Hit | None, query: str = "", *, again: bool = False) -> None:
        """Show the document of a hit; `again`: its file has changed."""
        is_same = hit is not None and self.hit is not None and _shown(hit) == _shown(self.hit)
        if is_same and query == self.sought and not again:
            return
        stays = hit and self.hit and (hit.docid, hit.line) == (self.hit.docid, self.hit.line)
        self.hit, self.sought, self._found, self._match = hit, query, None, None
        if hit is None:
            self.close()
            self.document, self._blocks = None, []
            self._show_lines([])
        elif is_same and not again:
            self._start(self._count(hit))
        else:
            self._start(self._load(hit, stays=bool(stays)))

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
            self._start(self._load(self.hit, stays=False))

    def action_further(self, lines: int) -> None:
        """Scroll down by this many lines; 0 means a page. At the end, fetch the following lines."""
        lines = lines or max(1, self.size.height - 1)
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False)
        document = self.document
        is_near_end = self.scroll_offset.y + lines + 2 * self.size.height >= len(self._lines)
        is_idle = self._loading is None or self._loading.is_finished
        if document and is_near_end and is_idle and document.end_line < document.total_lines and self.hit:
            self._loading = self.run_worker(self._extend(self.hit, document.end_line + 1))

    def action_match(self, by: int) -> None:
        """Go to the next or previous match of the document, the first time starting from the hit."""
        lines = self._found.lines if self._found else []
        if self.hit and lines:
            first = bisect_left(lines, self.hit.line) - (by < 0)
            self._match = (first if self._match is None else self._match + by) % len(lines)
            self._start(self._show_match(self.hit, lines[self._match]))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self.close()
        self._loading = self.run_worker(work)

    async def _load(self, hit: Hit, *, stays: bool) -> None:
        await asyncio.sleep(SETTLED_S)
        if self.columns < 2:  # the pane is hidden, and is drawn as soon as it has a size
            self._width = 0
            return
        try:
            self._blocks = await self._drawn(hit, max(1, hit.line - BEFORE))
        except GnoError as error:
            self._say(error.message)
            return
        self._show_lines(self._blocks)
        if not stays:
            self.show_line(self._row_of(hit.line))
        await self._count(hit)

    async def _extend(self, hit: Hit, start: int) -> None:
        try:
            self._blocks += await self._drawn(hit, start)
        except GnoError:
            return
        self._show_lines(self._blocks)

    async def _count(self, hit: Hit) -> None:
        """Find the matches of the whole document, and highlight all of their words."""
        if not self.sought.strip():
            return
        params = DocumentMatchesParams(ref=hit.uri, query=self.sought)
        try:
            self._found = await self._daemon.call("document.matches", params, DocumentMatchesResult)
            if self._blocks and set(self._words(hit)) - set(words_of(hit)):
                self._blocks = await self._drawn(hit, self._blocks[0].line)
        except GnoError:
            return  # the query is invalid, or only the text is known
        self._show_lines(self._blocks)

    async def _show_match(self, hit: Hit, line: int) -> None:
        document = self.document
        try:
            if not (document and self._blocks and self._blocks[0].line <= line <= document.end_line):
                self._blocks = await self._drawn(hit, max(1, line - BEFORE))
        except GnoError as error:
            self._say(error.message)
            return
        self._show_lines(self._blocks)
        self.show_line(self._row_of(line))

    async def _drawn(self, hit: Hit, start: int) -> list[DrawnBlock]:
        """Return the blocks of a part of the document, and store the part in `document`. Raises GnoError."""
        from gnoctl.ui.rendering import draw

        params = DocumentGetParams(ref=hit.uri, start_line=start, max_lines=WINDOW)
        self.document = document = await self._daemon.call("document.get", params, DocumentText)
        self._width = self.columns - 1
        blocks = []
        for block in draw(document, self._words(hit), max(1, self._width)):
            blocks.append(block)
            await asyncio.sleep(0)
        return blocks

    def _words(self, hit: Hit) -> list[str]:
        """Return the words to highlight: as soon as they are known, all words that match in the document."""
        found = [word for words in self._found.words for word in words.split()] if self._found else []
        return list(dict.fromkeys([*words_of(hit), *found]))

    def _row_of(self, line: int) -> int:
        """Return the top row that shows a line a third below the top."""
        top = _HEAD_LINES
        for block, after in zip(self._blocks, [*self._blocks[1:], None], strict=True):
            if after is None or after.line > line:
                end = after.line if after else (self.document.end_line if self.document else line) + 1
                row = top + _row_within(block, line, end)
                return max(0, row - self.size.height // 3) if row > self.size.height // 2 else 0
            top += len(block.strips)
        return 0

    def _show_lines(self, blocks: Sequence[DrawnBlock]) -> None:
        head = self._head(self.hit, self._width) if self.hit else []
        self._lines = [*head, *(strip for block in blocks for strip in block.strips)]
        self.set_height(len(self._lines))

    def _head(self, hit: Hit, width: int) -> list[Strip]:
        """Return the _HEAD_LINES above the text: the place, the number of matches, and whether the file has changed."""
        parts = [text.clip_start(place_of(hit), width)]
        if self._found and (total := len(self._found.lines)):
            all_of_them = f"{total:,}{'' if self._found.exact else '+'}"
            parts.append(f"{all_of_them} × found" if self._match is None else f"{self._match + 1:,} of {all_of_them}")
        if self.document and self.document.stale:
            parts.append("the file has changed since it was indexed")
        return [Strip([Segment(text.clip(" · ".join(parts), width), styles.DIM)]), Strip.blank(width)]

    def _say(self, problem: str) -> None:
        self._lines = [Strip([Segment(text.line(problem), styles.WARNING)])]
        self.set_height(len(self._lines))


def _row_within(block: DrawnBlock, line: int, end: int) -> int:
    """Return the row of a line in a block that ends before the line `end`: the match nearest to the estimated row."""
    expected = (line - block.line) * len(block.strips) // max(1, end - block.line)
    found = [row for row, strip in enumerate(block.strips) if _has_match(strip)]
    return min(found, key=lambda row: abs(row - expected), default=max(0, expected))


def _has_match(strip: Strip) -> bool:
    return any(styles.is_match(segment.style) for segment in strip)


def _shown(hit: Hit) -> object:
    """Return the values that the preview of a hit depends on."""
    return hit.docid, hit.line, words_of(hit)


def words_of(hit: Hit) -> list[str]:
    """Return the words of the document that match the query. A mark may span several words, and cells of a table."""
    marked = (hit.snippet[start:end] for start, end in hit.marks)
    return list(dict.fromkeys(word for each in marked for word in _BETWEEN.split(each) if word))
