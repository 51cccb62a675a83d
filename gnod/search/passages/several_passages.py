"""Several passages of one document: the best one, and others that answer the query nearly as well.

Where the vector scored the document, they lie in the pieces nearest to the query; otherwise the words decide.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnod.analysis.terms import Analyzer
from gnod.search.keyword.marks import TermVariant
from gnod.search.meaning.vector_search import QueryVectors
from gnod.search.passages.best_passage import FURTHER, ShownPassage, best_in_part, further_passages, overlap
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from gnod.store.vectors import embedded_pieces


def beside(
    connection: Connection,
    document: DocumentRow,
    best: ShownPassage,
    query_terms: Sequence[Sequence[TermVariant]],
    analyzers: Sequence[Analyzer],
    count: int,
    vectors: QueryVectors | None = None,
) -> list[ShownPassage]:
    """Return up to `count` further passages, best first. `vectors` of the query: the nearest pieces decide."""
    text = documents.markdown(connection, document.mirror_hash)
    if vectors is None:
        return further_passages(text, [best], query_terms, analyzers, count)
    found: list[ShownPassage] = []
    for start, end in _nearest(connection, document, vectors):
        if len(found) == count:
            break
        passage = best_in_part(text[start:end], text.count("\n", 0, start), query_terms, analyzers)
        if passage.snippet and not any(overlap(passage, each) for each in (best, *found)):
            found.append(passage)
    return found


def _nearest(connection: Connection, document: DocumentRow, vectors: QueryVectors) -> list[tuple[int, int]]:
    """Return the ranges of the pieces that are nearly as near to the query as the nearest, best first."""
    uri = vectors.served.get(document.collection)
    query = vectors.row(0).get(uri) if uri else None
    if query is None:
        return []
    pieces = [(each, each.vector) for each in embedded_pieces.of_document(connection, document.mirror_hash, uri)]
    embedded = [(each, vector) for each, vector in pieces if vector is not None]
    if not embedded:
        return []
    cosines = np.stack([vector for _, vector in embedded]) @ query
    order = np.argsort(-cosines, kind="stable").tolist()
    enough = FURTHER * float(cosines[order[0]])
    return [(embedded[n][0].start, embedded[n][0].end) for n in order if float(cosines[n]) >= enough]
