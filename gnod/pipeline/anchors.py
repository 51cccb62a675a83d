"""What to look for in the texts of hits: which variants of the words each document contains, and which of them leads to
its best passage. A short text says so itself. Of a longer one the full-text table is asked, which takes much less time
than reading it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gnod.analysis.stemming import stemming_language
from gnod.analysis.terms import Analyzer
from gnod.pipeline.expression import Expression, is_findable, terms_of
from gnod.pipeline.marks import Finder, Mark, TermVariant, best_window
from gnod.store.database import Connection
from gnod.store.documents import fulltext
from gnod.store.documents.documents import Document

# In a shorter body, looking for all words everywhere is as fast.
_LONG = 200
# A word that is more frequent leads nowhere.
_MAX_PLACES = 50
# Terms in a passage.
_WINDOW = 40


class Wanted(NamedTuple):
    """`terms`: the variants of each word that a document contains. `anchor`: the rarest variant in its best window;
    None: not known."""

    terms: Sequence[Sequence[TermVariant]]
    anchor: TermVariant | None


def wanted(
    connection: Connection,
    expression: Expression,
    documents: Mapping[int, Document],
    texts: Mapping[int, Finder],
    analyzers: Sequence[Analyzer],
) -> dict[int, Wanted]:
    """Return what to look for in each of the documents. `texts`: those that are known. `analyzers`: of the index."""
    by_language = {each.language: each for each in analyzers}
    languages = {id_: by_language.get(stemming_language(each.language)) for id_, each in documents.items()}
    long = set(fulltext.with_long_bodies(connection, list(documents), _LONG))
    found: dict[int, dict[str, bytes]] = {id_: {} for id_ in documents}
    # In a text, these look like a part of a longer identifier.
    wholes = {whole for word in (*expression.words, *expression.required) for whole in word.wholes}
    for phrase, terms in [(phrase, terms_of(phrase)) for phrase in expression.phrases()]:
        if not is_findable(terms):
            continue
        asked = []
        for id_, language in languages.items():
            text = texts.get(id_)
            if text is None or language is None:
                asked.append(id_)
            elif len(terms) > 1 or phrase in wholes or id_ in long:
                if text.may_have(terms):
                    asked.append(id_)
            elif text.has(terms[0], language):
                found[id_][phrase] = b""
        for id_, positions in fulltext.body_positions(connection, phrase, asked) if asked else ():
            found[id_][phrase] = positions
    kept = {phrases: expression.query_terms(phrases) for phrases in {frozenset(each) for each in found.values()}}
    return {id_: Wanted(kept[frozenset(each)], _anchor(each) if id_ in long else None) for id_, each in found.items()}


def _anchor(found: Mapping[str, bytes]) -> TermVariant | None:
    """Return the rarest variant in the best window."""
    positions = {terms_of(phrase): array("I", data) for phrase, data in found.items()}
    if max((each[-1] for each in positions.values()), default=0) < _LONG:
        return None
    rare = [(terms, each) for terms, each in positions.items() if len(each) <= _MAX_PLACES]
    marks = [Mark(start, start + 1, number) for number, (_, each) in enumerate(rare) for start in each]
    if not marks:
        return None
    terms, _ = min((rare[mark.term] for mark in best_window(sorted(marks), _WINDOW)), key=lambda pair: len(pair[1]))
    return terms
