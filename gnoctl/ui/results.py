"""The list of hits: two lines each, title and place above the passage. Draws only the visible lines.

Nothing moves while the user reads: a document that the user selected stays selected and in its line of the screen, if
the new results contain it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.segment import Segment
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from gnoctl.printing import text
from gnoctl.ui import styles
from gnoctl.ui.lines import Scrolling
from gnod.protocol.search import Hit

LINES = 2
_INDENT = "  "


class ResultList(Scrolling, can_focus=False):
    """`notice`: the text to show if there are no hits. `is_stale`: the hits are dimmed, because they belong to another
    query."""

    notice: reactive[list[str]] = reactive(list)
    is_stale: reactive[bool] = reactive(False)

    class Selected(Message):
        """Another hit was selected, or the selected one has other contents."""

    class Opened(Message):
        """A double click."""

    class Resized(Message):
        """The number of visible hits changed."""

    class NearEnd(Message):
        """The selected hit is near the end of the list."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.hits: list[Hit] = []
        self.cursor = 0
        self._chosen = False

    @property
    def selected(self) -> Hit | None:
        return self.hits[self.cursor] if self.hits else None

    def show(self, hits: list[Hit], *, is_new: bool) -> None:
        """Replace the hits. `is_new`: they belong to another query, so a selection that the user did not make is
        dropped."""
        before, row = self.selected, self.cursor * LINES - self.scroll_offset.y
        self.hits = hits
        at = self._place_of(before) if before and (self._chosen or not is_new) else None
        self._chosen = self._chosen and at is not None
        self.cursor = min(at or 0, max(0, len(hits) - 1))
        self.set_height(len(hits) * LINES)
        self.show_line(self.cursor * LINES - row if at is not None else 0)
        self._show_cursor()
        self.refresh()
        if before != self.selected:
            self.post_message(self.Selected())

    def move(self, by: int) -> None:
        self.select(self.cursor + by)

    def select(self, at: int) -> None:
        at = max(0, min(at, len(self.hits) - 1))
        self._chosen = True
        if at != self.cursor and self.hits:
            self.cursor = at
            self._show_cursor()
            self.refresh()
            self.post_message(self.Selected())
        if at >= len(self.hits) - self.page:
            self.post_message(self.NearEnd())

    @property
    def page(self) -> int:
        return max(1, self.size.height // LINES)

    def render_line(self, y: int) -> Strip:
        at, line = divmod(y + self.scroll_offset.y, LINES)
        width = self.columns
        if not self.hits and 1 <= y <= len(self.notice):
            return Strip([Segment(text.clip(_INDENT + self.notice[y - 1], width))]).adjust_cell_length(width)
        if at >= len(self.hits):
            return Strip.blank(width)
        is_selected = at == self.cursor
        bar = Segment("▌ " if is_selected else _INDENT, styles.BAR)
        draw = self._head if line == 0 else self._passage
        strip = Strip([bar, *draw(self.hits[at], width - len(_INDENT), is_selected)]).adjust_cell_length(width)
        return strip.apply_style(styles.DIM) if self.is_stale else strip

    def on_click(self, event: Click) -> None:
        self.select((event.y + self.scroll_offset.y) // LINES)
        if event.chain == 2:
            self.post_message(self.Opened())

    def on_resize(self) -> None:
        self.post_message(self.Resized())
        self.set_height(len(self.hits) * LINES)
        self._show_cursor()

    def _place_of(self, hit: Hit) -> int | None:
        return next((at for at, each in enumerate(self.hits) if each.docid == hit.docid), None)

    def _show_cursor(self) -> None:
        top, bottom = self.cursor * LINES, self.cursor * LINES + LINES
        y = self.scroll_offset.y
        if top < y:
            self.show_line(top)
        elif bottom > y + self.size.height:
            self.show_line(bottom - self.size.height)

    def _head(self, hit: Hit, width: int, is_selected: bool) -> Iterator[Segment]:
        """Yield the title with the section of the passage, and the place at the right."""
        place = text.clip_start(place_of(hit), max(8, width // 2))
        section = hit.heading.rpartition(" > ")[2]
        title = text.line(f"{hit.title} › {section}" if section else hit.title)
        title = text.clip(title, max(1, width - text.cells(place) - 2))
        yield Segment(title, styles.SELECTED if is_selected else styles.DIM if hit.loose else styles.BOLD)
        yield Segment(" " * max(1, width - text.cells(title) - text.cells(place)))
        yield Segment(place, styles.DIM)

    def _passage(self, hit: Hit, width: int, _: bool) -> Iterator[Segment]:
        """Yield the line of the passage with the first match."""
        shown = text.line(hit.snippet)
        first = hit.marks[0][0] if hit.marks else 0
        start = hit.snippet.rfind("\n", 0, first) + 1
        if first - start > width * 2 // 3:
            yield Segment(text.ELLIPSIS, styles.DIM)
            width -= 1
            start = hit.snippet.rfind(" ", 0, first - width // 3) + 1
        end = hit.snippet.find("\n", first)
        end = len(shown) if end < 0 else end
        fits = min(end, start + width - 1)
        for piece, is_match in text.pieces(shown, start, fits, hit.marks):
            yield Segment(piece, styles.MATCH if is_match else styles.DIM)
        if fits < end:
            yield Segment(text.ELLIPSIS, styles.DIM)


def place_of(hit: Hit) -> str:
    """Return `collection/path:line`, or with the page instead of the line; safe to show."""
    return text.line(f"{hit.collection}/{hit.path}:{hit.location.label if hit.location else hit.line}")
