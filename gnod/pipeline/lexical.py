"""Keyword search over whole documents: from a query to ranked documents. Source: BM25, Robertson & Zaragoza 2009.

Depends on the store and the analyser; knows no snippets, no wire and no files.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from math import sqrt
from typing import NamedTuple

from gnod.analysis.stemming import DEFAULT_LANGUAGE, stemming_language
from gnod.analysis.terms import Analyzer
from gnod.errors import QuerySyntaxError
from gnod.pipeline import expression, fusion, query_language
from gnod.pipeline.expression import Expression
from gnod.pipeline.passages import Spelling
from gnod.store import documents, fulltext
from gnod.store.database import Connection
from gnod.store.filters import Filters

# Documents that hold every word of the query come ahead where scores are close: within a tenth.
ALL_WORDS_BONUS = 0.1
_MIN_DEPTH = 100
# So many documents with a word that begins so are no help, and take long to rank.
_MAX_CONTINUED = 5000


class Ranked(NamedTuple):
    """`score` is in [0, 1], normalised over the result set; `bm25` is raw; larger is better in both."""

    document_id: int
    score: float
    bm25: float
    has_every_word: bool


class LexicalResult(NamedTuple):
    """`total` counts all matches; `expression` is what was looked for, for snippets and explanations."""

    ranked: list[Ranked]
    total: int
    expression: Expression
    analyzers: list[Analyzer]


def search(
    connection: Connection,
    query: str,
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
    unfinished: bool = False,
) -> LexicalResult:
    """Return the best `limit` documents. `unfinished`: the last word may go on. Raises QuerySyntaxError."""
    analyzers = analyzers_of_index(connection)
    wanted = _wanted(connection, query, analyzers, unfinished=unfinished)
    required, excluded = wanted.required_phrases(), wanted.excluded_phrases()
    depth = max(_MIN_DEPTH, 2 * limit)
    matches = fulltext.search(connection, wanted.terms(), filters, depth, required=required, excluded=excluded)
    total = len(matches)
    if total >= depth:
        total = fulltext.count(connection, wanted.any_word(), filters, required=required, excluded=excluded)
    ranked = normalised(_with_bonus(connection, matches, wanted)[:limit])
    return LexicalResult([r for r in ranked if r.score >= min_score], total, wanted, analyzers)


class LexicalSurvey(NamedTuple):
    """`scores` by document, best first. `beyond`: what a document that is not in them is taken to score. `peak`: how
    far the best stands out from all documents of the index (gnod.pipeline.fusion.peak)."""

    scores: dict[int, float]
    beyond: float
    peak: float
    expression: Expression
    analyzers: list[Analyzer]


def survey(connection: Connection, query: str, filters: Filters, *, depth: int) -> LexicalSurvey:
    """Return the best `depth` documents for a ranking that is fused with another. Raises QuerySyntaxError."""
    analyzers = analyzers_of_index(connection)
    wanted = expression.build(query_language.parse(query), analyzers)
    found = fulltext.survey(
        connection,
        wanted.terms(),
        filters,
        depth,
        required=wanted.required_phrases(),
        excluded=wanted.excluded_phrases(),
    )
    every_word = wanted.every_word()
    whole = fulltext.matching(connection, every_word) if every_word else set()
    raised = [(id_, score * (1 + ALL_WORDS_BONUS) if id_ in whole else score) for id_, score in found.matches]
    scores = dict(sorted(raised, key=lambda pair: -pair[1]))  # stable: ties stay in docid order
    beyond = _mean_of_the_rest(found) if len(found.matches) == depth else 0.0
    return LexicalSurvey(scores, beyond, _peak(found, max(scores.values(), default=0.0)), wanted, analyzers)


def allowed(connection: Connection, wanted: Expression, document_ids: Collection[int]) -> set[int]:
    """Return those of the documents that hold every phrase which the query requires and none which it excludes."""
    kept = set(document_ids)
    if required := wanted.required_phrases():
        kept &= fulltext.matching(connection, required)
    if excluded := wanted.excluded_phrases():
        kept -= fulltext.matching(connection, excluded)
    return kept


def _wanted(connection: Connection, query: str, analyzers: Sequence[Analyzer], *, unfinished: bool) -> Expression:
    clauses = query_language.parse(query)
    wanted = expression.build(clauses, analyzers)
    if unfinished and not query[-1:].isspace():
        longer = expression.build(clauses, analyzers, unfinished=True)
        added = {s for word in longer.words for s in word.spellings} - {
            s for word in wanted.words for s in word.spellings
        }
        if all(fulltext.frequency(connection, phrase) <= _MAX_CONTINUED for phrase in added):
            return longer
    return wanted


def _mean_of_the_rest(found: fulltext.Survey) -> float:
    """Return the mean score of the documents that are not returned, those without a match among them."""
    rest = found.total - sum(score for _, score in found.matches)
    return min(max(rest, 0.0) / max(found.documents - len(found.matches), 1), found.matches[-1][1])


def _peak(found: fulltext.Survey, best: float) -> float:
    """Roots, because the scores of a few words are far from spread evenly: their best is always far away."""
    if not found.documents:
        return 0.0
    mean = found.total_of_roots / found.documents
    variance = max(found.total / found.documents - mean * mean, 0.0)
    return fusion.peak(sqrt(best), mean, sqrt(variance))


def normalised(ranked: list[Ranked]) -> list[Ranked]:
    """Scale scores over the result set: best 1, worst 0; all equal, all 1."""
    if not ranked:
        return []
    best, worst = max(r.score for r in ranked), min(r.score for r in ranked)
    if best == worst:
        return [r._replace(score=1.0) for r in ranked]
    return [r._replace(score=(r.score - worst) / (best - worst)) for r in ranked]


def sought(query: str, analyzers: Sequence[Analyzer]) -> list[list[Spelling]]:
    """Return the spellings of each word of a text that is no query: quotation marks mean nothing in it."""
    try:
        return expression.build(query_language.parse(query.replace('"', " ")), analyzers).sought()
    except QuerySyntaxError:
        return []


def analyzers_of_index(connection: Connection) -> list[Analyzer]:
    """Return one analyser for each language that the index holds: a query is too short to tell its own. They belong
    to the calling thread."""
    version = connection.execute("PRAGMA data_version").fetchone()
    key = (id(connection), version)
    if getattr(_per_thread, "key", None) != key:
        held = {stemming_language(language) for language in documents.distinct_languages(connection)}
        _per_thread.languages = sorted(held | {DEFAULT_LANGUAGE})
        _per_thread.key = key
    return [_analyzer(language) for language in _per_thread.languages]


def _with_bonus(connection: Connection, matches: list[fulltext.Match], wanted: Expression) -> list[Ranked]:
    every_word = wanted.every_word()
    if every_word is None or not matches:
        return [Ranked(m.document_id, m.score, m.score, True) for m in matches]
    whole = fulltext.matching(connection, every_word)
    ranked = [
        Ranked(
            m.document_id,
            m.score * (1 + ALL_WORDS_BONUS * (m.document_id in whole)),
            m.score,
            m.document_id in whole,
        )
        for m in matches
    ]
    return sorted(ranked, key=lambda r: -r.score)  # stable: ties stay in docid order


def _analyzer(language: str) -> Analyzer:
    known: dict[str, Analyzer] | None = getattr(_per_thread, "analyzers", None)
    if known is None:
        known = _per_thread.analyzers = {}
    if language not in known:
        known[language] = Analyzer(language)
    return known[language]


_per_thread = threading.local()
