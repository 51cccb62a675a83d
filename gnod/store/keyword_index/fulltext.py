"""Query the keyword index: rank and count documents, with filters. The postings (gnod.store.keyword_index.postings)
compute scores. FTS5 stores the terms and their positions. Must not depend on the query language.

Score: BM25 (Robertson & Zaragoza 2009), k1 1.2, b 0.75, column weights below, larger is better. The weight of a phrase
is Lucene's, log(1 + (N - n + 0.5) / (n + 0.5)). FTS5's own weight is 0 for a word in at least half of the documents. In
a small collection, these are most words (nDCG@10 of qmd-eval .934 against .960, cacm .474 against .50).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple
from weakref import WeakSet

import apsw
import numpy as np

from gnod import bm25
from gnod.store.connection import Connection, json_list
from gnod.store.keyword_index import columns
from gnod.store.keyword_index.columns import column_sizes
from gnod.store.keyword_index.postings import feed
from gnod.store.keyword_index.postings.segment import Numbers
from gnod.store.keyword_index.postings.view import AnyOf, Matching, Scored, WeighedPhrase, view_of
from gnod.store.tables import copies
from gnod.store.tables.filters import Filters
from gnod.store.tables.records import Terms

# In a large index, a word with less than this share of the weight of the query's rarest word is ignored. Such words are
# the slowest, and hardly change the ranking (figures: docs/adr/0004-lexical-ranking.md).
_LARGE = 1000
_NEGLIGIBLE = 0.15
_FUSED_NEGLIGIBLE = 0.05
# Common words are ignored after this many documents have been read: about 10 ms.
_WALK = 10_000
# The full-text table reads this many postings in the time that it takes to look up a phrase in one document.
_POSTINGS_OF_A_LOOKUP = 300
# With filters, look up this many documents at first, then four times as many, and so on.
_FIRST = 512
_MORE = 4
# This must be a filter ("+"), not a constraint. Otherwise SQLite would start FTS5 again for each document.
_AMONG = "+rowid IN (SELECT value FROM json_each(?))"
# Connections that have the SQL function body_positions.
_with_positions: WeakSet[Connection] = WeakSet()


class Term(NamedTuple):
    """A query term: any of `phrases` (FTS5 syntax). They are variants of one word and share one document frequency, so
    a rare stem of a common word does not weigh more. `weight` multiplies the score. `languages`: for each of the first
    phrases, as in `WeighedPhrase`."""

    phrases: tuple[str, ...]
    weight: float = 1.0
    languages: tuple[frozenset[str] | None, ...] = ()


class PhraseDocumentCounts(NamedTuple):
    """The number of documents in an index, and the number with each phrase."""

    size: int
    frequencies: Mapping[str, int]


class Weighed(NamedTuple):
    """A term's weight, and the document frequency of each phrase. `languages`: as in `Term`."""

    weight: float
    frequencies: list[tuple[str, int]]
    languages: tuple[frozenset[str] | None, ...] = ()

    def among(self, frequencies: Mapping[str, int]) -> Weighed:
        """Return the term with the same weight and these frequencies."""
        return self._replace(frequencies=[(phrase, frequencies.get(phrase, 0)) for phrase, _ in self.frequencies])


class Conditions(NamedTuple):
    """A document meets the conditions if it passes the filters, has a phrase of each required group, and has no
    excluded phrase."""

    filters: Filters = Filters()
    required: Sequence[AnyOf] = ()
    excluded: AnyOf = ()


class FulltextMatches(NamedTuple):
    """`best`: ids and scores of the best documents. `whole`: the documents among these that have every word. `total`:
    the number of matching documents; copies count once."""

    best: list[tuple[int, float]]
    whole: set[int]
    total: int


class Survey(NamedTuple):
    """The best documents, and the distribution of the scores over all `documents`: `total` is the sum of the scores,
    `total_of_roots` of their square roots. A document without a match has the score 0. `coverage`: the share of the
    terms, by weight, that occur."""

    matches: list[tuple[int, float]]
    documents: int
    total: float
    total_of_roots: float
    coverage: float


