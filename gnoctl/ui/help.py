"""F1: all keys."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from gnoctl.ui import styles
from gnoctl.ui.keys import KEYS

_QUERY = (
    ('"two words"', "a phrase"),
    ("-word", "without a word"),
    ("part*", "words that begin with a part"),
    ("tag:work lang:de after:30d", "fields: tag, type, author, lang, ext, path, title, before, after …"),
    ("@name", "a saved search"),
)


class Help(ModalScreen[None]):
    DEFAULT_CSS = """
    Help { align: center middle; }
    Help VerticalScroll { width: 84; max-width: 100%; height: auto; max-height: 100%; }
    Help VerticalScroll { border: round ansi_cyan; padding: 0 1; }
    """
    BINDINGS = [Binding("escape,f1,enter,q", "dismiss", show=False)]

    def compose(self) -> ComposeResult:
        with VerticalScroll() as scroll:
            scroll.border_title = "Keys"
            scroll.border_subtitle = "Esc closes"
            yield Static(_text())


def _text() -> Text:
    rows = [(key.shown, key.help) for key in KEYS]
    shown = Text()
    for name, meaning in [*rows, ("", ""), ("In the query", ""), *_QUERY]:
        shown.append(f"{name:<12} " if len(name) < 12 else f"{name}  ", styles.KEY).append(f"{meaning}\n")
    return shown
