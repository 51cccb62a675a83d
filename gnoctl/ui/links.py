"""Ctrl-L: the connections of a document, beside a preview of the selected entry.

Enter follows an entry: the screen then shows the connections of that document. Backspace and Esc go back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen

from gnoctl.printing import text
from gnoctl.ui import styles
from gnoctl.ui.connections import DEPTHS, LinkRequest, PaneEntry, Section, neighbourhood, questions, sections
from gnoctl.ui.lines import ShownLine, ShownLines
from gnoctl.ui.preview import PreviewPane
from gnoctl.ui.session import Daemon
from gnod.errors import GnoError
from gnod.protocol.search import Hit

FIRST_LIMIT = 100
MOST = 1000
QUIET_S = 0.25

Choose = Callable[[str], Awaitable[None]]


class LinkPane(ModalScreen[None]):
    """`choose` opens a file at a place."""

    DEFAULT_CSS = """
    LinkPane #results { border: round ansi_cyan; }
    LinkPane ShownLines { height: 1fr; }
    """
    BINDINGS = [
        Binding("escape,backspace", "back", show=False),
        Binding("tab", "preview", show=False),
        Binding("t", "tree", show=False),
        Binding("m", "more", show=False),
        Binding("ctrl+o", "open", show=False),
        *(Binding(str(depth), f"depth({depth})", show=False) for depth in DEPTHS),
    ]

    def __init__(self, hit: Hit, daemon: Daemon, choose: Choose) -> None:
        super().__init__()
        self.visited = [(hit, 0)]
        """The documents on the way back, each with the entry that was selected."""
        self.depth: int | None = None
        """How far the tree reaches; None if the links are shown instead of a tree."""
        self._daemon = daemon
        self._choose = choose
        self._limit = FIRST_LIMIT
        self._entries: list[PaneEntry] = []

    def compose(self) -> ComposeResult:
        with Horizontal():
            with Vertical(id="results") as frame:
                frame.border_subtitle = "Enter follows · Esc back · T tree · Ctrl-O opens"
                yield ShownLines()
            yield PreviewPane(self._daemon, id="preview")

    def on_mount(self) -> None:
        self.lines, self.preview = self.query_one(ShownLines), self.query_one(PreviewPane)
        self.lines.focus()
        self._load()

    def on_unmount(self) -> None:
        self.preview.close()

    @property
    def _hit(self) -> Hit:
        return self.visited[-1][0]

    @property
    def selected(self) -> PaneEntry | None:
        at = self.lines.cursor
        return self._entries[at] if at < len(self._entries) else None

    # Actions of the user

    @on(ShownLines.Moved)
    def preview_selected(self) -> None:
        entry = self.selected
        self.preview.show(entry.hit if entry and entry.hit else self._hit)

    @on(ShownLines.Chosen)
    def follow_entry(self) -> None:
        entry = self.selected
        if entry and entry.hit:
            self.visited[-1] = (self._hit, self.lines.cursor)
            self.visited.append((entry.hit, 0))
            self._load()

    def action_back(self) -> None:
        if self.focused is self.preview:
            self.action_preview()
        elif len(self.visited) > 1:
            self.visited.pop()
            self._load()
        else:
            self.dismiss()

    def action_preview(self) -> None:
        reads = self.focused is self.preview
        self.set_class(not reads, "reading")
        (self.lines if reads else self.preview).focus()

    def action_tree(self) -> None:
        self.depth = None if self.depth else DEPTHS[1]
        self._load()

    def action_depth(self, depth: int) -> None:
        if self.depth:
            self.depth = depth
            self._load()

    def action_more(self) -> None:
        self._limit = min(MOST, self._limit * 4)
        self.follow()

    async def action_open(self) -> None:
        entry = self.selected
        hit = entry.hit if entry and entry.hit else self._hit
        await self._choose(f"{hit.uri}:{hit.line}")

    # Events of the daemon

    def follow(self) -> None:
        """Show the current state after a change of the index."""
        self.run_worker(self._ask(QUIET_S, None), exclusive=True, group="links")
        if self.preview.hit:
            self.preview.show(self.preview.hit, again=True)

    def _load(self) -> None:
        hit, cursor = self.visited[-1]
        self.query_one("#results").border_title = text.line(hit.title)
        self.run_worker(self._ask(0, cursor), exclusive=True, group="links")

    async def _ask(self, pause_s: float, cursor: int | None) -> None:
        """Request the connections, and show them. `cursor`: the entry to select for another document; None: the same
        entry stays selected."""
        await asyncio.sleep(pause_s)
        shown: list[Section] = []
        ref = self._hit.uri
        for question in [neighbourhood(ref, self.depth)] if self.depth else questions(ref, self._limit):
            shown += await self._answered(question)
            if cursor == 0:  # a new document: show each answer as it arrives
                self._show(shown, cursor)
                cursor = None
        self._show(shown, cursor)

    async def _answered(self, question: LinkRequest) -> list[Section]:
        try:
            return sections(await self._daemon.call(*question))
        except GnoError as error:
            return [Section(_NAMES[question[0]], [], text.line(error.message))]

    def _show(self, shown: list[Section], cursor: int | None) -> None:
        before = self.selected
        self._entries = [entry for section in shown for entry in section.entries]
        if cursor is None and before in self._entries:
            cursor = self._entries.index(before)
        self.lines.show([*_lines(shown)], cursor=cursor)
        self.preview_selected()


_NAMES = {
    "document.links": "Links",
    "links.mentions": "Mentions without a link",
    "search.similar": "Related",
    "links.graph": "Around it",
}


def _lines(shown: list[Section]) -> Iterator[ShownLine]:
    at = 0
    for number, section in enumerate(shown):
        if number:
            yield ShownLine("")
        yield ShownLine(section.title, styles.KEY)
        for entry in section.entries:
            yield ShownLine(entry.shown, styles.PLAIN if entry.hit else styles.DIM, at)
            if entry.more:
                yield ShownLine(f"  {entry.more}", styles.DIM, at)
            at += 1
        if section.rest:
            yield ShownLine(
                f"{section.rest}{'; M shows them' if section.rest.endswith('more') else ''}", styles.WARNING
            )
