"""Keyword search over whole documents, from clauses to ranked documents (BM25: Robertson & Zaragoza 2009).

Depends on the store and the analyser; must not depend on snippets, the wire types or files.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import islice
from math import log, sqrt
from operator import itemgetter
from typing import NamedTuple

from gnod.analysis.stemming import DEFAULT_LANGUAGE, stemming_language
from gnod.analysis.terms import Analyzer
from gnod.errors import QuerySyntaxError
from gnod.search.keyword import expression, windows
from gnod.search.keyword.expression import Expression
from gnod.search.keyword.marks import TermVariant
from gnod.search.query.parsing import Clause
from gnod.search.ranking import fusion
from gnod.search.ranking.ranked import RankedDocument, without_copies
from gnod.store.connection import Connection, by_id, languages_beside, until_changed
from gnod.store.keyword_index import fulltext
from gnod.store.tables import copies, documents
from gnod.store.tables.filters import Filters

# A document with every word of the query comes first if scores are close. docs/adr/0004-lexical-ranking.md has the
# figures.
ALL_WORDS_BONUS = 0.05
# Rank at least this many documents. Windows are searched in all of these, so a score does not depend on the limit.
_MIN_DEPTH = 200
# At most this many documents become candidates by their path.
MOST_NAMED = 20
# The windows of this many candidates are examined.
_WINDOWED = 50
# Read more documents until a result has this many copies of each document on average.
_MOST_COPIES = 10
_DEEPER = 4
# If more documents match a prefix, it does not help and is slow to rank.
_MAX_PREFIX_MATCHES = 5000

_SCORE = itemgetter(1)


class LexicalResult(NamedTuple):
    """`total` counts all matches, copies once; `expression`: the search, for snippets and explanations. `elsewhere`:
    the ranked documents that are in other indexes."""

    ranked: list[RankedDocument]
    total: int
    expression: Expression
    elsewhere: Sequence[int] = ()


class LexicalSurvey(NamedTuple):
    """`scores` by document, best first. `beyond`: the assumed score of all other documents. `prominence`: of the best
    among all documents of the index (gnod.search.ranking.fusion.prominence). `coverage`: the share of the query's
    words, by weight, that occur in the index. `named`: documents whose path has every word, with a weight in [0, 1]:
    the fewer documents, the larger."""

    scores: dict[int, float]
    beyond: float
    prominence: float
    coverage: float
    expression: Expression
    named: Mapping[int, float]


class Matches(NamedTuple):
    """`total`: as in LexicalResult."""

    ranked: list[RankedDocument]
    total: int


class Part(NamedTuple):
    """The results of one index in a survey. `is_cut`: there may be more documents. `named`: how many documents have
    every word in their path. `in_path`: the documents among them that have a score."""

    scores: dict[int, float]
    found: fulltext.Survey
    is_cut: bool
    named: int
    in_path: set[int]


class _FoundDocuments(NamedTuple):
    """`scores`: best first, each content once; the sum of `bm25` and the bonus for every word. `whole`: the documents
    that have every word. `total`: how many documents match."""

    scores: dict[int, float]
    bm25: Mapping[int, float]
    whole: Collection[int]
    total: int


def search(
    connection: Connection,
    clauses: Sequence[Clause],
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
    prefix_last_term: bool = False,
) -> LexicalResult:
    """Return the best `limit` documents, with components `bm25`, `every_word` and, for long documents, `window`. Scores
    are shares of the greatest score that the query allows, and do not depend on `limit`. Raises QuerySyntaxError."""
    wanted = expression_in(connection, clauses, prefix_last_term=prefix_last_term)
    terms = fulltext.weigh(connection, wanted.terms())
    found = rank(connection, wanted, terms, filters, limit=limit)
    shares = as_shares(found.ranked, greatest(wanted, terms, fulltext.size(connection)))
    return LexicalResult([r for r in shares if r.score >= min_score], found.total, wanted)


def rank(
    connection: Connection,
    wanted: Expression,
    terms: Sequence[fulltext.Weighed],
    filters: Filters,
    *,
    limit: int,
) -> Matches:
    """Return the best `limit` documents, unscaled."""
    look = partial(_matches, connection, wanted, terms, filters)
    found = look(depth=_MIN_DEPTH)
    windowed = list(islice(found.scores, _WINDOWED))
    if 2 * limit > _MIN_DEPTH:
        found = look(depth=2 * limit)
    return Matches(_with_windows(found, _best_windows(connection, windowed, terms), limit), found.total)


def survey(connection: Connection, clauses: Sequence[Clause], filters: Filters, *, depth: int) -> LexicalSurvey:
    """Return the best `depth` documents for fusion with vector search. Its vectors are of passages, so windows would
    add nothing. Raises QuerySyntaxError."""
    wanted = expression_in(connection, clauses)
    terms = fulltext.weigh(connection, wanted.terms())
    return surveyed([survey_part(connection, wanted, terms, filters, depth=depth)], wanted)


def survey_part(
    connection: Connection,
    wanted: Expression,
    terms: Sequence[fulltext.Weighed],
    filters: Filters,
    *,
    depth: int,
) -> Part:
    """Return the part of one index, for `surveyed`."""
    while True:
        found = fulltext.survey(connection, terms, wanted.conditions(filters), depth)
        whole = _whole(connection, wanted, [id_ for id_, _ in found.matches])
        scores = _distinct_scores(connection, found.matches, whole)
        if len(found.matches) < depth or len(scores) >= depth // _MOST_COPIES:
            break
        depth *= _DEEPER
    return Part(scores, found, len(found.matches) == depth, *_in_path(connection, wanted, terms, scores))


def surveyed(parts: Sequence[Part], wanted: Expression, coverage: float | None = None) -> LexicalSurvey:
    """Return the survey of several indexes. All scored their documents with the same weights, so their sums can be
    added. `coverage`: of all indexes; None: of the only index."""
    scores = parts[0].scores
    if len(parts) > 1:
        every = [item for part in parts for item in part.scores.items()]
        # The sort is stable: among equals, documents of the first index stay first.
        scores = dict(sorted(every, key=lambda item: -item[1]))
    whole = _added([part.found for part in parts])
    beyond = _mean_of_the_rest(whole) if whole.matches and any(part.is_cut for part in parts) else 0.0
    prominence = _prominence(whole, max(scores.values(), default=0.0))
    in_path = {id_ for part in parts for id_ in part.in_path}
    named = _named(sum(part.named for part in parts), in_path, whole.documents, scores)
    return LexicalSurvey(scores, beyond, prominence, whole.coverage if coverage is None else coverage, wanted, named)


def allowed(connection: Connection, wanted: Expression, document_ids: Collection[int]) -> set[int]:
    """Return the documents that contain every required phrase and no excluded one."""
    _, required, excluded = wanted.conditions(Filters())
    kept = _matching(connection, document_ids, required) if required else set(document_ids)
    return kept - _matching(connection, kept, [excluded]) if excluded else kept


@by_id
def _matching(connection: Connection, ids: Collection[int], groups: Sequence[tuple[str, ...]]) -> set[int]:
    return fulltext.matching(connection, groups, ids)


def shares(connection: Connection, wanted: Expression, document_ids: Collection[int]) -> dict[int, float]:
    """Return for each document the share of the words that it has, by weight."""
    words = wanted.every_word()
    weights = [term.weight for term in fulltext.weigh(connection, [fulltext.Term(phrases) for phrases in words])]
    whole = sum(weights)
    found = dict.fromkeys(document_ids, 0.0)
    for phrases, weight in zip(words, weights, strict=True):
        for id_ in _matching(connection, document_ids, [phrases]):
            found[id_] += weight / whole
    return found


def greatest(wanted: Expression, terms: Sequence[fulltext.Weighed], documents: int) -> float:
    """Return the greatest score that a query allows. `documents`: the number of documents in the index."""
    bonus = ALL_WORDS_BONUS if len(wanted.every_word()) > 1 else 0.0
    return fulltext.greatest_score(terms, documents) * (1 + bonus)


def as_shares(ranked: Sequence[RankedDocument], greatest: float) -> list[RankedDocument]:
    """Return the scores as shares of the greatest one. If the best window raises a score above it, the best score
    becomes 1."""
    whole = max([greatest, *(each.score for each in ranked[:1])])
    return [each._replace(score=each.score / whole) for each in ranked]


def all_matches(connection: Connection, wanted: Expression, filters: Filters, limit: int) -> list[int]:
    """Return the documents with a word of the expression, unranked."""
    return fulltext.ids(connection, tuple(wanted.phrases()), wanted.conditions(filters), limit)


def expression_of(connection: Connection, clauses: Sequence[Clause]) -> Expression:
    """Return the expression for the clauses; an empty one if they have nothing to search for."""
    return _expression(clauses, analyzers_of_index(connection))


def query_terms(clauses: Sequence[Clause], analyzers: Sequence[Analyzer]) -> list[list[TermVariant]]:
    """Return the variants of each word, to mark a text."""
    return _expression(clauses, analyzers).query_terms()


def _expression(clauses: Sequence[Clause], analyzers: Sequence[Analyzer]) -> Expression:
    try:
        return expression.build(clauses, analyzers)
    except QuerySyntaxError:
        return Expression([], [], [])


def analyzers_of_index(connection: Connection) -> list[Analyzer]:
    """Return one analyser for each language of the index and of attached indexes, because a query is too short to
    detect its language. Only the calling thread may use them."""
    beside = {stemming_language(each) for each in languages_beside(connection)}
    return [_analyzer(language) for language in sorted(_languages(connection) | beside)]


@until_changed
def _languages(connection: Connection) -> set[str]:
    return {stemming_language(language) for language in documents.distinct_languages(connection)} | {DEFAULT_LANGUAGE}


def expression_in(
    connection: Connection, clauses: Sequence[Clause], *, prefix_last_term: bool = False, is_joint: bool = False
) -> Expression:
    """Return the expression for the clauses, with only those spellings that occur; with all if the search `is_joint`:
    also over other indexes. Raises QuerySyntaxError."""
    analyzers = analyzers_of_index(connection)
    occurs = fulltext.occurring(connection)
    language = expression.own_language(clauses)
    is_new = language is not None and language not in {analyzer.language for analyzer in analyzers}
    build = partial(expression.build, clauses, analyzers, own=_analyzer(language) if language and is_new else None)
    wanted = build() if is_joint else build().with_spellings(occurs)
    if not prefix_last_term:
        return wanted
    longer = build(prefix_last_term=True) if is_joint else build(prefix_last_term=True).with_spellings(occurs)
    added = {v for word in longer.words for v in word.variants} - {v for word in wanted.words for v in word.variants}
    few = all(fulltext.frequency_of_phrase(connection, phrase) <= _MAX_PREFIX_MATCHES for phrase in added)
    return longer if few else wanted


def _matches(
    connection: Connection,
    wanted: Expression,
    terms: Sequence[fulltext.Weighed],
    filters: Filters,
    *,
    depth: int,
) -> _FoundDocuments:
    """Return the best documents: at least half of `depth`, if that many match."""
    enough, every_word = depth // 2, wanted.every_word()
    look = partial(
        fulltext.search,
        *(connection, terms, wanted.conditions(filters)),
        every_word=every_word if len(every_word) > 1 else (),
    )
    while True:
        matches = look(depth)
        bm25 = dict(matches.best)
        scores = _distinct_scores(connection, matches.best, matches.whole)
        has_every_word = matches.whole if len(every_word) > 1 else bm25
        if len(bm25) < depth:
            return _FoundDocuments(scores, bm25, has_every_word, len(scores))
        if len(scores) >= enough:
            return _FoundDocuments(scores, bm25, has_every_word, matches.total)
        depth *= _DEEPER


def _distinct_scores(
    connection: Connection, scores: Sequence[tuple[int, float]], whole: Collection[int]
) -> dict[int, float]:
    """Return the scores, best first, each content once. `whole`: the documents that have every word."""
    if whole:
        raised = [(score[0], score[1] * (1 + ALL_WORDS_BONUS)) if score[0] in whole else score for score in scores]
        scores = sorted(raised, key=_SCORE, reverse=True)  # the sort is stable: ties stay in docid order
    if not copies.exist(connection):
        return dict(scores)
    ranked = [RankedDocument(id_, score, None, {}) for id_, score in scores]
    return {each.id: each.score for each in without_copies(connection, ranked)}


def _whole(connection: Connection, wanted: Expression, ids: Collection[int]) -> set[int]:
    """Return the documents that have every word; none if there is only one word."""
    every_word = wanted.every_word()
    return fulltext.matching(connection, every_word, ids) if len(every_word) > 1 and ids else set()


def _in_path(
    connection: Connection, wanted: Expression, terms: Sequence[fulltext.Weighed], ids: Collection[int]
) -> tuple[int, set[int]]:
    """Return how many documents have every word in their path, and which of `ids`. If texts have an identifier as it
    was typed, it names those texts, and not a file with the same words."""
    occurring = {phrase for term in terms for phrase, n in term.frequencies if n}
    if occurring & wanted.identifiers():
        return 0, set()
    return fulltext.in_path(connection, wanted.every_word(), ids)


def _named(number: int, among: Collection[int], documents: int, scores: Mapping[int, float]) -> dict[int, float]:
    """Return the best of the documents that a query names. The name of a folder with half of the documents is almost no
    evidence; the name of a single file is the best evidence."""
    if not number or documents < 2:
        return {}
    says = 1 - log(number) / log(documents)
    return dict.fromkeys(islice((id_ for id_ in scores if id_ in among), MOST_NAMED), says)


def _added(found: Sequence[fulltext.Survey]) -> fulltext.Survey:
    if len(found) == 1:
        return found[0]
    matches = sorted((match for each in found for match in each.matches), key=lambda match: -match[1])
    sums = (sum(column) for column in zip(*(each[1:] for each in found), strict=True))
    return fulltext.Survey(matches, *sums)


def _mean_of_the_rest(found: fulltext.Survey) -> float:
    """Return the mean score of all other documents, including those without a match."""
    rest: float = found.total - sum(map(_SCORE, found.matches))
    return min(max(rest, 0.0) / max(found.documents - len(found.matches), 1), found.matches[-1][1])


def _prominence(found: fulltext.Survey, best: float) -> float:
    """Use square roots, because the scores of a few words are very uneven: the best one would always stand out."""
    if not found.documents:
        return 0.0
    mean = found.total_of_roots / found.documents
    variance = max(found.total / found.documents - mean * mean, 0.0)
    return fusion.prominence(sqrt(best), mean, sqrt(variance))


def _with_windows(found: _FoundDocuments, near: Mapping[int, float], limit: int) -> list[RankedDocument]:
    """Return the best `limit` documents. `near`: the best windows of long documents."""
    scores = found.scores
    if near:
        blended = windows.blended(scores, near)
        scores = dict(sorted(blended.items(), key=_SCORE, reverse=True))  # the sort is stable: ties stay in docid order
    return [_ranked(found, id_, score, near.get(id_)) for id_, score in islice(scores.items(), limit)]


def _ranked(found: _FoundDocuments, id_: int, score: float, window: float | None) -> RankedDocument:
    components = {"bm25": found.bm25[id_], "every_word": float(id_ in found.whole)}
    if window is not None:
        components["window"] = window
    return RankedDocument(id_, score, None, components)


def _best_windows(
    connection: Connection, candidates: Sequence[int], terms: Sequence[fulltext.Weighed]
) -> dict[int, float]:
    """Return the best windows of the long candidates; none for a single word, which has no neighbours."""
    least = windows.NEGLIGIBLE * max((term.weight for term in terms), default=0.0)
    heavy = [term for term in terms if term.weight >= least]
    if len(heavy) < 2:
        return {}
    long = fulltext.with_long_bodies(connection, candidates, windows.LONG)
    return windows.best_windows([(term.weight, _places(connection, term, long)) for term in heavy])


def _places(connection: Connection, term: fulltext.Weighed, among: Sequence[int]) -> list[tuple[int, bytes]]:
    phrases = [phrase for phrase, n in term.frequencies if n and among]
    return [found for phrase in phrases for found in fulltext.body_positions(connection, phrase, among)]


def _analyzer(language: str) -> Analyzer:
    known: dict[str, Analyzer] | None = getattr(_per_thread, "analyzers", None)
    if known is None:
        known = _per_thread.analyzers = {}
    if language not in known:
        known[language] = Analyzer(language)
    return known[language]


_per_thread = threading.local()
