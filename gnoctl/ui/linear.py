"""`gnoctl ui --linear`: the same search in lines, for screen readers and plain terminals. Moves no cursor.

A line is a query, or a command that begins with `:`. Must not depend on Textual or Rich.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

from gnoctl.opening import starting as programs
from gnoctl.opening.viewers import choose
from gnoctl.printing import answers, text
from gnoctl.printing.hits import citation, render_hit
from gnoctl.printing.output import NOTHING_INDEXED
from gnoctl.printing.terminal import Terminal
from gnoctl.printing.wording import corrected, count, missed_by
from gnoctl.ui.connections import DEPTHS, LinkRequest, PaneEntry, neighbourhood, questions, sections
from gnoctl.ui.narrowing import Narrowing
from gnoctl.ui.session import MODES
from gnod.client.blocking import Client
from gnod.errors import GnoError, UsageError
from gnod.protocol import search as wire
from gnod.protocol.base import NoParams
from gnod.protocol.collections import CollectionListResult
from gnod.protocol.documents import DocumentLocateParams, DocumentPlace

MOST = 100
AT_ONCE = 10
PREVIEW_LINES = 20

COMMANDS = {
    "NUMBER": "open that hit; with --print: print its path and end",
    ":p NUMBER": "preview: print the lines around that hit",
    ":c NUMBER": "print its citation",
    ":s NUMBER": "find similar documents",
    ":l NUMBER": "list its links, backlinks, mentions without a link, and related documents",
    ":t NUMBER": "list the documents around it as a tree",
    ":b": "back to the previous list",
    ":a QUESTION": "answer a question with quotes",
    ":m MODE": "keyword, vector (by meaning) or hybrid (both)",
    ":n": "next hits",
    ":q": "quit; so does Ctrl-D",
}


class Dialogue:
    """`say` prints one line. `chosen`: the path that was chosen, if `prints`."""

    def __init__(
        self, client: Client, say: Callable[[str], object], mode: str, narrowing: Narrowing, *, prints: bool = False
    ) -> None:
        self.chosen: str | None = None
        self.is_over = False
        self._client = client
        self._say = say
        self._mode = mode
        self._narrowing = narrowing
        self._prints = prints
        self._query = ""
        self._hits: list[wire.Hit] = []
        self._shown = 0
        self._visited: list[Callable[[], None]] = []
        """The origins of the lists of hits, the current one last."""

    def greet(self) -> None:
        self._guard(self._greet)

    def take(self, line: str) -> None:
        line = line.strip()
        if line.isdecimal():
            self._guard(lambda: self._open(self._hit(line)))
        elif line.startswith(":"):
            name, _, rest = line[1:].partition(" ")
            self._guard(lambda: self._command(name, rest.strip()))
        elif line:
            self._guard(lambda: self._visit(lambda: self._search(line)))

    def _guard(self, answer: Callable[[], None]) -> None:
        try:
            answer()
        except (GnoError, OSError) as error:
            self._say(text.block(str(error)))

    def _greet(self) -> None:
        listed = self._client.call("collection.list", NoParams(), CollectionListResult)
        documents = count(
            sum(collection.documents for collection in listed.collections)
            + sum(each.documents or 0 for each in listed.attached),
            "document",
        )
        self._say(
            f"{documents}. Type a query, or :h for help." if listed.collections or listed.attached else NOTHING_INDEXED
        )

    def _command(self, name: str, rest: str) -> None:
        commands: dict[str, Callable[[], None]] = {
            "p": lambda: self._preview(self._hit(rest)),
            "c": lambda: self._print(citation(self._hit(rest))),
            "s": lambda: self._visit(partial(self._similar, self._hit(rest))),
            "l": lambda: self._visit(partial(self._links, self._hit(rest))),
            "t": lambda: self._visit(partial(self._tree, self._hit(rest))),
            "b": self._back,
            "a": lambda: self._ask(rest or self._query),
            "m": lambda: self._use(rest),
            "n": self._next,
            "q": self.end,
            "h": self._help,
        }
        if name not in commands:
            raise UsageError(f"there is no command :{name}; :h lists them")
        commands[name]()

    def end(self) -> None:
        self.is_over = True

    def _print(self, line: str) -> None:
        self._say(text.block(line))

    def _help(self) -> None:
        for name, meaning in COMMANDS.items():
            self._say(f"{name}: {meaning}")

    def _use(self, mode: str) -> None:
        if mode not in MODES:
            raise UsageError(f"there is no mode {mode or 'without a name'}: type one of {', '.join(MODES)}")
        self._mode = mode
        self._say(f"searching by {mode}")

    def _hit(self, number: str) -> wire.Hit:
        if not number.isdecimal() or not 1 <= int(number) <= len(self._hits):
            raise UsageError(f"there is no hit {number}" if number else "type the number of a hit after it")
        return self._hits[int(number) - 1]

    def _search(self, query: str) -> None:
        self._query = query
        method, kind = MODES[self._mode]
        self._find(method, kind, f"for {query}", query=query)

    def _similar(self, hit: wire.Hit) -> None:
        self._find("search.similar", wire.SearchSimilarParams, f"like {hit.title}", ref=hit.uri)

    def _visit(self, listing: Callable[[], None]) -> None:
        listing()
        self._visited.append(listing)

    def _back(self) -> None:
        if len(self._visited) < 2:
            raise UsageError("there is no previous list")
        self._visited.pop()
        self._visited[-1]()

    def _links(self, hit: wire.Hit) -> None:
        self._list(questions(hit.uri, MOST))

    def _tree(self, hit: wire.Hit) -> None:
        self._list([neighbourhood(hit.uri, DEPTHS[1])])

    def _list(self, asked: list[LinkRequest]) -> None:
        """Print the sections of the answers. Their entries become the current hits."""
        answers = [self._client.call(*each) for each in asked]
        self._hits = []
        for section in (section for answer in answers for section in sections(answer)):
            self._say(section.title)
            for entry in section.entries:
                self._entry(entry)
            if section.rest:
                self._say(section.rest)
        self._shown = len(self._hits)

    def _entry(self, entry: PaneEntry) -> None:
        number = ""
        if entry.hit:
            self._hits.append(entry.hit)
            number = f"{len(self._hits)}. "
        self._say(f"{number}{entry.shown}")
        if entry.more:
            self._say(f"  {entry.more}")

    def _find(self, method: str, kind: type[wire.FilterParams], what: str, **asked: str) -> None:
        params = kind(limit=MOST, **self._narrowing.params(), **asked)  # type: ignore[arg-type]
        result = self._client.call(method, params, wire.SearchResult)
        self._hits, self._shown = result.hits, 0
        for remark in [*corrected(result.corrections), *result.hints, missed_by(result.freshness)]:
            if remark:
                self._print(remark)
        self._print(f"{count(len(result.hits), 'hit')} {what}" if result.hits else f"no results {what}")
        if result.hits:
            self._next()

    def _next(self) -> None:
        if self._shown >= len(self._hits):
            raise UsageError("there are no more hits")
        for number, hit in enumerate(self._hits[self._shown : self._shown + AT_ONCE], self._shown + 1):
            head, *rest = render_hit(hit, Terminal())
            self._say(f"{number}. {head}")
            for line in rest:
                self._say(line)
        self._shown = min(self._shown + AT_ONCE, len(self._hits))
        if self._shown < len(self._hits):
            self._say(f"hits 1 to {self._shown} of {len(self._hits)}; :n shows the next")

    def _preview(self, hit: wire.Hit) -> None:
        document = self._client.get(ref=hit.uri, start_line=hit.line, max_lines=PREVIEW_LINES)
        self._print(f"{hit.title}, lines {document.start_line} to {document.end_line} of {document.total_lines}")
        self._print(document.text)

    def _ask(self, question: str) -> None:
        if not question:
            raise UsageError("type a question after it")
        params = wire.AskParams(question=question, **self._narrowing.params())  # type: ignore[arg-type]
        for line in answers.render(self._client.call("ask.answer", params, wire.AskResult), Terminal()):
            self._say(line)

    def _open(self, hit: wire.Hit) -> None:
        place = self._client.call("document.locate", DocumentLocateParams(ref=f"{hit.uri}:{hit.line}"), DocumentPlace)
        if self._prints:
            self.chosen = place.source
            self.end()
            return
        opening = choose(programs.target_of(place), programs.this_system(), configured=place.viewer)
        if opening.has_window:
            programs.show(opening, place)
        else:
            subprocess.run(opening.words, check=False)


def converse(dialogue: Dialogue, lines: Iterator[str]) -> None:
    """Answer each line until the user quits."""
    dialogue.greet()
    for line in lines:
        dialogue.take(line)
        if dialogue.is_over:
            return


def typed(prompt: str) -> Iterator[str]:
    """Yield the lines of standard input; on a terminal, with readline's line editing."""
    if sys.stdin.isatty():
        import readline  # noqa: F401
    else:
        prompt = ""
    while True:
        try:
            yield input(prompt)
        except EOFError:
            return
