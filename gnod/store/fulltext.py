"""Ask the lexical index. Knows FTS5 and its scores; knows nothing of the query language.

Score: BM25 (Robertson & Zaragoza 2009), k1 1.2, b 0.75, column weights below, larger is better. FTS5 computes the part
that depends on the document, in C; the weight of a phrase is ours, because FTS5's is nought for every word that
stands in half of the documents or more, which in a small collection is most words (nDCG@10 of qmd-eval .934
against .960, cacm .474 against .50). Ours is Lucene's: log(1 + (N - n + 0.5) / (n + 0.5)).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

from gnod.store.database import Connection
from gnod.store.filters import Filters

# Column weights: filepath, title, body.
# Title 3 and not 4: docs/adr/0004-lexical-ranking.md has the figures.
WEIGHTS = (1.5, 3.0, 1.0)

# Among so many documents, a word that weighs less than this share of the query's rarest is not walked: it would cost
# the most and hardly move anything (docs/adr/0004-lexical-ranking.md has the figures).
_LARGE = 1000
_NEGLIGIBLE = 0.15

_SCORE = f"-bm25(documents_fts, {', '.join(map(str, WEIGHTS))}) * ?"

_FTS5_MIN_IDF = 1e-6


class Term(NamedTuple):
    """One thing to look for: any of `phrases` (FTS5 syntax). They are spellings of one word, so they share one
    document frequency: a rare stem of a common word is not worth more. `weight` multiplies the score."""

    phrases: tuple[str, ...]
    weight: float = 1.0


class _Scored(NamedTuple):
    phrase: str
    factor: float


class Match(NamedTuple):
    document_id: int
    score: float


def search(
    connection: Connection,
    terms: Sequence[Term],
    filters: Filters,
    depth: int,
    *,
    required: str | None = None,
    excluded: str | None = None,
) -> list[Match]:
    """Return the best `depth` documents that hold one term or more, and pass the filters; ties go by docid.

    `required` and `excluded` are FTS5 expressions that every document must match, or must not. Each phrase walks
    the full-text table once, and the filters look at what was found: a `rowid IN (SELECT …)` inside a MATCH query
    would make SQLite start FTS5 anew for every row.
    """
    scored = _scored(connection, terms)
    if not scored:
        return []
    where, bound = _conditions(filters, required, excluded)
    if len(scored) == 1:
        # Nothing to add up: half the time, and the score is computed for what passes the filters only.
        rows = connection.execute(
            f"SELECT d.id, {_SCORE} AS score FROM documents_fts CROSS JOIN documents d ON d.id = documents_fts.rowid"
            f" WHERE documents_fts MATCH ? AND {where} ORDER BY score DESC, d.docid, d.id LIMIT ?",
            (scored[0].factor, scored[0].phrase, *bound, depth),
        )
    else:
        one = f"SELECT rowid AS id, {_SCORE} AS score FROM documents_fts WHERE documents_fts MATCH ?"
        rows = connection.execute(
            f"WITH scores AS MATERIALIZED ({' UNION ALL '.join([one] * len(scored))}),"
            " hits AS MATERIALIZED (SELECT id, sum(score) AS score FROM scores GROUP BY id)"
            f" SELECT hits.id, hits.score FROM hits CROSS JOIN documents d ON d.id = hits.id WHERE {where}"
            " ORDER BY hits.score DESC, d.docid, d.id LIMIT ?",
            (*(value for phrase, factor in scored for value in (factor, phrase)), *bound, depth),
        )
    return [Match(*row) for row in rows]


def matching(connection: Connection, expression: str) -> set[int]:
    """Return the documents that an FTS5 expression matches, unranked."""
    rows = connection.execute("SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?", (expression,))
    return {document_id for (document_id,) in rows}


def count(
    connection: Connection,
    expression: str,
    filters: Filters,
    *,
    required: str | None = None,
    excluded: str | None = None,
) -> int:
    """Return how many documents `expression` matches under the same conditions as in `search`."""
    if filters.are_empty and not required and not excluded:
        return _document_frequency(connection, expression)
    where, bound = _conditions(filters, required, excluded)
    found = connection.execute(
        "SELECT count(*) FROM documents_fts CROSS JOIN documents d ON d.id = documents_fts.rowid"
        f" WHERE documents_fts MATCH ? AND {where}",
        (expression, *bound),
    )
    return int(found.get)


def quote(phrase: str) -> str:
    """Return terms, separated by spaces, as an FTS5 phrase."""
    return '"' + phrase.replace('"', '""') + '"'


def _scored(connection: Connection, terms: Sequence[Term]) -> list[_Scored]:
    """Return the phrases that occur, each with what FTS5's score of it must be multiplied by."""
    total = int(connection.execute("SELECT count(*) FROM documents_fts_docsize").get)
    weighed = []
    for term in terms:
        frequencies = [(phrase, _document_frequency(connection, phrase)) for phrase in term.phrases]
        together = min(sum(n for _, n in frequencies), total)
        weighed.append((term.weight * log(1 + (total - together + 0.5) / (together + 0.5)), frequencies))
    floor = _NEGLIGIBLE * max((weight for weight, _ in weighed), default=0.0) if total >= _LARGE else 0.0
    return [
        _Scored(phrase, weight / _fts5_idf(total, n))
        for weight, frequencies in weighed
        if weight >= floor
        for phrase, n in frequencies
        if n
    ]


def _document_frequency(connection: Connection, expression: str) -> int:
    return int(connection.execute("SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?", (expression,)).get)


def _fts5_idf(total: int, n: int) -> float:
    """The weight that bm25() gives a phrase (SQLite, fts5_aux.c)."""
    idf = log((total - n + 0.5) / (n + 0.5))
    return idf if idf > 0 else _FTS5_MIN_IDF


def _conditions(filters: Filters, required: str | None, excluded: str | None) -> tuple[str, list[object]]:
    where, values = filters.condition()
    bound = list(values)
    for operator, expression in (("IN", required), ("NOT IN", excluded)):
        if expression:
            where += f" AND d.id {operator} (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?)"
            bound.append(expression)
    return where, bound
