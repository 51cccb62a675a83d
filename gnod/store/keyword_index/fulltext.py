"""Query the full-text index. Depends on FTS5 and its scores; must not depend on the query language.

A large index also has postings (`gnod.store.keyword_index.postings`): the same scores, from files that are faster to
read. Where they have no view of the connection's snapshot, FTS5 answers.

Score: BM25 (Robertson & Zaragoza 2009), k1 1.2, b 0.75, column weights below, larger is better. FTS5 computes the part
that depends on the document, in C. The weight of a phrase is computed here, because FTS5's is 0 for a word in half of
the documents or more, which in a small collection are most words (nDCG@10 of qmd-eval .934 against .960, cacm .474
against .50). It is Lucene's: log(1 + (N - n + 0.5) / (n + 0.5)).
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from math import log, sqrt
from typing import NamedTuple
from weakref import WeakSet

import apsw
import msgspec
import numpy as np

from gnod import bm25
from gnod.store.connection import Connection
from gnod.store.keyword_index import columns
from gnod.store.keyword_index.docsizes import column_sizes
from gnod.store.keyword_index.postings import attachment, searching
from gnod.store.keyword_index.postings.searching import Conditions
from gnod.store.keyword_index.postings.view import AnyOf, Noted, view_of
from gnod.store.tables import copies
from gnod.store.tables.filters import Filters
from gnod.store.tables.records import Terms

# Column weights of filepath, title and body. docs/adr/0004-lexical-ranking.md has the figures for a title weight of 3
# instead of 4.
WEIGHTS = (1.5, 3.0, 1.0)

# In a large index, a word with less than this share of the weight of the query's rarest word is ignored: it is the
# slowest and hardly changes the ranking (figures: docs/adr/0004-lexical-ranking.md).
_LARGE = 1000
_NEGLIGIBLE = 0.15

# The weights together with vector search, which has the title in every piece. docs/adr/0014-fusion.md has the figures.
FUSED_WEIGHTS = (1.5, 2.0, 1.0)
_FUSED_NEGLIGIBLE = 0.05
# The number of documents read before common words are ignored: about 10 ms.
_WALK = 10_000
# The full-text table reads this many postings in the time that it takes to look up a phrase in one document.
_POSTINGS_OF_A_LOOKUP = 300


def _score(weights: Sequence[float]) -> str:
    return f"-bm25(documents_fts, {_listed(weights)}) * ?"


def _score_against(weights: Sequence[float]) -> str:
    return f"bm25_against(documents_fts, ?, {_listed(weights)}) * ?"


def _listed(weights: Sequence[float]) -> str:
    return ", ".join(str(weights[column]) for column in columns.ORDER)


_FTS5_MIN_IDF = 1e-6
# FTS5's k1: a term that fills a document scores k1 + 1 times its weight.

# This must be a filter ("+") and not a constraint: otherwise SQLite would start FTS5 again for each document.
_AMONG = "+rowid IN (SELECT value FROM json_each(?))"
# Connections that have the SQL functions body_positions and bm25_against.
_with_positions: WeakSet[Connection] = WeakSet()
_with_average: WeakSet[Connection] = WeakSet()


class Term(NamedTuple):
    """A query term: any of `phrases` (FTS5 syntax). They are variants of one word and share one document frequency: a
    rare stem of a common word does not weigh more. `weight` multiplies the score."""

    phrases: tuple[str, ...]
    weight: float = 1.0


class _Scored(NamedTuple):
    phrase: str
    factor: float


class PhraseDocumentCounts(NamedTuple):
    """How many documents an index has, and in how many of them phrases occur."""

    size: int
    frequencies: Mapping[str, int]


class Weighed(NamedTuple):
    """A term's weight, and in how many documents each of its phrases occurs."""

    weight: float
    frequencies: list[tuple[str, int]]

    def among(self, frequencies: Mapping[str, int]) -> Weighed:
        """Return the term with its weight, and these frequencies."""
        return Weighed(self.weight, [(phrase, frequencies.get(phrase, 0)) for phrase, _ in self.frequencies])


