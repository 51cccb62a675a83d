"""How documents write their words: the index has stems, and people read words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from gnod.analysis.dictionaries import WordSet
from gnod.analysis.stemming import stemming_language
from gnod.analysis.terms import Analyzer, terms_of_many
from gnod.caches import Cache
from gnod.search.correction.beginnings import Beginnings
from gnod.search.correction.correctable_words import MIN_LETTERS
from gnod.search.correction.words import Vocabulary
from gnod.search.keyword.folding import fold_in_place
from gnod.store.connection import Connection
from gnod.store.keyword_index import fulltext
from gnod.store.tables import texts

# A sample of this length has most words, and takes about a third of a second.
SAMPLE_CHARACTERS = 8_000_000
# The beginnings of a few documents show the usual forms of a term.
_DOCUMENTS = 4
_CHARACTERS = 50_000


class Surfaces:
    """The words of a sample of the texts, and the forms of single terms, for one state of the index."""

    def __init__(self, connection: Connection, vocabulary: Vocabulary) -> None:
        sample: dict[str, set[str]] = {}
        for language, text in texts.sample(connection, SAMPLE_CHARACTERS):
            sample.setdefault(stemming_language(language), set()).update(_words(text))
        # Shorter words resemble too many others.
        self._sample = WordSet(word for words in sample.values() for word in words if len(word) >= MIN_LETTERS)
        self.beginnings = Beginnings(sample, vocabulary.words())
        self._forms: Cache[str, frozenset[str]] = Cache()

    def seen(self, words: Iterable[str]) -> set[str]:
        """Return those of the words, in lower case, that the sample has."""
        return self._sample.known(words)

    def terms(self, words: Collection[str], analyzers: Sequence[Analyzer]) -> dict[str, set[str]]:
        """Return the terms of the words in those of the languages that have words which begin alike: in others, the
        index cannot have their terms."""
        return terms_of_many(words, analyzers, self.beginnings.possible(words))

    def forms(self, connection: Connection, term: str, analyzers: Sequence[Analyzer]) -> frozenset[str]:
        """Return words, in lower case, whose term this is."""
        found = self._forms.get(term)
        return self._forms.keep(term, _forms(connection, term, analyzers)) if found is None else found


@cache
def _letter() -> str:
    """Return the pattern of a letter with its combining marks: without them, the words of many scripts would fall
    apart. To list the marks takes 10 ms, which a start of the daemon does not need."""
    marks = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code))[0] == "M")
    return rf"[^\W\d_][{marks}]*+"


def _words(text: str) -> list[str]:
    return re.findall(f"(?:{_letter()}){{3,32}}", unicodedata.normalize("NFC", text).lower())


def _forms(connection: Connection, term: str, analyzers: Sequence[Analyzer]) -> frozenset[str]:
    # A stem may end with another letter than its words: "studi", "study".
    whole = re.compile(f"(?:{_letter()})*")
    start = re.compile(rf"(?<![^\W\d_]){re.escape(term[: max(len(term) - 1, 3)])}")
    found: set[str] = set()
    for text in fulltext.texts(connection, fulltext.quote(term), _DOCUMENTS, _CHARACTERS):
        rests = (whole.match(text, match.start()) for match in start.finditer(fold_in_place(text)))
        found |= {rest[0].lower() for rest in rests if rest}
    return frozenset(word for word, terms in terms_of_many(found, analyzers).items() if term in terms)
