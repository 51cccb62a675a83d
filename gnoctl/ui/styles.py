"""The colours of the terminal UI. They are the terminal's own colours, so that light and dark themes both work.

Colour is never the only mark: matches are bold and underlined, the selected hit has a bar and is reversed.
"""

from __future__ import annotations

from rich.style import Style

PLAIN = Style()
DIM = Style(dim=True)
BOLD = Style(bold=True)
MATCH = Style(bold=True, underline=True, color="yellow")
BAR = Style(bold=True, color="cyan")
SELECTED = Style(bold=True, reverse=True)
WARNING = Style(color="yellow")
KEY = Style(bold=True, color="cyan")


def is_match(style: Style | None) -> bool:
    return bool(style and style.bold and style.underline and style.color == MATCH.color)
