"""A widget that draws lines and scrolls over more of them than fit."""

from __future__ import annotations

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widget import Widget


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

        Setting `virtual_size` would lay out the whole screen: as long as a keystroke may take."""
        self.set_reactive(Widget.virtual_size, Size(self.size.width, lines))
        self.vertical_scrollbar.window_virtual_size = lines
        self.vertical_scrollbar.refresh()
        self.refresh()

    def show_line(self, y: int) -> None:
        """Scroll so that this line is the first."""
        self.scroll_to(y=y, animate=False, force=True, immediate=True)