class FulltextMatches(NamedTuple):
    """`best`: ids and scores of the best documents. `whole`: documents with every word, all such among the best.
    `total`: how many match; copies count once."""

    best: list[tuple[int, float]]
    whole: set[int]
    total: int


class Survey(NamedTuple):
    """The best documents, and the distribution of the scores over all `documents`, where one without a match has 0: the
    sum of the scores, and of their square roots. `coverage`: the share of the terms, by weight, that occur at all."""

    matches: list[tuple[int, float]]
    documents: int
    total: float
    total_of_roots: float
    coverage: float


def store(connection: Connection, terms: dict[int, Terms]) -> None:
    """Add the terms of documents, by their ids, which must not be in the table. Empties `terms`.

    To be called once for many documents. FTS5 collects terms until a statement opens a savepoint, as those with
    triggers do; then it writes what it has. A segment for each document takes more time than everything else together.
    """
    connection.executemany(
        "INSERT INTO documents_fts (rowid, filepath, title, body) VALUES (?, ?, ?, ?)",
        ((id_, each.filepath, each.title, each.body) for id_, each in terms.items()),
    )
    attachment.add(connection, terms)
    terms.clear()


def weigh(connection: Connection, terms: Sequence[Term]) -> list[Weighed]:
    """Look up the document frequencies of terms."""
    return weighed(terms, [counted(connection, terms)])


def counted(connection: Connection, terms: Sequence[Term]) -> PhraseDocumentCounts:
    phrases = {phrase for term in terms for phrase in term.phrases}
    return PhraseDocumentCounts(
        size(connection), {phrase: frequency_of_phrase(connection, phrase) for phrase in phrases}
    )


def weighed(terms: Sequence[Term], indexes: Sequence[PhraseDocumentCounts]) -> list[Weighed]:
    """Return the terms with the weights that they have in all the indexes together."""
    total = sum(index.size for index in indexes)
    found = []
    for term in terms:
        frequencies = [(phrase, sum(each.frequencies.get(phrase, 0) for each in indexes)) for phrase in term.phrases]
        together = min(sum(n for _, n in frequencies), total)
        found.append(Weighed(term.weight * bm25.idf(total, together), frequencies))
    return found


def search(
    connection: Connection,
    terms: Sequence[Weighed],
    filters: Filters,
    depth: int,
    *,
    every_word: Sequence[AnyOf] = (),
    required: Sequence[AnyOf] = (),
    excluded: AnyOf = (),
    average: float | None = None,
) -> FulltextMatches:
    """Return the best `depth` documents with at least one term that pass the filters; ties are ordered by docid.
    `every_word`: a phrase of each of these groups makes a document whole.
    `average`: the mean length of the documents, where the index holds only a part of them.

    Every document must have a phrase of each group in `required`, and none of `excluded`. Each phrase reads the
    full-text table once, and the filters apply to its rows: a `rowid IN (SELECT …)` inside a MATCH query would make
    SQLite restart FTS5 for every row.
    """
    passing = Conditions(filters, required, excluded)
    occurring = tuple(dict.fromkeys(phrase for term in terms for phrase, n in term.frequencies if n))
    view = view_of(connection) if average is None else None
    if view is not None:
        phrases = _weights(worth_reading(terms, view.size, thorough=False))
        noted = Noted(every_word, occurring)
        best, whole, total = searching.best(connection, view, phrases, WEIGHTS, depth, passing, noted)
    else:
        best = _best(connection, terms, passing, depth, average)
        whole = matching(connection, every_word, [id_ for id_, _ in best]) if every_word and best else set()
        total = None
    if len(best) < depth:
        total = len(best)
    elif total is None:
        total = count(connection, occurring, filters, required=required, excluded=excluded)
    return FulltextMatches(best, whole, total)


