"""Draw quotes, an answer with its sources, and the model's text while it is written.

Quotes stay. Text that is not checked yet is dim, below a line that says so, and disappears when the checked answer
arrives, because it may be unsupported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from gnoctl.printing import text
from gnoctl.printing.hits import INDENT, corrections, explanation, remarks
from gnoctl.printing.terminal import DIM, YELLOW, Terminal
from gnoctl.printing.wording import also, at_lines
from gnod.protocol.base import AnswerSource, ProgressValue, Quote
from gnod.protocol.search import AskResult

_NOT_FOUND = "Your documents do not say."
# The reasons for an answer without a generated text.
_UNWRITTEN = {
    "no_sources": "no passage is near enough for the model to answer from",
    "model_declined": "the model finds no answer in these sources",
    "unsupported": "no source supports what the model wrote",
}
_DRAFT = "not checked yet:"
_CUT = {
    "length": "cut off: use --max-tokens for a longer answer",
    "time": "cut off: the model took too long",
    "repetition": "cut off: the model repeated itself",
}


def render(result: AskResult, terminal: Terminal, *, quotes: bool = True) -> Iterator[str]:
    """Yield the lines of the whole answer. Every character of a document or a model in them is checked. `quotes`:
    include the quotes; false if they are drawn already."""
    if quotes:
        yield from render_quotes(result.quotes, terminal)
    if result.answer:
        yield from terminal.wrap(result.answer)
        if cut := _CUT.get(result.finish or ""):
            yield terminal.paint(f"({cut})", YELLOW)
    elif not result.quotes:
        yield _NOT_FOUND
    if result.no_model_reason:
        yield terminal.paint(f"(quotes only: {text.line(result.no_model_reason)})", DIM)
    elif result.answered and (why := _UNWRITTEN.get(result.reason or "")):
        yield terminal.paint(f"({why})", DIM)
    if result.sources:
        yield ""
    for source in cited_first(result.sources):
        line = source_line(source, terminal)
        yield line if source.cited else terminal.paint(line, DIM)
        if copies := also(source.also, source.also_left_out):
            yield terminal.paint(terminal.clip(INDENT + text.line(copies)), DIM)
    yield from corrections(result, terminal)
    yield from remarks(result, terminal)
    if result.explain:
        yield from (terminal.paint(line, DIM) for line in _quote_explanation(result.quotes))
        yield terminal.paint(_confidence(result), DIM)
        yield from (terminal.paint(line, DIM) for line in explanation({"stages": result.explain.get("stages")}))


def render_quotes(quotes: Sequence[Quote], terminal: Terminal) -> Iterator[str]:
    """Yield the lines of the quotes: for each its place, its text, and a blank line. A line above the quotes says so if
    they probably do not answer the question."""
    if quotes and quotes[0].perhaps:
        yield f"{_NOT_FOUND} Perhaps:"
        yield ""
    for quote in quotes:
        place = at_lines(quote.line, quote.end_line, quote.location)
        where = text.line(f"{quote.collection}/{quote.path}:{place}")
        yield _beside(where, text.line(quote.heading or quote.title), terminal)
        if copies := also(quote.also, quote.also_left_out):
            yield terminal.paint(terminal.clip(INDENT + text.line(copies)), DIM)
        # Join the lines of a paragraph, because the terminal wraps them anew.
        keeps_lines = quote.kind == "line" or not terminal.width
        yield from terminal.wrap(quote.text if keeps_lines else " ".join(quote.text.split()), INDENT)
        yield ""


class DrawnDraft:
    """Quotes, which stay, and below them the text so far, drawn on the terminal's last lines and erased at the end. A
    context manager, for `Connection.call(on_progress=…)`."""

    def __init__(self, terminal: Terminal) -> None:
        self.has_quotes = False
        self._terminal = terminal
        self._width = (terminal.width or 80) - 1
        self._stage = ""
        self._text = ""
        self._drawn = 0

    def __enter__(self) -> DrawnDraft:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not KeyboardInterrupt:  # in this case, the text stays
            self._draw([])

    def __call__(self, value: ProgressValue) -> None:
        if value.quotes:
            self._draw([])
            self.has_quotes = True
            sys.stdout.write("".join(f"{line}\n" for line in render_quotes(value.quotes, self._terminal)))
        elif value.text:
            self._text += value.text
        elif not value.sources:
            self._stage = _stage(value)
        lines = [*Terminal(width=self._width).wrap(self._text)] if self._text else []
        # Show only the end of a long text: lines that have scrolled away could not be erased.
        shown = [_DRAFT, *lines[-max(1, _height() - 3) :]] if lines else [self._stage]
        self._draw([self._terminal.paint(text.clip(line, self._width), DIM) for line in shown])

    def _draw(self, lines: list[str]) -> None:
        back = f"\x1b[{self._drawn}A" if self._drawn else ""
        if self._drawn or lines:
            sys.stdout.write("".join([back, "\r\x1b[J", *(f"{line}\n" for line in lines)]))
            sys.stdout.flush()
        self._drawn = len(lines)


def can_redraw(terminal: Terminal) -> bool:
    return terminal.width is not None and os.environ.get("TERM", "dumb") != "dumb"


def _stage(value: ProgressValue) -> str:
    of = f" {value.total} sources" if value.stage == "reading" and value.total else ""
    return text.line(f"{value.stage}{of} …")


def _height() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines or 24
    except (OSError, ValueError):
        return 24


def cited_first(sources: Sequence[AnswerSource]) -> list[AnswerSource]:
    return sorted(sources, key=lambda source: (not source.cited, source.number))


def source_line(source: AnswerSource, terminal: Terminal) -> str:
    lines = at_lines(source.line, source.end_line, source.location)
    where = text.line(f"[{source.number}] {source.collection}/{source.path}:{lines}")
    return _beside(where, text.line(source.title), terminal)


def _beside(where: str, title: str, terminal: Terminal) -> str:
    """Return a place and a title in one line. A narrow terminal shows only the end of the place."""
    if terminal.width is None:
        return f"{where}  {title}".rstrip()
    room = terminal.width - text.cells(where) - 2
    return f"{where}  {text.clip(title, room)}".rstrip() if room > 0 else text.clip_start(where, terminal.width)


def _quote_explanation(quotes: Sequence[Quote]) -> Iterator[str]:
    for quote in quotes:
        parts = " · ".join(f"{text.line(name)} {value:.3f}" for name, value in (quote.explain or {}).items())
        yield f"quote {quote.rank} · score {quote.score:.3f} · {parts}"


def _confidence(result: AskResult) -> str:
    components = (result.explain or {}).get("confidence")
    named = components.items() if isinstance(components, dict) else ()
    return " · ".join(
        [f"confidence {result.confidence:.3f}", *(text.line(f"{name} {value:.3f}") for name, value in named)]
    )
