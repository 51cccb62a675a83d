"""What to look for in the texts of hits, as the full-text table knows it: which variants of the words each document
contains, and which of them leads to its best passage. Reading a long text takes much longer than asking the table.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gnod.pipeline.expression import Expression, is_findable, terms_of
from gnod.pipeline.marks import Mark, TermVariant, best_window
from gnod.store.database import Connection
from gnod.store.documents import fulltext

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


def wanted(connection: Connection, expression: Expression, document_ids: Sequence[int]) -> dict[int, Wanted]:
    """Return what to look for in each of the documents."""
    found: dict[int, dict[str, bytes]] = {id_: {} for id_ in document_ids}
    for phrase in expression.phrases():
        for id_, positions in fulltext.body_positions(connection, phrase, document_ids):
            found[id_][phrase] = positions
    terms = {phrases: expression.query_terms(phrases) for phrases in {frozenset(each) for each in found.values()}}
    return {id_: Wanted(terms[frozenset(each)], _anchor(each)) for id_, each in found.items()}


def _anchor(found: Mapping[str, bytes]) -> TermVariant | None:
    """Return the rarest variant in the best window."""
    positions = {terms_of(phrase): array("I", data) for phrase, data in found.items() if is_findable(terms_of(phrase))}
    if max((each[-1] for each in positions.values()), default=0) < _LONG:
        return None
    rare = [(terms, each) for terms, each in positions.items() if len(each) <= _MAX_PLACES]
    marks = [Mark(start, start + 1, number) for number, (_, each) in enumerate(rare) for start in each]
    if not marks:
        return None
    terms, _ = min((rare[mark.term] for mark in best_window(sorted(marks), _WINDOW)), key=lambda pair: len(pair[1]))
    return terms