def _best(
    connection: Connection, terms: Sequence[Weighed], passing: Conditions, depth: int, average: float | None
) -> list[tuple[int, float]]:
    """Do as `search`, in the full-text table."""
    filters, required, excluded = passing
    if average is not None:
        best, _ = _against(connection, WEIGHTS, terms, average, filters, depth, required=required, excluded=excluded)
        return best
    scored = _factors(terms, size(connection), thorough=False)
    if not scored:
        return []
    where, bound = _conditions(filters, required, excluded)
    score = _score(WEIGHTS)
    if len(scored) == 1:
        # A single phrase needs no sum: this takes half the time, and only documents that pass the filters are scored.
        rows = connection.execute(
            f"SELECT d.id, {score} AS score FROM documents_fts CROSS JOIN documents d ON d.id = documents_fts.rowid"
            f" WHERE documents_fts MATCH ? AND {where} ORDER BY score DESC, d.docid, d.id LIMIT ?",
            (scored[0].factor, scored[0].phrase, *bound, depth),
        )
    else:
        rows = connection.execute(
            f"{_hits(score, len(scored))}"
            f" SELECT hits.id, hits.score FROM hits CROSS JOIN documents d ON d.id = hits.id WHERE {where}"
            " ORDER BY hits.score DESC, d.docid, d.id LIMIT ?",
            (*_bound(scored), *bound, depth),
        )
    return list(rows)


def survey(
    connection: Connection,
    terms: Sequence[Weighed],
    filters: Filters,
    depth: int,
    *,
    required: Sequence[AnyOf] = (),
    excluded: AnyOf = (),
    average: float | None = None,
) -> Survey:
    """Do as `search`, for fusion: ignore fewer common words, and also return the distribution of the scores. With an
    `average`, it is that of the returned documents."""
    view = view_of(connection) if average is None else None
    if view is not None:
        phrases = _weights(worth_reading(terms, view.size, thorough=True))
        passing = Conditions(filters, required, excluded)
        found = searching.survey(connection, view, phrases, FUSED_WEIGHTS, depth, passing)
        return Survey(found.best, view.size, found.sums.scores, found.sums.roots, coverage(terms) if phrases else 0.0)
    if average is not None:
        best_of, sums = _against(
            connection, FUSED_WEIGHTS, terms, average, filters, depth, required=required, excluded=excluded
        )
        return Survey(best_of, len(best_of), *sums, coverage(terms) if terms else 0.0)
    documents = size(connection)
    scored = _factors(terms, documents, thorough=True)
    if not scored:
        return Survey([], documents, 0.0, 0.0, 0.0)
    where, bound = _conditions(filters, required, excluded)
    best = f"SELECT hits.id, hits.score FROM hits CROSS JOIN documents d ON d.id = hits.id WHERE {where}"
    if filters.are_empty and not required and not excluded:
        best, bound = "SELECT id, score FROM hits", []  # every row of the full-text table is an active document
    rows = connection.execute(
        f"{_hits(_score(FUSED_WEIGHTS), len(scored))}"
        " SELECT total(score), total(sqrt(max(score, 0))) FROM hits UNION ALL"
        f" SELECT * FROM ({best} ORDER BY hits.score DESC, hits.id LIMIT ?)",
        (*_bound(scored), *bound, depth),
    )
    total, roots = next(rows)
    return Survey(list(rows), documents, total, roots, coverage(terms))


def _against(
    connection: Connection,
    weights: Sequence[float],
    terms: Sequence[Weighed],
    average: float,
    filters: Filters,
    depth: int,
    *,
    required: Sequence[AnyOf],
    excluded: AnyOf,
) -> tuple[list[tuple[int, float]], tuple[float, float]]:
    """Return the best documents that pass, with scores for this mean length, and the sums of the scores and of their
    roots. The filters are applied first: each score is computed in Python."""
    if connection not in _with_average:
        connection.register_fts5_function("bm25_against", _bm25_against)
        _with_average.add(connection)
    where, bound = _conditions(filters, required, excluded)
    among = _json([id_ for (id_,) in connection.execute(f"SELECT d.id FROM documents d WHERE {where}", bound)])
    scored = _score_against(weights)
    statement = f"SELECT rowid, {scored} FROM documents_fts WHERE documents_fts MATCH ? AND {_AMONG}"
    scores: dict[int, float] = {}
    for phrase, weight in [(phrase, term.weight) for term in terms for phrase, n in term.frequencies if n]:
        for id_, score in connection.execute(statement, (average, weight, phrase, among)):
            scores[id_] = scores.get(id_, 0.0) + score
    best = sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:depth]
    return best, (sum(score for _, score in best), sum(sqrt(max(score, 0.0)) for _, score in best))


