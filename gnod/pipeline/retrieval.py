"""Ask the retrievers what a query needs, and put what they say into a form that can be fused.

One snapshot of the database, one thread. Knows no model, no reranking and no wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.errors import QuerySyntaxError
from gnod.pipeline import lexical, query_language, vector
from gnod.pipeline.fusion import HYDE, ORIGINAL, VARIANT, Evidence
from gnod.pipeline.lexical import LexicalSurvey
from gnod.pipeline.nearest import Nearest
from gnod.pipeline.subqueries import Subquery
from gnod.pipeline.vector import Ranked
from gnod.store.database import Connection
from gnod.store.filters import Filters

# What the convex combination is made over; the original's lists also tell of each other's documents.
POOL = 100
# Past this, a document's keyword score is taken for the mean of all that are past this.
_LEXICAL_DEPTH = 2000

Matrix = NDArray[np.float32]


class Line(NamedTuple):
    """One search: a subquery and what it weighs. `is_original`: asked by whoever asks, not made up."""

    query: Subquery
    weight: float
    is_original: bool


class Vectors(NamedTuple):
    """`rows` of each model, by its address: one vector of length 1 for each line that is not `lex`, in their order.
    `served`: which model answers for which collection."""

    rows: Mapping[str, Matrix]
    served: Mapping[str, str]

    def row(self, number: int) -> dict[str, Matrix]:
        return {uri: matrix[number] for uri, matrix in self.rows.items()}


class Retrieved(NamedTuple):
    """`near`: each document's best part by meaning. `bm25` and `similarity`: of the original query, unscaled."""

    evidence: list[Evidence]
    near: dict[int, Ranked]
    bm25: dict[int, float]
    similarity: dict[int, float]


def asked(query: str, structured: Sequence[Subquery] | None) -> list[Line]:
    """Return what is searched for a query as it stands. Raises QuerySyntaxError."""
    if structured is not None:
        return [Line(each, HYDE if each.kind == "hyde" else ORIGINAL, True) for each in structured]
    meant = plain(query)
    lines = [Line(Subquery("lex", query), ORIGINAL, True)]
    return lines + ([Line(Subquery("vec", meant), ORIGINAL, True)] if meant else [])


def varied(variants: Sequence[Subquery]) -> list[Line]:
    return [Line(each, HYDE if each.kind == "hyde" else VARIANT, False) for each in variants]


def plain(query: str) -> str:
    """Return the query as a sentence: without quotation marks, and without what it excludes.

    >>> plain('deploy "blue green" -docker')
    'deploy blue green'
    """
    clauses = query_language.parse(query)
    if not any(clause.is_phrase or clause.is_negated for clause in clauses):
        return query.strip()
    return " ".join(clause.text for clause in clauses if not clause.is_negated)


def survey_words(connection: Connection, lines: Sequence[Line], filters: Filters) -> list[tuple[Line, LexicalSurvey]]:
    """Return what the keyword index says of each `lex` line. Raises QuerySyntaxError for an original one; another that
    has no words says nothing."""
    found = []
    for line in lines:
        if line.query.kind == "lex":
            try:
                found.append((line, lexical.survey(connection, line.query.text, filters, depth=_LEXICAL_DEPTH)))
            except QuerySyntaxError:
                if line.is_original:
                    raise
    return found


def retrieve(
    connection: Connection,
    nearest: Nearest,
    words: Sequence[tuple[Line, LexicalSurvey]],
    meanings: Sequence[Line],
    vectors: Vectors | None,
    filters: Filters,
    *,
    depth: int,
) -> Retrieved:
    """Return the evidence of all lines. `words`: each `lex` line with what `survey_words` said; `meanings`: the others,
    in the order of the rows of `vectors`; None: no vectors are searched. `depth`: of the lists of variants."""
    pool = max(POOL, depth)
    first = {id_ for line, said in words if line.is_original for id_ in islice(said.scores, pool)}
    near: dict[int, Ranked] = {}
    surveys = []
    for number, line in enumerate(meanings if vectors else []):
        assert vectors is not None
        found = vector.survey(
            connection,
            nearest,
            vectors.row(number),
            vectors.served,
            filters,
            limit=pool if line.is_original else depth,
            also=first if line.is_original else (),
        )
        surveys.append((line, found))
        for each in found.ranked:
            if each.document_id not in near or near[each.document_id].score < each.score:
                near[each.document_id] = each
    tops = {id_ for _, said in words for id_ in islice(said.scores, pool)}
    allowed = _allowed(connection, words, near.keys() | tops)
    originals = {r.document_id for line, found in surveys if line.is_original for r in found.ranked} | first
    evidence = [_by_words(line, said, originals, allowed, pool if line.is_original else depth) for line, said in words]
    evidence += [_by_meaning(line, found, allowed, pool if line.is_original else depth) for line, found in surveys]
    return Retrieved(
        evidence,
        near,
        bm25=next((said.scores for line, said in words if line.is_original), {}),
        similarity=next(({r.document_id: r.score for r in found.ranked} for line, found in surveys), {}),
    )


def _allowed(connection: Connection, words: Sequence[tuple[Line, LexicalSurvey]], ids: set[int]) -> set[int]:
    """Return the documents that no line of the asker leaves out: what a search by meaning finds obeys that too."""
    for line, said in words:
        if line.is_original:
            ids = lexical.allowed(connection, said.expression, ids)
    return ids


def _by_words(line: Line, said: LexicalSurvey, originals: set[int], allowed: set[int], depth: int) -> Evidence:
    """Return keyword scores. Of the original query, what the other retriever found has its place among them."""
    found = {id_: score for id_, score in islice(said.scores.items(), depth) if id_ in allowed}
    if not line.is_original or not found:
        return Evidence("lexical", line.weight, found, len(found))
    others = originals & allowed - found.keys()
    asked = sorted(((said.scores.get(id_, said.beyond), id_) for id_ in others), key=lambda pair: (-pair[0], pair[1]))
    return Evidence("lexical", line.weight, found | {id_: score for score, id_ in asked}, len(found), said.peak)


def _by_meaning(line: Line, said: vector.VectorSurvey, allowed: set[int], depth: int) -> Evidence:
    scores = {each.document_id: each.score for each in said.ranked if each.document_id in allowed}
    return Evidence("vector", line.weight, scores, min(depth, len(scores)), said.peak if line.is_original else None)
