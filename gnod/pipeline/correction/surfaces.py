"""How documents write a term: the index has stems, and people read words."""

from __future__ import annotations

import re

from gnod.analysis.terms import Analyzer
from gnod.pipeline.folding import fold_in_place
from gnod.store.database import Connection
from gnod.store.documents import fulltext

# A few documents show the usual forms, and their beginnings are enough.
_DOCUMENTS = 4
_CHARACTERS = 100_000
_MAX_CACHED = 10_000


class Surfaces:
    """Remembers what it found, for one state of the index."""

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}

    def of(self, connection: Connection, term: str, analyzers: list[Analyzer]) -> frozenset[str]:
        """Return words, in lower case, whose term this is."""
        if term not in self._known:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            self._known[term] = frozenset(_words(connection, term, analyzers))
        return self._known[term]


def _words(connection: Connection, term: str, analyzers: list[Analyzer]) -> set[str]:
    # A stem may end with another letter than its words do: "studi", "study".
    inside = re.compile(rf"(?<![^\W\d_]){re.escape(term[: max(len(term) - 1, 3)])}[^\W\d_]*")
    found: set[str] = set()
    for text in fulltext.texts(connection, fulltext.quote(term), _DOCUMENTS, _CHARACTERS):
        found |= {text[match.start() : match.end()].lower() for match in inside.finditer(fold_in_place(text))}
    return {word for word in found if any(analyzer.analyse(word)[0] == term for analyzer in analyzers)}