def _bm25_against(api: apsw.FTS5ExtensionApi, /, *arguments: apsw.SQLiteValue) -> float:
    """Return the score of FTS5's bm25() without the weight of the phrase. Arguments: the mean length of documents, and
    the weights of the columns."""
    average, *weights = map(float, arguments)  # type: ignore[arg-type]
    places = api.phrase_locations(0)
    frequency = sum(weight * len(found) for weight, found in zip(weights, places, strict=True))
    length = api.column_size(-1)
    return bm25.saturated(frequency, length / average)


def _hits(score: str, phrases: int) -> str:
    """Return the head of a statement: `hits`, every document that holds a phrase, with the sum of its scores."""
    one = f"SELECT rowid AS id, {score} AS score FROM documents_fts WHERE documents_fts MATCH ?"
    return (
        f"WITH scores AS MATERIALIZED ({' UNION ALL '.join([one] * phrases)}),"
        " hits AS MATERIALIZED (SELECT id, sum(score) AS score FROM scores GROUP BY id)"
    )


def _bound(scored: Sequence[_Scored]) -> list[object]:
    return [value for phrase, factor in scored for value in (factor, phrase)]


def greatest_score(terms: Sequence[Weighed], documents: int) -> float:
    """Return what `search` would give a document that is full of every term: of those that are read, and of those that
    occur nowhere. `documents`: how many there are."""
    read = worth_reading(terms, documents, thorough=False)
    return bm25.greatest(sum(term.weight for term in read))


def matching(connection: Connection, groups: Sequence[AnyOf], ids: Collection[int]) -> set[int]:
    """Return those of the documents that have a phrase of each group."""
    view = view_of(connection)
    if view is not None:
        return view.among(ids, groups)
    return _rows_of(connection, _all_of(groups)).intersection(ids)


def in_path(connection: Connection, groups: Sequence[AnyOf], ids: Collection[int]) -> tuple[int, set[int]]:
    """Return how many documents have a phrase of each group in their path, and which of `ids` do."""
    view = view_of(connection)
    if view is not None:
        found = view.in_path(groups)
        if not len(found):
            return 0, set()
        return len(found), set(np.intersect1d(found, np.array(list(ids), np.int64)).tolist())
    rows = _rows_of(connection, f"filepath : ({_all_of(groups)})")
    return len(rows), rows.intersection(ids)


def count(
    connection: Connection,
    phrases: AnyOf,
    filters: Filters,
    *,
    required: Sequence[AnyOf] = (),
    excluded: AnyOf = (),
) -> int:
    """Return how many documents have one of the phrases, under the same conditions as in `search`; copies count
    once."""
    view = view_of(connection)
    if view is not None:
        return searching.count(connection, view, phrases, Conditions(filters, required, excluded))
    expression = _any_of(phrases)
    if filters.are_empty and not required and not excluded:
        return frequency(connection, expression) - _surplus(connection, expression, "1", [])
    where, bound = _conditions(filters, required, excluded)
    found = connection.execute(
        "SELECT count(*) FROM documents_fts CROSS JOIN documents d ON d.id = documents_fts.rowid"
        f" WHERE documents_fts MATCH ? AND {where}",
        (expression, *bound),
    )
    return int(found.get) - _surplus(connection, expression, where, bound)


def ids(
    connection: Connection,
    phrases: AnyOf,
    filters: Filters,
    limit: int,
    *,
    required: Sequence[AnyOf] = (),
    excluded: AnyOf = (),
) -> list[int]:
    """Return the documents with one of the phrases under the same conditions as in `search`, unranked."""
    where, bound = _conditions(filters, required, excluded)
    rows = connection.execute(
        "SELECT d.id FROM documents_fts CROSS JOIN documents d ON d.id = documents_fts.rowid"
        f" WHERE documents_fts MATCH ? AND {where} LIMIT ?",
        (_any_of(phrases), *bound, limit),
    )
    return [document_id for (document_id,) in rows]


