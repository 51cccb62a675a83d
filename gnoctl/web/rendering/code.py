"""Colour source code with classes of the page's style sheet, because the page's policy refuses inline styles. The
classes are the short names of Pygments."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

# Longer texts and longer lines (minified code) stay plain.
MAX_CHARACTERS = 150_000
MAX_LINE = 2_000
# Longer lines are cut: nobody reads further, and the browser would be busy for seconds.
SHOWN_OF_LINE = 20_000

CLASSES = frozenset(filter(None, STANDARD_TYPES.values()))


def lexer_of_file(name: str) -> Lexer | None:
    found = find_lexer_class_for_filename(name)
    return None if found is None else found(stripnl=False, ensurenl=False)


def lexer_of_language(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None


def coloured(lines: Sequence[str], lexer: Lexer | None) -> list[str]:
    too_long = sum(map(len, lines)) > MAX_CHARACTERS or max(map(len, lines), default=0) > MAX_LINE
    if lexer is None or too_long:
        return [plain(line) for line in lines]
    out: list[list[str]] = [[]]
    tokens = lexer.get_tokens("\n".join(lines))
    for name, same in groupby(tokens, key=lambda token: _class_of(token[0])):
        first, *rest = "".join(text for _, text in same).split("\n")
        out[-1].append(_span(name, first))
        out += [[_span(name, each)] for each in rest]
    return ["".join(parts) for parts in out]


def plain(line: str) -> str:
    if len(line) <= SHOWN_OF_LINE:
        return escape(line)
    cut = f'<span class="cut">… ({len(line) - SHOWN_OF_LINE:,} more characters)</span>'
    return escape(line[:SHOWN_OF_LINE]) + cut


def numbered(lines: Sequence[str], numbers: Sequence[int], kind: str, start: int | None = None) -> str:
    """Return lines of HTML as a block with line numbers. `start`: the line of the block; default: the first number."""
    rows = (
        f'<span class="line" data-line="{number}">{line}\n</span>' for number, line in zip(numbers, lines, strict=True)
    )
    return f'<pre class="{kind}" data-line="{start or numbers[0]}"><code>{"".join(rows)}</code></pre>'


def _span(name: str, text: str) -> str:
    return f'<span class="{name}">{escape(text)}</span>' if name and text else escape(text)


@functools.cache
def _class_of(kind: _TokenType) -> str:
    while kind not in STANDARD_TYPES and kind.parent is not None:
        kind = kind.parent
    return STANDARD_TYPES.get(kind, "")
