"""The terminal UI: its widgets, and the action of each key. `session` searches, `connection` watches.

The first paint needs no daemon: both start after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import shutil
import subprocess
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from gnoctl.printing import hits, text
from gnoctl.ui import bars, styles
from gnoctl.ui.connection import Watched
from gnoctl.ui.keys import KEYS
from gnoctl.ui.narrowing import Narrowing
from gnoctl.ui.preview import PreviewPane
from gnoctl.ui.results import ResultList
from gnoctl.ui.session import FIRST_LIMIT, MODES, UiSession
from gnod.client.asynchronous import AsyncClient
from gnod.errors import GnoError
from gnod.paths import IndexPaths
from gnod.protocol.documents import DocumentLocateParams, DocumentPlace
from gnod.protocol.subscription import IndexChanged

if TYPE_CHECKING:
    from gnoctl.ui.links import LinkPane

NARROW = 100
"""With fewer columns, only one of results and preview is visible."""
_COPIED_WITHIN_S = 2.0
_COPIES = (("the path", hits.file_place), ("a citation", hits.citation), ("the address", hits.address))


_SYNTAX = (
    ('"two words"', "a phrase"),
    ("-word", "without a word"),
    ("part*", "words that begin with a part"),
    ("tag:work lang:de after:30d", "fields: tag, type, author, lang, ext, path, title, before, after …"),
    ("@name", "a saved search"),
)


class Query(Input):
    """The query. Arrow keys move in the hits."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "app.move(-1)", show=False),
        Binding("down", "app.move(1)", show=False),
        Binding("pageup", "app.page(-1)", show=False),
        Binding("pagedown", "app.page(1)", show=False),
        Binding("ctrl+home", "app.move(-1000)", show=False),
        Binding("ctrl+end", "app.move(1000)", show=False),
    ]


class Bar(Static):
    """One line of text, which can change without a new layout."""

    def show(self, line: Text) -> None:
        line.no_wrap, line.overflow = True, "ellipsis"
        self.update(line, layout=False)


class Help(ModalScreen[None]):
    """F1: all keys."""

    DEFAULT_CSS = """
    Help { align: center middle; }
    Help VerticalScroll { width: 84; max-width: 100%; height: auto; max-height: 100%; }
    Help VerticalScroll { border: round ansi_cyan; padding: 0 1; }
    """
    BINDINGS = [Binding("escape,f1,enter,q", "dismiss", show=False)]

    def compose(self) -> ComposeResult:
        shown = Text()
        for name, meaning in [*((key.shown, key.help) for key in KEYS), ("", ""), ("In the query", ""), *_SYNTAX]:
            shown.append(f"{name:<12} " if len(name) < 12 else f"{name}  ", styles.KEY).append(f"{meaning}\n")
        with VerticalScroll() as scroll:
            scroll.border_title = "Keys"
            scroll.border_subtitle = "Esc closes"
            yield Static(shown)