def store(connection: Connection, terms: dict[int, Terms]) -> None:
    """Add the terms of documents by id. The documents must not be in the table. Empties `terms`.

    Call this once for many documents. FTS5 collects terms until a statement opens a savepoint (as statements with
    triggers do), and then writes a segment. One segment per document takes more time than everything else together.
    """
    connection.executemany(
        "INSERT INTO documents_fts (rowid, filepath, title, body) VALUES (?, ?, ?, ?)",
        ((id_, document.filepath, document.title, document.body) for id_, document in terms.items()),
    )
    feed.note(connection, terms)
    terms.clear()


def weigh(connection: Connection, terms: Sequence[Term]) -> list[Weighed]:
    """Look up the document frequencies of terms."""
    return weighed(terms, [counted(connection, terms)])


def counted(connection: Connection, terms: Sequence[Term]) -> PhraseDocumentCounts:
    phrases = {phrase for term in terms for phrase in term.phrases}
    view = view_of(connection)
    return PhraseDocumentCounts(view.size, {phrase: view.frequency(phrase) for phrase in phrases})


def weighed(terms: Sequence[Term], indexes: Sequence[PhraseDocumentCounts]) -> list[Weighed]:
    """Return the terms with their weights in all indexes together."""
    total = sum(index.size for index in indexes)
    found = []
    for term in terms:
        frequencies = [(phrase, sum(index.frequencies.get(phrase, 0) for index in indexes)) for phrase in term.phrases]
        together = min(sum(n for _, n in frequencies), total)
        found.append(Weighed(term.weight * bm25.idf(total, together), frequencies, term.languages))
    return found


def search(
    connection: Connection,
    terms: Sequence[Weighed],
    passing: Conditions,
    depth: int,
    *,
    every_word: Sequence[AnyOf] = (),
) -> FulltextMatches:
    """Return the best `depth` documents that have at least one term and meet the conditions. Ties are ordered by docid.
    `every_word`: a document with a phrase of each of these groups is `whole`."""
    best, _ = _ranked(connection, terms, bm25.COLUMN_WEIGHTS, depth, passing, thorough=False)
    whole = matching(connection, every_word, [id_ for id_, _ in best]) if every_word else set()
    if len(best) < depth:
        return FulltextMatches(best, whole, len(best))
    phrases = tuple(dict.fromkeys(phrase for term in terms for phrase, n in term.frequencies if n))
    return FulltextMatches(best, whole, _count(connection, phrases, passing))


def survey(connection: Connection, terms: Sequence[Weighed], passing: Conditions, depth: int) -> Survey:
    """Search for fusion: like `search`, but ignore fewer common words, and also return the distribution of the
    scores."""
    best, found = _ranked(connection, terms, bm25.FUSED_COLUMN_WEIGHTS, depth, passing, thorough=True)
    return Survey(best, size(connection), found.total, found.total_of_roots, coverage(terms))


def _ranked(
    connection: Connection,
    terms: Sequence[Weighed],
    weights: tuple[float, ...],
    depth: int,
    passing: Conditions,
    *,
    thorough: bool,
) -> tuple[list[tuple[int, float]], Scored]:
    """Return the ids and scores of the best documents that meet the conditions, and all results of the view. Ties are
    ordered by docid."""
    view, filters = view_of(connection), passing.filters
    allowed = None
    if passing.required or passing.excluded or filters.collections:
        allowed = _in_collections(connection, view.matching(passing.required, passing.excluded), filters)
    phrases = _phrases(worth_reading(terms, view.size, thorough=thorough))
    least = None if _is_slow(filters) else depth + len(filters.excluded)
    scored = view.scored(phrases, weights, least, allowed)
    order = np.lexsort((scored.ids, scored.docids, -scored.scores))
    return _cut(connection, scored.ids[order], scored.scores[order], filters, depth), scored