def body_positions(connection: Connection, phrase: str, document_ids: Collection[int]) -> list[tuple[int, bytes]]:
    """Return where a phrase begins in the bodies of documents, in terms from the start: ascending, as unsigned 32-bit
    integers of this machine. Documents without the phrase are left out."""
    if connection not in _with_positions:
        connection.register_fts5_function("body_positions", _positions_of_row)
        _with_positions.add(connection)
    select = "SELECT rowid, body_positions(documents_fts) FROM documents_fts WHERE documents_fts MATCH ?"
    if _is_common(connection, phrase, len(document_ids)):
        each = ((f"body : {phrase}", id_) for id_ in sorted(document_ids))
        return list(connection.executemany(f"{select} AND rowid = ?", each))
    return list(connection.execute(f"{select} AND {_AMONG}", (f"body : {phrase}", _json(document_ids))))


def with_long_bodies(connection: Connection, document_ids: Sequence[int], least: int) -> list[int]:
    """Return the documents whose bodies have at least this many terms, without those whose record is damaged."""
    view = view_of(connection)
    if view is not None:
        long = set(view.with_length(document_ids, least))
        document_ids = [id_ for id_ in document_ids if id_ in long]
    if not document_ids:
        return []
    rows = connection.execute(
        "SELECT d.id, d.sz FROM json_each(?) wanted CROSS JOIN documents_fts_docsize d ON d.id = wanted.value"
        " WHERE typeof(d.sz) = 'blob'",
        (_json(document_ids),),
    )
    sizes = {document_id: list(column_sizes(record)) for document_id, record in rows}
    return [id_ for id_ in document_ids if sizes.get(id_) and sizes[id_][columns.BODY] >= least]


def quote(phrase: str) -> str:
    """Return terms, separated by spaces, as an FTS5 phrase."""
    return '"' + phrase.replace('"', '""') + '"'


def _factors(weighed: Sequence[Weighed], total: int, *, thorough: bool) -> list[_Scored]:
    read = worth_reading(weighed, total, thorough=thorough)
    return [_Scored(phrase, weight / _fts5_idf(total, n)) for weight, found in read for phrase, n in found if n]


def worth_reading(weighed: Sequence[Weighed], total: int, *, thorough: bool) -> list[Weighed]:
    """Leave out common words. `total`: of the documents. `thorough`: keep them while that is cheap."""
    best = max((term.weight for term in weighed), default=0.0) if total >= _LARGE else 0.0
    read: list[Weighed] = []
    walked = 0
    for term in sorted(weighed, key=lambda term: -term.weight):
        walked += sum(n for _, n in term.frequencies)
        is_cheap = thorough and term.weight >= _FUSED_NEGLIGIBLE * best and walked <= _WALK
        if term.weight >= _NEGLIGIBLE * best or is_cheap:
            read.append(term)
    return read


def size(connection: Connection) -> int:
    """Return the number of documents."""
    view = view_of(connection)
    if view is not None:
        return view.size
    return int(connection.execute("SELECT count(*) FROM documents_fts_docsize").get)


def frequency_of_phrase(connection: Connection, phrase: str) -> int:
    """Return in how many documents a phrase occurs."""
    view = view_of(connection)
    return frequency(connection, phrase) if view is None else view.frequency(phrase)


def frequency(connection: Connection, expression: str) -> int:
    """Return how many documents an FTS5 expression matches."""
    return int(connection.execute("SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?", (expression,)).get)


def frequency_of_all(connection: Connection, groups: Sequence[AnyOf]) -> int:
    """Return how many documents have a phrase of each group."""
    view = view_of(connection)
    phrases = [phrase for group in groups for phrase in group]
    if view is None or not view.has_all(phrases):
        return frequency(connection, _all_of(groups))
    return view.frequency(phrases[0]) if len(phrases) == 1 else view.matching(groups).size


def frequency_up_to(connection: Connection, phrases: Collection[str], most: int) -> int:
    """Return how many documents have one of the phrases, but not more than `most`. Fast for common words too."""
    view = view_of(connection)
    if view is not None and view.has_all(phrases):
        found = [n for phrase in phrases if (n := view.frequency(phrase))]
        if len(found) < 2 or max(found) >= most:
            return min(max(found, default=0), most)
    expression = _any_of(tuple(phrases))
    statement = "SELECT count(*) FROM (SELECT 1 FROM documents_fts WHERE documents_fts MATCH ? LIMIT ?)"
    return int(connection.execute(statement, (expression, most)).get)


