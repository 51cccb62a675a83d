"""F2: which collections, tags, types, languages and dates are searched, with the number of documents for each.

The results behind it change at once. The values keep their places while their counts change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from gnoctl.printing import text
from gnoctl.ui import styles
from gnoctl.ui.lines import ShownLine, ShownLines
from gnoctl.ui.narrowing import AGES, FIELDS, Narrowing
from gnoctl.ui.session import Daemon, UiSession
from gnod.errors import GnoError
from gnod.protocol.search import SearchLexicalParams, SearchResult

EVERYTHING = "size:>=0"
_VALUES = 20
"""Shown of a field; it may have thousands."""


class FilterChoice(NamedTuple):
    filter: str
    value: str


class FilterPane(ModalScreen[None]):
    DEFAULT_CSS = """
    FilterPane { align: right middle; }
    FilterPane Vertical { width: 46; max-width: 100%; height: 100%; border: round ansi_cyan; }
    FilterPane ShownLines { height: 1fr; }
    """
    BINDINGS = [
        Binding("escape,f2", "dismiss", show=False),
        Binding("delete,backspace", "clear", show=False),
    ]

    def __init__(self, session: UiSession, daemon: Daemon) -> None:
        super().__init__()
        self.session = session
        self._daemon = daemon
        self._counts: dict[FilterChoice, int] = {}

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = "Filters"
            frame.border_subtitle = "Space toggles · Del clears · Esc closes"
            yield ShownLines()

    def on_mount(self) -> None:
        self._recount()

    @on(ShownLines.Chosen)
    def toggle(self, event: ShownLines.Chosen) -> None:
        choice = [*self._counts][event.entry]
        self._narrow(self.session.narrowing.toggled(choice.filter, choice.value))

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
        chosen = dict.fromkeys(_chosen(self.session.narrowing), 0)
        known = dict.fromkeys(self._counts, 0)
        self._counts = _sorted({**chosen, **known, **counted}, [*known])
        self._draw()

    def _draw(self) -> None:
        self.query_one(ShownLines).show([*_lines(self._counts, self.session.narrowing)])


async def count(daemon: Daemon, query: str, narrowing: Narrowing) -> dict[FilterChoice, int]:
    """Return the number of documents for each value, with the filters of the other fields."""
    asked = [_facet(daemon, query, narrowing, field.name, field.filter) for field in FIELDS]
    asked += [_since(daemon, query, narrowing, age) for age in AGES]
    return {choice: number for each in await asyncio.gather(*asked) for choice, number in each.items()}


async def _facet(daemon: Daemon, query: str, narrowing: Narrowing, name: str, filter: str) -> dict[FilterChoice, int]:
    result = await _search(daemon, query, narrowing.without(filter), [name])
    return {FilterChoice(filter, each.value): each.count for each in result.facets.get(name, [])[:_VALUES]}


async def _since(daemon: Daemon, query: str, narrowing: Narrowing, age: str) -> dict[FilterChoice, int]:
    result = await _search(daemon, query, narrowing._replace(since=age), [])
    return {FilterChoice("since", age): result.total}


async def _search(daemon: Daemon, query: str, narrowing: Narrowing, facets: list[str]) -> SearchResult:
    params = SearchLexicalParams(
        query=query if query.strip() else EVERYTHING,
        limit=1,
        facets=facets,
        prefix_last_term=True,
        **narrowing.params(),  # type: ignore[arg-type]
    )
    return await daemon.call("search.lexical", params, SearchResult)


def _chosen(narrowing: Narrowing) -> Iterator[FilterChoice]:
    for field in FIELDS:
        yield from (FilterChoice(field.filter, value) for value in getattr(narrowing, field.filter))
    if narrowing.since:
        yield FilterChoice("since", narrowing.since)


def _sorted(counts: dict[FilterChoice, int], known: list[FilterChoice]) -> dict[FilterChoice, int]:
    """Order by field; within it, what was there stays where it was, and new values follow."""
    fields = [field.filter for field in FIELDS] + ["since"]
    places = {choice: at for at, choice in enumerate([*known, *counts])} if known else {}

    def place(choice: FilterChoice) -> tuple[int, int]:
        return fields.index(choice.filter), places.get(choice, 0)

    return {choice: counts[choice] for choice in sorted(counts, key=place)}


def _lines(counts: dict[FilterChoice, int], narrowing: Narrowing) -> Iterator[ShownLine]:
    titles = {field.filter: field.title for field in FIELDS} | {"since": "Changed in the"}
    before = None
    for entry, (choice, number) in enumerate(counts.items()):
        if choice.filter != before:
            yield ShownLine(titles[choice.filter], styles.KEY)
            before = choice.filter
        mark = "[x]" if narrowing.has(*choice) else "[ ]"
        name = AGES[choice.value] if choice.value in AGES else text.line(choice.value)
        yield ShownLine(f"{mark} {text.pad(text.clip(name, 26), 26)}{number:>8,}", entry=entry)
