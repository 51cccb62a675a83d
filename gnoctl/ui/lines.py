"""Widgets that draw only the visible lines, and a list of lines, some of which can be selected."""

from __future__ import annotations

from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from gnoctl.printing import text
from gnoctl.ui import styles


class Scrolling(ScrollView):
    """A widget whose scroll bar is always shown, so that nothing moves when its content changes."""

    DEFAULT_CSS = """
    Scrolling {
        overflow: hidden scroll;
        scrollbar-size-vertical: 1;
        scrollbar-color: ansi_bright_black;
        scrollbar-color-hover: ansi_bright_black;
        scrollbar-color-active: ansi_bright_black;
        scrollbar-background: ansi_default;
        scrollbar-background-hover: ansi_default;
        scrollbar-background-active: ansi_default;
    }
    """

    @property
    def columns(self) -> int:
        """The width without the scroll bar."""
        return self.scrollable_content_region.width

    def set_height(self, lines: int) -> None:
        """Set the number of lines, and draw them.

        Setting `virtual_size` would lay out the whole screen, which takes as long as a keystroke may take."""
        self.set_reactive(Widget.virtual_size, Size(self.size.width, lines))
        self.vertical_scrollbar.window_virtual_size = lines
        self.vertical_scrollbar.refresh()
        self.refresh()

    def show_line(self, y: int) -> None:
        """Scroll so that this line is the first visible one."""
        self.scroll_to(y=y, animate=False, force=True, immediate=True)


class ShownLine(NamedTuple):
    """`entry`: the number of the line's entry; None if it cannot be selected."""

    shown: str
    style: Style = styles.PLAIN
    entry: int | None = None


class ShownLines(Scrolling, can_focus=True):
    BINDINGS = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown", "page_down", show=False),
        Binding("enter,space", "choose", show=False),
    ]

    class Chosen(Message):
        """An entry was selected with Enter, Space or a click."""

        def __init__(self, entry: int) -> None:
            super().__init__()
            self.entry = entry

    class Moved(Message):
        """Another entry is under the cursor."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.cursor = 0
        self._lines: list[ShownLine] = []

    def show(self, lines: list[ShownLine], *, cursor: int | None = None) -> None:
        """Replace the lines; cursor and scroll position stay, unless another `cursor` is given."""
        self._lines = lines
        self.cursor = self.cursor if cursor is None else cursor
        self.cursor = max(0, min(self.cursor, self._entries - 1))
        self.set_height(len(lines))
        if cursor is not None:
            self._show_cursor()

    @property
    def _entries(self) -> int:
        return max((line.entry + 1 for line in self._lines if line.entry is not None), default=0)

    def render_line(self, y: int) -> Strip:
        at, width = y + self.scroll_offset.y, self.columns
        if at >= len(self._lines):
            return Strip.blank(width)
        line = self._lines[at]
        is_selected = line.entry is not None and line.entry == self.cursor
        bar = Segment("▌ " if is_selected else "  ", styles.BAR)
        style = line.style + styles.BOLD if is_selected else line.style
        return Strip([bar, Segment(text.clip(line.shown, width - 2), style)]).adjust_cell_length(width)

    def action_move(self, by: int) -> None:
        """Select the next entry; if there is none, scroll."""
        at = self.cursor + by
        if not 0 <= at < self._entries:
            self.scroll_relative(y=by, animate=False)
            return
        self.cursor = at
        self._show_cursor()
        self.refresh()
        self.post_message(self.Moved())

    def _show_cursor(self) -> None:
        at = self.cursor
        rows = [row for row, line in enumerate(self._lines) if line.entry == at]
        y, height = self.scroll_offset.y, self.size.height
        if not rows:
            return
        if rows[0] < y:
            self.scroll_to(y=rows[0] if at else 0, animate=False)
        elif rows[-1] >= y + height:
            self.scroll_to(y=min(rows[0], rows[-1] - height + 1), animate=False)

    def action_choose(self) -> None:
        if self._entries:
            self.post_message(self.Chosen(self.cursor))

    def on_click(self, event: Click) -> None:
        at = event.y + self.scroll_offset.y
        entry = self._lines[at].entry if at < len(self._lines) else None
        if entry is not None:
            self.cursor = entry
            self.refresh()
            self.post_message(self.Chosen(entry))
