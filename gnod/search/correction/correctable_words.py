"""Find the words of a query that may be corrected, and count how often they occur in the index, alone and next to each
other.

Quoted and excluded words are never corrected, nor are numbers, identifiers, names of fields and runs of unspaced
scripts. Must not depend on corrections.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import NamedTuple

from gnod.analysis.common_words import is_common
from gnod.analysis.terms import Analyzer, is_unspaced
from gnod.search.keyword import lexical
from gnod.search.query.parsing import MAX_CHARACTERS
from gnod.store.connection import Connection
from gnod.store.keyword_index import fulltext
from gnod.store.keyword_index.postings.view import AnyOf
from gnod.store.keyword_index.vocabulary import MAX_LETTERS

# A longer query is a text, and is not corrected.
MAX_WORDS = 64
# A word in at most RARE documents may also be an error, if a similar word is TIMES times as frequent.
RARE, TIMES, RARE_LETTERS = 2, 50, 5
# A term may be this many letters shorter than its word.
LONGEST_ENDING = 4
# A word with fewer letters may be a part of another one.
LETTERS_OF_A_PART = 2
_MARKS = str.maketrans(dict.fromkeys("“”„«»＂", '"'))
_QUOTED = re.compile(r'"[^"]*"')
_TOKEN = re.compile(r"\S+")
_AROUND = ".,;!?()[]{}<>'’…"
# Shorter words are abbreviations, or similar to too many others. A word with SHORT letters may lack one letter.
MIN_LETTERS, SHORT = 4, 3
# Pronouns are in few documents and similar to other words, so they are never corrected.
_PRONOUNS = frozenset(
    f"{first}{second}"
    for first in ("any", "some", "every", "no")
    for second in ("one", "body", "thing", "where", "how", "time", "times")
) | {"else", "elsewhere", "whether", "itself", "himself", "herself", "myself", "yourself", "themselves", "ourselves"}
# Text recognition reads o for 0, l for 1 and s for 5. A word with more than two digits is an identifier: two
# corrections could not replace them all.
_WITH_DIGITS = re.compile(r"(?=.*[^\W\d_].*[^\W\d_])(?!(?:\D*\d){3})[^\W_]*[015][^\W_]*[^\W\d_]")


class QueryWord(NamedTuple):
    """`start`: the position of `text` in the query. `is_open`: it may be corrected; other words only serve as
    neighbours."""

    start: int
    text: str
    is_open: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def query_words(query: str) -> list[QueryWord]:
    """Return the words outside quotation marks, without exclusions."""
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
    if len(text) > MAX_LETTERS or any(map(is_unspaced, text)):
        return False
    is_plain = text[1:] == text[1:].lower() or text.isupper()
    return is_plain and (bool(_WITH_DIGITS.fullmatch(text)) or all(map(_is_letter, text)))


def _is_open(text: str) -> bool:
    # A short word in capitals is an abbreviation.
    is_short = len(text) < (MIN_LETTERS + 2 if text.isupper() else SHORT)
    return not is_short and not is_common(text.lower()) and text.lower() not in _PRONOUNS


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"


class Occurrences:
    """Counts the words of a query. `unfinished`: the user still types the last word. `languages`: those with many
    documents; None: unknown."""

    def __init__(
        self, connection: Connection, text: str, *, unfinished: bool, languages: Collection[str] | None
    ) -> None:
        self.connection = connection
        self.text = text
        self.analyzers = lexical.analyzers_of_index(connection)
        self.words = query_words(text)[:MAX_WORDS]
        self.languages = languages
        self._unfinished = unfinished
        self._main = [analyzer for analyzer in self.analyzers if languages is None or analyzer.language in languages]
        self._times: dict[str, int] = {}

    def needs_correction(self) -> bool:
        """Return whether the query has words that very few documents contain. Fast."""
        if any(map(self._may_be_wrong, self.words)):
            return True
        pairs = zip(self.words, self.words[1:], strict=False)
        joined = {term for first, second in pairs for term in self._joined(first.text.lower(), second.text.lower())}
        return bool(joined) and self.occurs(quoted(joined))

    def may_be_split(self, first: str, second: str) -> bool:
        """Return whether two words may be parts of one word that occurs."""
        joined = self._joined(first, second)
        return bool(joined) and self.occurs(quoted(joined))

    def _joined(self, first: str, second: str) -> set[str]:
        """Return the terms of two words without the space between them; empty if they cannot be parts of one word."""
        is_word = MIN_LETTERS <= len(first + second) <= MAX_LETTERS
        if not is_word or (is_common(first) and is_common(second)):
            return set()
        return self.terms(first + second, self._main)

    def is_part(self, word: str) -> bool:
        return len(word) <= LETTERS_OF_A_PART or self.times(word) <= RARE

    def doubtful(self) -> list[QueryWord]:
        """Return the words that may be errors."""
        found = [word for word in self.words if self._may_be_wrong(word)]
        if self._unfinished and found and found[-1].end == len(self.text) and self._begins_a_word(found[-1].text):
            found.pop()
        return found

    def times(self, word: str) -> int:
        """Return the number of documents with a word, at most RARE + 1."""
        if word not in self._times:
            self._times[word] = self._count(word.lower())
        return self._times[word]

    def exact_times(self, word: str) -> int:
        """Do as `times`, without the limit."""
        times = self.times(word)
        return times if times <= RARE else self.frequency(self.forms(word))

    def _count(self, word: str) -> int:
        """Count documents. Stems of a language with few documents count only in that language: in other documents,
        `issing` would be a form of `is`."""
        times = self.frequency(quoted(self.terms(word, self._main)))
        for each in self.analyzers if not times else ():
            term = fulltext.quote(each.terms_of(word)[0])
            if each not in self._main and fulltext.frequency_of_phrase(self.connection, term):
                times += fulltext.frequency_in_language(self.connection, term, each.language)
        return min(times, RARE + 1)

    def _may_be_wrong(self, word: QueryWord) -> bool:
        if not word.is_open:
            return False
        times = self.times(word.text)
        return not times or (times <= RARE and len(word.text) >= RARE_LETTERS and self._is_large)

    @cached_property
    def _is_large(self) -> bool:
        return fulltext.size(self.connection) >= TIMES

    def terms(self, word: str, analyzers: Iterable[Analyzer] | None = None) -> set[str]:
        return {analyzer.terms_of(word)[0] for analyzer in analyzers or self.analyzers}

    def forms(self, word: str) -> AnyOf:
        """Return the phrases that find a word."""
        return quoted(self.terms(word.lower()))

    def phrases(self, first: str, second: str) -> AnyOf:
        """Return the phrases that find two words next to each other. Keeps only phrases whose terms share documents,
        which the postings answer faster than the full-text table."""
        pairs = {(each.terms_of(first)[0], each.terms_of(second)[0]) for each in self._main}
        return quoted(f"{one} {two}" for one, two in pairs if self.frequency(quoted([one]), quoted([two])))

    def occurs(self, phrases: Collection[str]) -> bool:
        """Return whether a document has one of the phrases."""
        return self.frequency(tuple(phrases)) > 0

    def frequency(self, *groups: AnyOf) -> int:
        """Return the number of documents that have a phrase of each group."""
        return fulltext.frequency_of_all(self.connection, groups)

    def _begins_a_word(self, text: str) -> bool:
        """Return whether a word of the index begins with `text`. The term of a word may be shorter than the typed
        part."""
        word = text.lower()
        shorter = (word[:end] for end in range(max(len(word) - LONGEST_ENDING, MIN_LETTERS), len(word)))
        return self.occurs([f"{fulltext.quote(word)} *"]) or any(self.occurs(quoted([each])) for each in shorter)


def quoted(terms: Iterable[str]) -> AnyOf:
    return tuple(fulltext.quote(term) for term in sorted(terms))