def frequency_in_language(connection: Connection, expression: str, language: str, most: int) -> int:
    """Do as `frequency_up_to` for one phrase, in documents of a rare language."""
    view = view_of(connection)
    if view is not None and view.has_all([expression]):
        rows = connection.execute("SELECT id FROM documents WHERE active AND language = ?", (language,))
        return min(len(view.among([id_ for (id_,) in rows], [(expression,)])), most)
    found = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM documents_fts CROSS JOIN documents d ON d.id = documents_fts.rowid"
        " WHERE documents_fts MATCH ? AND d.language = ? LIMIT ?)",
        (expression, language, most),
    )
    return int(found.get)


def texts(connection: Connection, expression: str, limit: int, characters: int) -> list[str]:
    """Return titles and beginnings of some documents that match an FTS5 expression, preferably short ones."""
    rows = connection.execute(
        "SELECT d.title || char(10) || substr(c.markdown, 1, ?3) FROM (SELECT rowid FROM documents_fts"
        " WHERE documents_fts MATCH ?1 LIMIT ?4) found CROSS JOIN documents d ON d.id = found.rowid"
        " JOIN content c ON c.mirror_hash = d.mirror_hash ORDER BY d.size LIMIT ?2",
        (expression, limit, characters, 4 * limit),
    )
    return [text for (text,) in rows]


def _is_common(connection: Connection, phrase: str, documents: int) -> bool:
    """Tell whether it is faster to look a phrase up in each of some documents than to read where it occurs."""
    view = view_of(connection)
    return view is not None and view.frequency(phrase) > _POSTINGS_OF_A_LOOKUP * documents


def _fts5_idf(total: int, n: int) -> float:
    """The weight that bm25() gives a phrase (SQLite, fts5_aux.c)."""
    idf = log((total - n + 0.5) / (n + 0.5))
    return idf if idf > 0 else _FTS5_MIN_IDF


def _surplus(connection: Connection, expression: str, where: str, bound: Sequence[object]) -> int:
    """Return how many of the documents that match are copies of others that match."""
    if not copies.exist(connection):
        return 0
    found = connection.execute(
        "SELECT count(*) - count(DISTINCT d.source_hash) FROM documents_fts"
        " CROSS JOIN copies ON copies.document_id = documents_fts.rowid"
        f" CROSS JOIN documents d ON d.id = copies.document_id WHERE documents_fts MATCH ? AND {where}",
        (expression, *bound),
    )
    return int(found.get)


def _conditions(filters: Filters, required: Sequence[AnyOf], excluded: AnyOf) -> tuple[str, list[object]]:
    where, values = filters.condition()
    bound = list(values)
    for operator, expression in (("IN", _all_of(required)), ("NOT IN", _any_of(excluded))):
        if expression:
            where += f" AND d.id {operator} (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?)"
            bound.append(expression)
    return where, bound


def _any_of(phrases: AnyOf) -> str:
    return " OR ".join(phrases)


def _all_of(groups: Sequence[AnyOf]) -> str:
    return " AND ".join(f"({_any_of(group)})" for group in groups)


def _rows_of(connection: Connection, expression: str) -> set[int]:
    rows = connection.execute("SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?", (expression,))
    return {document_id for (document_id,) in rows}


def coverage(terms: Sequence[Weighed]) -> float:
    """Return the share of the terms, by weight, that occur."""
    found = sum(term.weight for term in terms if any(n for _, n in term.frequencies))
    return found / sum(term.weight for term in terms)


def _weights(terms: Sequence[Weighed]) -> list[tuple[str, float]]:
    return [(phrase, term.weight) for term in terms for phrase, n in term.frequencies if n]


def _positions_of_row(api: apsw.FTS5ExtensionApi, /, *_: apsw.SQLiteValue) -> bytes:
    return array("I", api.phrase_locations(0)[columns.BODY]).tobytes()


def _json(numbers: Collection[int]) -> bytes:
    return msgspec.json.encode(list(numbers))