class UserInterface(App[str]):
    """`run` returns the path that the user chose, if `prints`."""

    CSS = """
    Screen { layout: vertical; }
    #top { height: 1; }
    #mode { width: auto; color: ansi_cyan; text-style: bold; }
    #query, #query:focus { height: 1; width: 1fr; border: none; padding: 0; background: transparent; }
    #query > .input--cursor { color: ansi_default; background: ansi_default; text-style: reverse; }
    #narrowing { width: auto; max-width: 40%; color: ansi_yellow; }
    #found, #status, #keys { height: 1; }
    #body { height: 1fr; }
    #results { width: 1fr; }
    #preview { width: 1fr; border-left: solid ansi_bright_black; }
    #preview:focus { border-left: heavy ansi_cyan; }
    .-narrow #preview { display: none; border-left: none; }
    .-narrow.reading #preview { display: block; }
    .-narrow.reading #results { display: none; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW, "-wide")]
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key.name, key.action, show=False, priority=True) for key in KEYS if key.action
    ]
    TITLE = "gnoctl ui"

    def __init__(
        self,
        places: IndexPaths,
        *,
        may_start: bool = True,
        query: str = "",
        mode: str = "hybrid",
        narrowing: Narrowing | None = None,
        prints: bool = False,
    ) -> None:
        super().__init__(ansi_color=True)
        if self.no_color:
            os.environ["NO_COLOR"] = "1"  # Textual removes it, but the editor needs it
        self.theme = "ansi-dark"
        self.client = AsyncClient(places, start=may_start)
        self.session = UiSession(self.client, self._show_results)
        self.session.query, self.session.mode = query, mode
        self.session.narrowing = narrowing or Narrowing()
        self.watched = Watched(self.client, self._connected, self._changed, self._show_state)
        self.prints = prints
        self._note = ""
        self._links: LinkPane | None = None
        self._copied: tuple[str, int] = ("", 0)
        self._bars: dict[str, Bar] = {}

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Bar(f"{self.session.mode} › ", id="mode")
            yield Query(self.session.query, id="query", compact=True, select_on_focus=False)
            yield Bar(id="narrowing")
        yield Bar(id="found")
        with Horizontal(id="body"):
            yield ResultList(id="results")
            yield PreviewPane(self.client, id="preview")
        yield Bar(id="status")
        yield Bar(id="keys")

    def on_mount(self) -> None:
        self.results, self.preview = self.query_one(ResultList), self.query_one(PreviewPane)
        self.input = self.query_one(Query)
        # Keep the widgets: an event of the daemon may arrive while the screen is being closed, when a query finds none.
        self._bars = {str(bar.id): bar for bar in self.query(Bar)}
        self.input.cursor_blink = False  # a terminal must stay silent while nobody types
        self.input.focus()
        self._show_top()
        self._show_state()
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))  # the shell has drawn over it
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Do the work that the first paint did not need."""
        self.run_worker(self.watched.follow(), group="watch")
        self.run_worker(partial(import_module, "gnoctl.ui.rendering"), thread=True)
        gc.freeze()
        gc.enable()

    async def on_unmount(self) -> None:
        self.session.close()
        self.preview.close()
        self.workers.cancel_group(self, "watch")
        await self.client.close()

    def on_resize(self, event: Resize) -> None:
        self.query_one("#keys", Bar).show(bars.keys(event.size.width, "print" if self.prints else "open"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """While a dialogue is open, only its own keys work."""
        return action in ("quit", "suspend_process", "move", "page") or len(self.screen_stack) < 2

    # Actions of the user

    @on(Input.Changed, "#query")
    def search(self, event: Input.Changed) -> None:
        self._note = ""
        self.session.search_for(event.value)

    def action_move(self, by: int) -> None:
        self.results.move(by)

    def action_page(self, direction: int) -> None:
        self.results.move(direction * self.results.page)

    def action_preview(self) -> None:
        """Move the focus between query and preview. If there is room for only one of them, show that one."""
        reads = self.focused is self.preview
        self.screen.set_class(not reads, "reading")
        (self.input if reads else self.preview).focus()

    def action_leave(self) -> None:
        if self.focused is self.preview:
            self.action_preview()
        elif self.session.similar_to:
            self.session.find_similar(None)
        elif self.input.value:
            self.input.value = ""
        else:
            self.exit()

    def action_mode(self) -> None:
        modes = [mode for mode in MODES if mode == "keyword" or self.watched.has_models] or [*MODES]
        at = modes.index(self.session.mode) if self.session.mode in modes else -1
        if len(modes) == 1:
            self.say("no embedding model is configured: `gnoctl models use auto` chooses one")
            return
        self.session.use(modes[(at + 1) % len(modes)])
        self._show_top()
        self._show_state()

    def action_loose(self) -> None:
        self.session.toggle_loose()

    def action_similar(self) -> None:
        if hit := self.results.selected:
            self.session.find_similar(hit)

    def action_copy(self) -> None:
        """Copy the path. Each repetition for the same hit copies something else."""
        if hit := self.results.selected:
            last, times = self._copied
            turn = (times + 1) % len(_COPIES) if last == hit.uri else 0
            self._copied = (hit.uri, turn)
            name, text_of = _COPIES[turn]
            self.copy_to_clipboard(text_of(hit))
            self.say(f"copied {name}; Ctrl-Y again copies {_COPIES[(turn + 1) % len(_COPIES)][0]}")

    def copy_to_clipboard(self, text: str) -> None:
        """Copy with the terminal's escape sequence, which works over SSH. Terminal.app of macOS does not support it, so
        on macOS pass the text to the system as well."""
        super().copy_to_clipboard(text)
        if shutil.which("pbcopy") and "SSH_CONNECTION" not in os.environ:
            utf8 = {**os.environ, "LC_CTYPE": "UTF-8"}  # without it, pbcopy reads Mac Roman
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(["pbcopy"], input=text.encode(), env=utf8, timeout=_COPIED_WITHIN_S, check=False)

    @on(ResultList.Opened)
    async def action_open(self) -> None:
        if hit := self.results.selected:
            if self.prints:
                self.exit(hit.source)
            else:
                await self.open(f"{hit.uri}:{hit.line}")

    async def open(self, ref: str) -> None:
        """Show a file in its program. A terminal program gets the terminal until it ends."""
        from gnoctl.opening import starting as programs
        from gnoctl.opening import viewers

        try:
            place = await self.client.call("document.locate", DocumentLocateParams(ref=ref), DocumentPlace)
            target, system = programs.target_of(place), programs.this_system()
            chosen = await asyncio.to_thread(viewers.choose, target, system, configured=place.viewer)
            if chosen.has_window and not system.has_display:
                self.say(f"no display is available for {chosen.words[0]}: Tab shows the text here")
            elif chosen.has_window:
                await asyncio.to_thread(programs.show, chosen, place)
                self.say(f"opened in {chosen.words[0]}")
            else:
                with self.suspend():
                    subprocess.run(chosen.words, check=False)  # noqa: ASYNC221
        except (GnoError, OSError, SuspendNotSupported) as error:
            self.say(str(error))

    def action_filters(self) -> None:
        from gnoctl.ui.filters import FilterPane

        self.push_screen(FilterPane(self.session, self.client))

    def action_ask(self) -> None:
        from gnoctl.ui.ask import Ask

        if self.session.query.strip():
            self.push_screen(Ask(self.session.query, self.session.narrowing, self.client), self._open_answer)
        else:
            self.say("type a question first")

    async def _open_answer(self, ref: str | None) -> None:
        if ref is not None:
            await self.open(ref)

    def action_links(self) -> None:
        from gnoctl.ui.links import LinkPane

        if hit := self.results.selected:
            self._links = LinkPane(hit, self.client, self.choose)
            self.push_screen(self._links)
        else:
            self.say("select a document first")

    async def choose(self, ref: str) -> None:
        """Open a file, or print its path and end."""
        if not self.prints:
            await self.open(ref)
            return
        place = await self.client.call("document.locate", DocumentLocateParams(ref=ref), DocumentPlace)
        self.exit(place.source)

    def action_help(self) -> None:
        self.push_screen(Help())

    # Events of the daemon

    def _connected(self) -> None:
        self._show_state()
        self.session.again()

    def _changed(self, changed: IndexChanged) -> None:
        self.session.again()
        shown = self.preview.hit
        if shown and any(each.docid == shown.docid for each in changed.indexed):
            self.preview.show(shown, self.preview.sought, again=True)
        if self._links is not None and self._links.is_current:
            self._links.follow()

    # Drawing

    @on(ResultList.Selected)
    def show_selected(self) -> None:
        self.preview.show(self.results.selected, "" if self.session.similar_to else self.session.query)

    @on(ResultList.Resized)
    def fetch_as_many_as_fit(self) -> None:
        self.session.first_limit = max(FIRST_LIMIT, self.results.page)

    @on(ResultList.NearEnd)
    def fetch_more(self) -> None:
        self.session.more()

    def say(self, note: str) -> None:
        self._note = note
        self._show_found()

    def _show_results(self) -> None:
        result = self.session.result
        self.results.is_stale = self.session.is_late
        if not self.session.problem:
            self.results.show(result.hits if result else [], is_new=self.session.is_new)
        self._show_found()
        self._show_empty()
        self._show_narrowing()

    def _show_state(self) -> None:
        self.session.has_models = self.watched.has_models
        self._bars["status"].show(bars.status(self.watched, self.session))
        self._show_empty()

    def _show_found(self) -> None:
        self._bars["found"].show(bars.found(self.session, self._note))

    def _show_empty(self) -> None:
        self.results.notice = bars.empty(self.watched, self.session)

    def _show_top(self) -> None:
        self._bars["mode"].update(Text(f"{self.session.mode} › "))
        self._show_narrowing()

    def _show_narrowing(self) -> None:
        bar, shown = self._bars["narrowing"], text.line(str(self.session.narrowing))
        if str(bar.content) != shown:
            bar.update(Text(shown))
