"""The words of a query that may be corrected, with their places. Pure.

Quoted and excluded words are meant as written, and so are numbers, identifiers, names of fields and runs of scripts
without spaces.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from gnod.analysis.common_words import is_common
from gnod.analysis.terms import is_unspaced
from gnod.search.query.parsing import MAX_CHARACTERS
from gnod.store.keyword_index.vocabulary import MAX_LETTERS

_MARKS = str.maketrans(dict.fromkeys("“”„«»＂", '"'))
_QUOTED = re.compile(r'"[^"]*"')
_TOKEN = re.compile(r"\S+")
_AROUND = ".,;!?()[]{}<>'’…"
# Shorter words are abbreviations, or similar to too many others. A word of SHORT letters may lack one letter.
MIN_LETTERS, SHORT = 4, 3
# Pronouns are in few documents and similar to other words, so they are not corrected.
_PRONOUNS = frozenset(
    f"{first}{second}"
    for first in ("any", "some", "every", "no")
    for second in ("one", "body", "thing", "where", "how", "time", "times")
) | {"else", "elsewhere", "whether", "itself", "himself", "herself", "myself", "yourself", "themselves", "ourselves"}
# Text recognition reads o for 0, l for 1 and s for 5. A word with more than two digits is an identifier, because two
# corrections cannot replace them.
_WITH_DIGITS = re.compile(r"(?=.*[^\W\d_].*[^\W\d_])(?!(?:\D*\d){3})[^\W_]*[015][^\W_]*[^\W\d_]")


class QueryWord(NamedTuple):
    """`text` is at `start` of the query. `is_open`: it may be corrected; the others are its neighbours."""

    start: int
    text: str
    is_open: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def query_words(query: str) -> list[QueryWord]:
    """Return the words outside of quotation marks, without exclusions."""
    plain = query[:MAX_CHARACTERS].translate(_MARKS)
    plain = _QUOTED.sub(lambda match: "-" * len(match[0]), plain)
    found = (_word(match) for match in _TOKEN.finditer(plain) if not match[0].startswith("-"))
    return [word for word in found if word]


def _word(match: re.Match[str]) -> QueryWord | None:
    text = match[0].lstrip(_AROUND)
    start, text = match.end() - len(text), text.rstrip(_AROUND)
    if not text or '"' in text or not _is_word(text):
        return None
    return QueryWord(start, text, _is_open(text))


def _is_word(text: str) -> bool:
    if is_unspaced(text) or len(text) > MAX_LETTERS:
        return False
    is_plain = text[1:] == text[1:].lower() or text.isupper()
    return is_plain and (bool(_WITH_DIGITS.fullmatch(text)) or all(map(_is_letter, text)))


def _is_open(text: str) -> bool:
    # A short word in capitals is an abbreviation.
    is_short = len(text) < (MIN_LETTERS + 2 if text.isupper() else SHORT)
    return not is_short and not is_common(text.lower()) and text.lower() not in _PRONOUNS


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"
