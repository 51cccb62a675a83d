"""F2: the values of all fields, each with its number of documents. The chosen values narrow the search.

The results behind the pane change at once. The values keep their places while their counts change.
"""

from __future__ import annotations

from collections.abc import Iterator

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from gnoctl.printing import text
from gnoctl.ui import styles
from gnoctl.ui.lines import ShownLine, ShownLines
from gnoctl.ui.narrowing import FIELDS, FilterChoice, Narrowing, shown_value, title_of
from gnoctl.ui.session import EVERYTHING, Daemon, UiSession
from gnod.errors import GnoError
from gnod.protocol.search import SearchLexicalParams, SearchResult

_FEW = 8
"""The number of values that are shown per field at first."""


class FilterPane(ModalScreen[None]):
    DEFAULT_CSS = """
    FilterPane { align: right middle; }
    FilterPane Vertical { width: 46; max-width: 100%; height: 100%; border: round ansi_cyan; }
    FilterPane ShownLines { height: 1fr; }
    """
    BINDINGS = [Binding("escape,f2", "dismiss", show=False), Binding("delete,backspace", "clear", show=False)]

    def __init__(self, session: UiSession, daemon: Daemon) -> None:
        super().__init__()
        self.session = session
        self._daemon = daemon
        self._counts: dict[FilterChoice, int] = {}
        self._unfolded: set[str] = set()
        self._entries: list[FilterChoice | str] = []
        """The selectable entries: a value, or a field, whose other values are then shown."""

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = "Filters"
            frame.border_subtitle = "Space toggles · Del clears · Esc closes"
            yield ShownLines()

    def on_mount(self) -> None:
        self._recount()

    @on(ShownLines.Chosen)
    def choose(self, event: ShownLines.Chosen) -> None:
        entry = self._entries[event.entry]
        if isinstance(entry, str):
            self._unfolded.add(entry)
            self._draw()
        else:
            self._narrow(self.session.narrowing.toggled(entry))

    def action_clear(self) -> None:
        self._narrow(Narrowing())

    def _narrow(self, narrowing: Narrowing) -> None:
        self.session.narrow(narrowing)
        self._draw()
        self._recount()

    def _recount(self) -> None:
        self.run_worker(self._count(), exclusive=True)

    async def _count(self) -> None:
        try:
            counted = await count(self._daemon, self.session.query, self.session.narrowing)
        except GnoError as error:
            self.query_one(ShownLines).show([ShownLine(text.line(error.message), styles.WARNING)])
            return
        # Chosen values stay in the list, with 0 documents.
        chosen = dict.fromkeys(self.session.narrowing.chosen, 0)
        known = dict.fromkeys(self._counts, 0)
        self._counts = {**known, **chosen, **counted}
        self._draw()

    def _draw(self) -> None:
        lines: list[ShownLine] = []
        self._entries = []
        for field in dict.fromkeys([*FIELDS, *(choice.field for choice in self._counts)]):
            lines += self._lines_of(field)
        self.query_one(ShownLines).show(lines)

    def _lines_of(self, field: str) -> Iterator[ShownLine]:
        choices = [choice for choice in self._counts if choice.field == field]
        chosen = self.session.narrowing.chosen
        shown = [each for at, each in enumerate(choices) if at < _FEW or each in chosen or field in self._unfolded]
        if shown:
            yield ShownLine(text.line(title_of(field)), styles.KEY)
        for choice in shown:
            clip = text.clip_start if field == "folder" else text.clip
            name = text.pad(clip(text.line(shown_value(choice)), 26), 26)
            yield self._entry(choice, f"{'[x]' if choice in chosen else '[ ]'} {name}{self._counts[choice]:>8,}")
        if len(shown) < len(choices):
            yield self._entry(field, f"… {len(choices) - len(shown):,} more")

    def _entry(self, entry: FilterChoice | str, shown: str) -> ShownLine:
        self._entries.append(entry)
        return ShownLine(shown, entry=len(self._entries) - 1)


async def count(daemon: Daemon, query: str, narrowing: Narrowing) -> dict[FilterChoice, int]:
    """Return the number of documents for each value, with the filters of the other fields."""
    params = SearchLexicalParams(
        query=query if query.strip() else EVERYTHING,
        limit=1,
        facets=[*FIELDS, "*"],
        prefix_last_term=True,
        **narrowing.params(),  # type: ignore[arg-type]
    )
    result = await daemon.call("search.lexical", params, SearchResult)
    return {FilterChoice(name, each.value): each.count for name, counts in result.facets.items() for each in counts}
