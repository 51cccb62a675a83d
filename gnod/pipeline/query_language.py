"""Read a query: terms, `"quoted phrases"`, `-negation`. Nothing more, and no FTS5 syntax shows through.

Any string is a query or a QuerySyntaxError that says what is wrong.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gnod.errors import QuerySyntaxError

_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "＂": '"'})
_QUOTED = re.compile(r'"[^"]*"')
# A minus starts a negation at the start of a word only, and not twice: `--amend` is an option's name.
_TOKEN = re.compile(r'(?P<minus>-(?=["\w]))?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))|(?P<stray>")')


# From so many words outside quotation marks on, a query is prose.
PROSE_WORDS = 8


class Clause(NamedTuple):
    """One piece of a query. `text` is as written; a phrase's words belong together."""

    text: str
    is_phrase: bool = False
    is_negated: bool = False


def parse(query: str) -> list[Clause]:
    """Return the clauses in order. Raises QuerySyntaxError: empty, an unmatched quote, or negations only.

    In a sentence or more, quotation marks are punctuation: they make no phrases, and need not match. (nDCG@10 of cacm,
    where 7 of 52 topics quote: .464 as operators, .511 as punctuation.)
    """
    text = _balanced(query.replace("\x00", " "))
    if _is_prose(text):
        text = text.replace('"', " ")
    elif text.count('"') % 2:
        raise QuerySyntaxError(
            "a quotation mark is not closed: quote phrases on both sides", {"reason": "unmatched_quote"}
        )
    clauses = [clause for match in _TOKEN.finditer(text) if (clause := _clause(match))]
    if not clauses:
        raise QuerySyntaxError("the query has no words to search for", {"reason": "empty_query"})
    if all(clause.is_negated for clause in clauses):
        raise QuerySyntaxError(
            "a query of negations only would be everything else: add a word to search for", {"reason": "only_negations"}
        )
    return clauses


def _is_prose(text: str) -> bool:
    """Tell whether enough words stand outside of quotation marks. Of unmatched ones, the last opens nothing."""
    outside = _QUOTED.sub(" ", text)
    return sum(any(map(str.isalnum, word)) for word in outside.split()) >= PROSE_WORDS


def _balanced(text: str) -> str:
    """Let typographic quotes mean quotes, unless one stands alone (a German „ or an apostrophe's neighbour)."""
    if '"' in text:
        return text
    plain = text.translate(_QUOTES)
    return text if plain.count('"') % 2 else plain


def _clause(match: re.Match[str]) -> Clause | None:
    is_phrase = match["phrase"] is not None
    text = match["phrase"] if is_phrase else match["word"]
    if not text or not any(c.isalnum() for c in text):
        return None
    return Clause(text, is_phrase, match["minus"] is not None)