def _phrases(terms: Sequence[Weighed]) -> list[WeighedPhrase]:
    """Return each phrase that occurs, once. A word and its other spellings have phrases in common."""
    weights: dict[tuple[str, frozenset[str] | None], float] = {}
    for term in terms:
        for (text, n), languages in zip_longest(term.frequencies, term.languages):
            if n:
                weights[text, languages] = weights.get((text, languages), 0.0) + term.weight
    return [WeighedPhrase(text, weight, languages) for (text, languages), weight in weights.items()]


def _in_collections(connection: Connection, found: Matching, filters: Filters) -> Matching:
    if not filters.collections:
        return found
    names = json_list(filters.collections)
    rows = connection.execute("SELECT id FROM collections WHERE name IN (SELECT value FROM json_each(?))", (names,))
    return found.in_collections([id_ for (id_,) in rows])


def _is_slow(filters: Filters) -> bool:
    """Tell whether there is a filter that the view cannot apply."""
    return not filters._replace(collections=(), excluded=frozenset()).are_empty


def _are_known(filters: Filters) -> bool:
    """Tell whether the view can apply all filters."""
    return not (_is_slow(filters) or filters.excluded)


def _cut(
    connection: Connection, ids: Numbers, scores: Numbers, filters: Filters, depth: int
) -> list[tuple[int, float]]:
    """Return the first `depth` documents that pass the filters."""
    if _are_known(filters):
        return list(zip(ids[:depth].tolist(), scores[:depth].tolist(), strict=True))
    found: list[tuple[int, float]] = []
    start, size = 0, max(_FIRST, 2 * depth)
    while start < len(ids) and len(found) < depth:
        some = slice(start, start + size)
        passing = set(_select(connection, "d.id", ids[some], filters))
        pairs = zip(ids[some].tolist(), scores[some].tolist(), strict=True)
        found += [(id_, score) for id_, score in pairs if id_ in passing]
        start, size = start + size, size * _MORE
    return found[:depth]


def greatest_score(terms: Sequence[Weighed], documents: int) -> float:
    """Return the limit of the score that `search` can give a document. Terms that occur nowhere count; ignored terms do
    not. `documents`: the number of documents."""
    read = worth_reading(terms, documents, thorough=False)
    return bm25.greatest(sum(term.weight for term in read))


def matching(connection: Connection, groups: Sequence[AnyOf], ids: Collection[int]) -> set[int]:
    """Return the documents among `ids` that have a phrase of each group."""
    return view_of(connection).among(ids, groups)


def in_path(connection: Connection, groups: Sequence[AnyOf], ids: Collection[int]) -> tuple[int, set[int]]:
    """Return the number of documents with a phrase of each group in their path, and the ids among `ids` of such
    documents."""
    found = view_of(connection).in_path(groups)
    return len(found), set(np.intersect1d(found, np.array(list(ids), np.int64)).tolist())


def ids(connection: Connection, phrases: AnyOf, passing: Conditions, limit: int) -> list[int]:
    """Return unranked documents that have one of the phrases and meet the conditions."""
    found = _passing(connection, phrases, passing).ids()
    if _are_known(passing.filters):
        every: list[int] = found[:limit].tolist()
        return every
    return _select(connection, "d.id", found, passing.filters)[:limit]


def _count(connection: Connection, phrases: AnyOf, passing: Conditions) -> int:
    """Return how many documents have one of the phrases and meet the conditions. Copies count once."""
    found = _passing(connection, phrases, passing)
    if _are_known(passing.filters):
        return found.size - _surplus(connection, found)
    counted = "DISTINCT d.source_hash" if copies.exist(connection) else "*"
    return _select(connection, f"count({counted})", found.ids(), passing.filters)[0]


def _passing(connection: Connection, phrases: AnyOf, passing: Conditions) -> Matching:
    """Return the documents with one of the phrases. Filters that the view cannot apply are ignored."""
    found = view_of(connection).matching([*passing.required, phrases], passing.excluded)
    return _in_collections(connection, found, passing.filters)


def _surplus(connection: Connection, found: Matching) -> int:
    """Return how many of the documents are copies of others."""
    if not copies.exist(connection):
        return 0
    rows = dict(connection.execute("SELECT document_id, source_hash FROM copies"))
    among = np.intersect1d(found.ids(), np.array(list(rows), np.int64), assume_unique=True).tolist()
    return len(among) - len({rows[id_] for id_ in among})


