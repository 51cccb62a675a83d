"""Draw a part of a document in lines of a given width: Markdown, code or plain text, with its matches highlighted.

Imports Rich's Markdown and Pygments, which are slow, so import this module only to draw. Documents are hostile:
characters that control a terminal are replaced, and no link reaches the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from rich.console import Console
from rich.markdown import Heading, Markdown
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text
from textual.strip import Strip

from gnoctl.printing import text
from gnoctl.ui import styles
from gnod.protocol.documents import DocumentText
from gnod.types import canonical_line, source_line

_CONSOLE = Console(color_system="standard", legacy_windows=False, force_terminal=True, no_color=False, _environ={})
_FRONTMATTER = re.compile(r"(---|\+\+\+)\n.*?\n\1\n", re.DOTALL)
LONGEST = 2000
"""The limit of cells per line; minified code and data have lines of megabytes."""
MOST_PARSED = 100_000
"""Characters. Parsing more would delay a key."""
_DELIMITERS = re.compile(r"[|:\- ]+")
_CELL_ENDS = re.compile(r"(?<!\\)\|")
CODE_THEME = "ansi_dark"


class DrawnBlock(NamedTuple):
    """The lines of one block of a document, which begins at `line` of the document."""

    line: int
    strips: list[Strip]


def draw(document: DocumentText, words: list[str], width: int) -> Iterator[DrawnBlock]:
    """Yield the blocks of a document's text in order. `words` are highlighted."""
    pattern = _pattern(words)
    first = canonical_line(document.line_map, document.start_line)
    shown = "\n".join(text.clip(line, LONGEST) for line in text.block(document.text).expandtabs(4).split("\n"))
    for line, strips in _blocks(document, shown, width):
        yield DrawnBlock(
            source_line(document.line_map, first + line), [_highlighted(strip, pattern) for strip in strips]
        )


def _blocks(document: DocumentText, shown: str, width: int) -> Iterator[tuple[int, list[Strip]]]:
    if len(shown) > MOST_PARSED:
        yield from _plain(shown, width)
    elif document.converter.startswith(("code/", "text/")):
        yield from _code(shown, document.path, width)
    elif document.mime == "application/pdf":
        yield from _plain(shown, width)
    elif document.start_line == 1 and (front := _FRONTMATTER.match(shown)):
        lines = front[0].count("\n")
        yield from ((at, [strip.apply_style(styles.DIM) for strip in strips]) for at, strips in _plain(front[0], width))
        yield from ((lines + at, strips) for at, strips in _markdown(shown[front.end() :], width))
    else:
        yield from _markdown(shown, width)


def _markdown(shown: str, width: int) -> Iterator[tuple[int, list[Strip]]]:
    """Yield the top-level blocks. Each is drawn separately, so that its line is known."""
    lines = _with_header(shown.split("\n"))
    added = len(lines) - shown.count("\n") - 1
    shown = "\n".join(lines)
    starts = [token.map[0] for token in _parser().parse(shown) if token.level == 0 and token.map and token.nesting >= 0]
    # Text before the first block and between blocks, such as link definitions, has no token.
    starts = sorted({0, *starts})
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        block = "\n".join(lines[start:end])
        if block.strip():
            strips = _strips(_Markdown(block, code_theme=CODE_THEME, hyperlinks=False), width)
            yield max(0, start - added), [*_trimmed(strips), Strip.blank(width)]


def _with_header(lines: list[str]) -> list[str]:
    """Give a table that begins before these lines an empty header, because a table needs one."""
    is_row = lines[0].startswith("|") and len(lines) > 1 and lines[1].startswith("|")
    if not is_row or _DELIMITERS.fullmatch(lines[1]):
        return lines
    columns = max(1, len(_CELL_ENDS.findall(lines[0])) - 1)
    return ["|" + "  |" * columns, "|" + " --- |" * columns, *lines]


class _Heading(Heading):
    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Markdown(Markdown):
    elements = {**Markdown.elements, "heading_open": _Heading}


def _trimmed(strips: list[Strip]) -> list[Strip]:
    filled = [at for at, strip in enumerate(strips) if strip.text.strip()]
    return strips[filled[0] : filled[-1] + 1] if filled else []


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt().enable("table").enable("strikethrough")


def _code(shown: str, path: str, width: int) -> Iterator[tuple[int, list[Strip]]]:
    """Yield the lines one by one. Long lines are cut, as in an editor."""
    lexer = _lexer(path)
    syntax = Syntax(shown, lexer or "text", theme=CODE_THEME, background_color="default")
    for at, line in enumerate(syntax.highlight(shown).split("\n", allow_blank=True)):
        line.no_wrap, line.overflow = True, "ellipsis"
        yield at, _strips(line, width)


def _plain(shown: str, width: int) -> Iterator[tuple[int, list[Strip]]]:
    for at, line in enumerate(shown.split("\n")):
        yield at, _strips(Text(line), width)


def _lexer(path: str) -> Lexer | None:
    try:
        return get_lexer_for_filename(path)
    except ClassNotFound:
        return None


def _strips(drawn: Markdown | Text, width: int) -> list[Strip]:
    options = _CONSOLE.options.update(width=width, height=None, highlight=False)
    return [Strip(line) for line in _CONSOLE.render_lines(drawn, options, pad=False)]


def _pattern(words: list[str]) -> re.Pattern[str] | None:
    """Match whole words, except at an asterisk, where the word continues. Chinese and Japanese words have no edges."""
    parts = [_pattern_of(word) for word in words if word.strip("*")]
    return re.compile("|".join(sorted(parts, key=len, reverse=True)), re.IGNORECASE) if parts else None


def _pattern_of(word: str) -> str:
    before, after = (r"\b" if word.isascii() and end != "*" else "" for end in (word[0], word[-1]))
    return f"{before}{re.escape(word.strip('*'))}{after}"


def _highlighted(strip: Strip, pattern: re.Pattern[str] | None) -> Strip:
    """Style the matches of a drawn line. They may span several segments."""
    found = [match.span() for match in pattern.finditer(strip.text)] if pattern else []
    if not found:
        return strip
    pieces: list[Segment] = []
    at = 0
    for segment in strip:
        pieces += _cut(segment, at, found)
        at += len(segment.text)
    return Strip(pieces)


def _cut(segment: Segment, at: int, found: list[tuple[int, int]]) -> Iterator[Segment]:
    shown, style = segment.text, segment.style or styles.PLAIN
    edges = sorted({0, len(shown), *(min(max(edge - at, 0), len(shown)) for span in found for edge in span)})
    for start, end in pairwise(edges):
        is_match = any(begin <= at + start < stop for begin, stop in found)
        yield Segment(shown[start:end], style + styles.MATCH if is_match else style)
