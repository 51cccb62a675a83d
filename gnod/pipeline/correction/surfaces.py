"""How documents write their words: the index has stems, and people read words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gnod.analysis.terms import Analyzer
from gnod.pipeline.correction.words import WordSet
from gnod.pipeline.folding import fold_in_place
from gnod.store.database import Connection
from gnod.store.documents import fulltext, texts

# A sample of the texts has most words; it takes about a third of a second.
SAMPLE_CHARACTERS = 8_000_000
# A few documents show the usual forms of a term, and their beginnings are enough.
_DOCUMENTS = 4
_CHARACTERS = 50_000
_MAX_CACHED = 10_000

_WORD = re.compile(r"[^\W\d_]{4,32}")


class Surfaces:
    """The words of a sample of the texts, and the forms of single terms, for one state of the index."""

    def __init__(self, connection: Connection) -> None:
        sample: set[str] = set()
        for text in texts.sample(connection, SAMPLE_CHARACTERS):
            sample.update(_WORD.findall(text.lower()))
        self._sample = WordSet(sample)
        self._forms: dict[str, frozenset[str]] = {}

    def seen(self, words: Iterable[str]) -> set[str]:
        """Return those of the words, in lower case, that the sample has."""
        return self._sample.known(words)

    def forms(self, connection: Connection, term: str, analyzers: Sequence[Analyzer]) -> frozenset[str]:
        """Return words, in lower case, whose term this is."""
        if term not in self._forms:
            if len(self._forms) >= _MAX_CACHED:
                self._forms.clear()
            self._forms[term] = frozenset(_forms(connection, term, analyzers))
        return self._forms[term]


def _forms(connection: Connection, term: str, analyzers: Sequence[Analyzer]) -> set[str]:
    # A stem may end with another letter than its words do: "studi", "study".
    inside = re.compile(rf"(?<![^\W\d_]){re.escape(term[: max(len(term) - 1, 3)])}[^\W\d_]*")
    found: set[str] = set()
    for text in fulltext.texts(connection, fulltext.quote(term), _DOCUMENTS, _CHARACTERS):
        found |= {text[match.start() : match.end()].lower() for match in inside.finditer(fold_in_place(text))}
    return {word for word in found if any(analyzer.analyse(word)[0] == term for analyzer in analyzers)}
