"""The structured form of a query, one search a line: written by people, programs and the expansion model alike.

    lex: keywords, "phrases" and -exclusions        searched by words, in the query language
    vec: a question or a sentence                   searched by meaning
    hyde: a passage that would answer the query     searched by meaning (HyDE: Gao et al. 2022)

Only the form is read here. What the text of a line means is for the stage that searches it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

from gnod.errors import QuerySyntaxError

Kind = Literal["lex", "vec", "hyde"]
KINDS: tuple[Kind, ...] = ("lex", "vec", "hyde")

MAX_LINES = 10
MAX_CHARACTERS = 4096

_NEWLINE = re.compile(r"\r\n|\r|\n")
# Not `lex::parser` and no address: those are words of an ordinary query.
_OURS = re.compile(r"\s*(lex|vec|hyde)\s*:(?![:/\\])(.*)", re.IGNORECASE | re.DOTALL)
_ANY = re.compile(r"\s*([^\W\d_][\w-]{0,31})\s*:(?=\s|\Z)")
_FORMS = "expected lines that begin with lex:, vec: or hyde:"
_MEANT: dict[str, Kind] = {
    **dict.fromkeys(("lexical", "keyword", "keywords", "bm25", "fts", "search", "words", "text", "exact"), "lex"),
    **dict.fromkeys(("vector", "semantic", "embed", "embedding", "meaning", "question", "vsearch", "sem"), "vec"),
    **dict.fromkeys(("passage", "answer", "hypothetical", "document", "example"), "hyde"),
}


class Subquery(NamedTuple):
    """`text` is one line, without blanks at its ends, and not empty."""

    kind: Kind
    text: str


def parse(text: str) -> list[Subquery] | None:
    """Return the lines in order; None: the text is an ordinary query.

    A text is structured when its first line begins with lex:, vec: or hyde:, or when it has several lines and each
    begins with a word and a colon. One line such as `note: this` or `http://…` is an ordinary query.

    Raises QuerySyntaxError with the reason: unknown_prefix, missing_prefix, empty_line, too_many_lines, too_long.
    """
    lines = [line for line in _NEWLINE.split(text) if line.strip()]
    if not _is_structured(lines):
        return None
    if len(lines) > MAX_LINES:
        raise _fault("too_many_lines", f"the query has {len(lines)} lines; at most {MAX_LINES} are searched at once")
    if len(text) > MAX_CHARACTERS:
        raise _fault("too_long", f"the query is longer than {MAX_CHARACTERS:,} characters")
    return [_subquery(line) for line in lines]


def render(subqueries: Iterable[Subquery]) -> str:
    """Return the text that `parse` makes the same of."""
    return "\n".join(f"{each.kind}: {each.text}" for each in subqueries)


def _is_structured(lines: list[str]) -> bool:
    if lines and _OURS.match(lines[0]):
        return True
    return len(lines) > 1 and all(_ANY.match(line) or _OURS.match(line) for line in lines)


def _subquery(line: str) -> Subquery:
    match = _OURS.match(line)
    if match is None:
        raise _unknown(line)
    kind, text = cast(Kind, match[1].lower()), match[2].strip()
    if not text:
        raise _fault("empty_line", f"'{kind}:' has no text: write what to search for, or leave the line out")
    return Subquery(kind, text)


def _unknown(line: str) -> QuerySyntaxError:
    match = _ANY.match(line)
    if match is None:
        shown = line.strip()
        shown = shown if len(shown) <= 60 else shown[:59] + "…"
        return _fault("missing_prefix", f"the line {shown!r} says not how to search for it: {_FORMS}")
    word = match[1].lower()
    close = difflib.get_close_matches(word, [*KINDS, *_MEANT], n=1, cutoff=0.6)
    hint = f"; did you mean '{_MEANT.get(close[0], close[0])}:'?" if close else f"; {_FORMS}"
    return _fault("unknown_prefix", f"a line cannot begin with '{match[1]}:'{hint}")


def _fault(reason: str, message: str) -> QuerySyntaxError:
    return QuerySyntaxError(message, {"reason": reason})