def _select(connection: Connection, what: str, ids: Numbers, filters: Filters) -> list[int]:
    """Return the SQL expression `what` for the documents that pass the filters."""
    where, values = filters.condition()
    rows = connection.execute(
        f"SELECT {what} FROM json_each(?) wanted CROSS JOIN documents d ON d.id = wanted.value WHERE {where}",
        (json_list(ids.tolist()), *values),
    )
    return [int(value) for (value,) in rows]


def body_positions(connection: Connection, phrase: str, document_ids: Collection[int]) -> list[tuple[int, bytes]]:
    """Return the positions of a phrase in the bodies of documents, counted in terms from the start. They ascend and are
    unsigned 32-bit integers in native byte order. Documents without the phrase are left out."""
    if connection not in _with_positions:
        connection.register_fts5_function("body_positions", _positions_of_row)
        _with_positions.add(connection)
    select = "SELECT rowid, body_positions(documents_fts) FROM documents_fts WHERE documents_fts MATCH ?"
    if _is_common(connection, phrase, len(document_ids)):
        each = ((f"body : {phrase}", id_) for id_ in sorted(document_ids))
        return list(connection.executemany(f"{select} AND rowid = ?", each))
    return list(connection.execute(f"{select} AND {_AMONG}", (f"body : {phrase}", json_list(document_ids))))


def with_long_bodies(connection: Connection, document_ids: Sequence[int], least: int) -> list[int]:
    """Return the documents whose bodies have at least `least` terms. Documents with a damaged record are left out."""
    rows = connection.execute(
        "SELECT d.id, d.sz FROM json_each(?) wanted CROSS JOIN documents_fts_docsize d ON d.id = wanted.value"
        " WHERE typeof(d.sz) = 'blob'",
        (json_list(document_ids),),
    )
    sizes = {document_id: list(column_sizes(record)) for document_id, record in rows}
    return [id_ for id_ in document_ids if sizes.get(id_) and sizes[id_][columns.BODY] >= least]


def quote(phrase: str) -> str:
    """Return terms, separated by spaces, as an FTS5 phrase."""
    return '"' + phrase.replace('"', '""') + '"'


def worth_reading(weighed: Sequence[Weighed], total: int, *, thorough: bool) -> list[Weighed]:
    """Leave out common words. `total`: the number of documents. `thorough`: keep common words while that is cheap."""
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
    """Return the number of documents in the index."""
    return view_of(connection).size


def frequency_of_phrase(connection: Connection, phrase: str) -> int:
    """Return the number of documents with a phrase."""
    return view_of(connection).frequency(phrase)


def occurring(connection: Connection) -> Callable[[str], bool]:
    """Return a function that tells whether a phrase occurs. For many phrases."""
    view = view_of(connection)
    return lambda phrase: view.frequency(phrase) > 0


def frequency_of_all(connection: Connection, groups: Sequence[AnyOf]) -> int:
    """Return how many documents have a phrase of each group."""
    return view_of(connection).matching(groups).size


def frequency_in_language(connection: Connection, phrase: str, language: str) -> int:
    """Return how many documents of a rare language have a phrase."""
    rows = connection.execute("SELECT id FROM documents WHERE active AND language = ?", (language,))
    return len(matching(connection, [(phrase,)], [id_ for (id_,) in rows]))


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
    """Tell whether looking up a phrase in each of some documents is faster than reading all its occurrences."""
    return view_of(connection).frequency(phrase) > _POSTINGS_OF_A_LOOKUP * documents


def coverage(terms: Sequence[Weighed]) -> float:
    """Return the share of the terms, by weight, that occur."""
    found = sum(term.weight for term in terms if any(n for _, n in term.frequencies))
    return found / sum(term.weight for term in terms) if terms else 0.0


def _positions_of_row(api: apsw.FTS5ExtensionApi, /, *_: apsw.SQLiteValue) -> bytes:
    return array("I", api.phrase_locations(0)[columns.BODY]).tobytes()
