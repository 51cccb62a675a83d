"""How documents write their words: the index has stems, and people read words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gnod.analysis.terms import Analyzer, terms_of_many
from gnod.analysis.word_set import WordSet
from gnod.caches import Cache
from gnod.search.keyword.folding import fold_in_place
from gnod.store.connection import Connection
from gnod.store.keyword_index import fulltext
from gnod.store.tables import texts

# A sample of this length has most words, and takes about a third of a second.
SAMPLE_CHARACTERS = 8_000_000
# The beginnings of a few documents show the usual forms of a term.
_DOCUMENTS = 4
_CHARACTERS = 50_000

_WORD = re.compile(r"[^\W\d_]{4,32}")


class Surfaces:
    """The words of a sample of the texts, and the forms of single terms, for one state of the index."""

    def __init__(self, connection: Connection) -> None:
        sample: set[str] = set()
        for text in texts.sample(connection, SAMPLE_CHARACTERS):
            sample.update(_WORD.findall(text.lower()))
        self._sample = WordSet(sample)
        self._forms: Cache[str, frozenset[str]] = Cache()

    def seen(self, words: Iterable[str]) -> set[str]:
        """Return those of the words, in lower case, that the sample has."""
        return self._sample.known(words)

    def forms(self, connection: Connection, term: str, analyzers: Sequence[Analyzer]) -> frozenset[str]:
        """Return words, in lower case, whose term this is."""
        found = self._forms.get(term)
        return self._forms.keep(term, _forms(connection, term, analyzers)) if found is None else found


def _forms(connection: Connection, term: str, analyzers: Sequence[Analyzer]) -> frozenset[str]:
    # A stem may end with another letter than its words: "studi", "study".
    inside = re.compile(rf"(?<![^\W\d_]){re.escape(term[: max(len(term) - 1, 3)])}[^\W\d_]*")
    found: set[str] = set()
    for text in fulltext.texts(connection, fulltext.quote(term), _DOCUMENTS, _CHARACTERS):
        found |= {text[match.start() : match.end()].lower() for match in inside.finditer(fold_in_place(text))}
    return frozenset(word for word, terms in terms_of_many(found, analyzers).items() if term in terms)
