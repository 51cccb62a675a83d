"""Ctrl-A: quotes that answer the query, and a model's answer with sources. Enter opens a quote or a source."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from gnoctl.printing import answers, text
from gnoctl.printing.terminal import Terminal
from gnoctl.ui import styles
from gnoctl.ui.lines import ShownLine, ShownLines
from gnoctl.ui.narrowing import Narrowing
from gnod.client.asynchronous import AsyncClient
from gnod.errors import GnoError
from gnod.protocol.base import ProgressValue, Quote
from gnod.protocol.search import AskParams, AskResult


class Ask(ModalScreen[str]):
    """Returns the reference of the quote or source that the user opens."""

    DEFAULT_CSS = """
    Ask Vertical { width: 100%; height: 100%; border: round ansi_cyan; }
    Ask ShownLines { height: 1fr; }
    """
    BINDINGS = [Binding("escape", "dismiss", show=False)]

    def __init__(self, question: str, narrowing: Narrowing, client: AsyncClient) -> None:
        super().__init__()
        self._question = question
        self._narrowing = narrowing
        self._client = client
        self._quotes: list[Quote] = []
        self._draft = ""
        self._refs: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = "Answer"
            frame.border_subtitle = "Enter opens · Esc closes"
            yield ShownLines()

    def on_mount(self) -> None:
        self._show([ShownLine("searching …", styles.DIM)])
        self.run_worker(self._answer())

    @on(ShownLines.Chosen)
    def open_chosen(self, event: ShownLines.Chosen) -> None:
        self.dismiss(self._refs[event.entry])

    async def _answer(self) -> None:
        params = AskParams(question=self._question, **self._narrowing.params())  # type: ignore[arg-type]
        try:
            result = await self._client.call("ask.answer", params, AskResult, on_progress=self._take)
        except GnoError as error:
            self._show([ShownLine(text.line(error.message), styles.WARNING)])
            return
        self._quotes = result.quotes
        self._show([*self._quoted(), *self._answered(result)])

    def _take(self, value: ProgressValue) -> None:
        self._quotes = value.quotes or self._quotes
        self._draft += value.text or ""
        stage = ShownLine("not checked yet:" if self._draft else f"{text.line(value.stage)} …", styles.DIM)
        lines = self._terminal.wrap(self._draft) if self._draft else ()
        draft = [ShownLine(line, styles.DIM) for line in lines]
        self._show([*self._quoted(), stage, *draft])

    def _show(self, lines: list[ShownLine]) -> None:
        self.query_one(ShownLines).show([ShownLine(text.line(self._question), styles.BOLD), ShownLine(""), *lines])

    @property
    def _terminal(self) -> Terminal:
        """The width and abilities for which the lines are drawn."""
        return Terminal(width=max(20, self.size.width - 6))

    def _quoted(self) -> Iterator[ShownLine]:
        self._refs = [f"{quote.uri}:{quote.line}" for quote in self._quotes]
        if self._quotes and self._quotes[0].perhaps:
            yield ShownLine("Your documents do not say. Perhaps:")
            yield ShownLine("")
        for entry, quote in enumerate(self._quotes):
            drawn = answers.render_quotes([structs.replace(quote, perhaps=False)], self._terminal)
            for number, line in enumerate(drawn):
                yield ShownLine(line, styles.PLAIN if number else styles.DIM, entry if line else None)

    def _answered(self, result: AskResult) -> Iterator[ShownLine]:
        unsourced = structs.replace(result, sources=[])
        yield from map(ShownLine, answers.render(unsourced, self._terminal, quotes=False))
        if result.sources:
            yield ShownLine("")
        for source in answers.cited_first(result.sources):
            self._refs.append(f"{source.uri}:{source.line}")
            shown = answers.source_line(source, self._terminal)
            yield ShownLine(shown, styles.PLAIN if source.cited else styles.DIM, len(self._refs) - 1)
