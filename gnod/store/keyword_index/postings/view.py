"""Count and score the documents that a search sees. Unchanged documents come from segments; all others come from the
full-text table.

A connection reads the newest postings that its snapshot allows, and the changes after them. Both must agree with the
full-text table about the number of documents and their lengths. Otherwise the view uses only the full-text table.

Depends on FTS5's phrases; must not depend on filters or the query language.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gnod import bm25
from gnod.analysis.stemming import MOST_STEMMERS, UNKNOWN_NUMBER, stemmer_number
from gnod.store.connection import Connection, json_list
from gnod.store.keyword_index import columns
from gnod.store.keyword_index.columns import FEW
from gnod.store.keyword_index.postings.segment import (
    COLUMNS,
    CountTable,
    Damaged,
    Numbers,
    Segment,
    ordered_docid,
    tokens,
)
from gnod.store.keyword_index.postings.versions import ListedSegment, Postings, Version
from gnod.store.tables import changes
from gnod.store.tables.changes import Position

_PATH = (1.0, 0.0, 0.0)
# The weight of a stem of one language in documents of another. There it is often the stem of another word, and
# sometimes of a related word.
OTHER_LANGUAGE = 0.6
# Alternative phrases, in FTS5's syntax.
AnyOf = tuple[str, ...]
# Documents, with the records of their lengths if the full-text table has them.
_SELECT = "SELECT d.id, d.docid, d.collection_id, d.language, s.sz FROM"
_SIZES = "LEFT JOIN documents_fts_docsize s ON s.id = d.id AND typeof(s.sz) = 'blob'"
_ALL = f"{_SELECT} documents d {_SIZES} WHERE d.active"
_THESE = f"{_SELECT} json_each(?) wanted CROSS JOIN documents d ON d.id = wanted.value {_SIZES}"
# CROSS fixes the order. Otherwise SQLite would read all changes of each collection: 40 ms for a million.
_CHANGED = (
    f"{_SELECT} changes h CROSS JOIN collections c ON c.name = h.collection"
    f" CROSS JOIN documents d ON d.collection_id = c.id AND d.path = h.path {_SIZES} WHERE h.clock > ?"
)
T = TypeVar("T")


class WeighedPhrase(NamedTuple):
    """A phrase with its weight. `languages`: the languages whose stemmers make this phrase from the query's word (None:
    all)."""

    text: str
    weight: float
    languages: frozenset[str] | None = None


class Places(NamedTuple):
    """The occurrences of a phrase in a part. `documents`: numbers of documents, each once. `codes`: rows in `table`,
    which say how often each column has the phrase. `terms`: the number of terms in the phrase; 0 for the beginning of a
    word. `owners`: for each code, the position of its document; None if each document has one code."""

    documents: Numbers
    codes: Numbers
    table: CountTable
    terms: int
    owners: Numbers | None = None

    def frequencies(self, weights: tuple[float, ...]) -> NDArray[np.float64]:
        """Return how often each document has the phrase, with a weight for each column."""
        of_codes: NDArray[np.float64] = self.table.weighed(weights).take(self.codes)
        if self.owners is None:
            return of_codes
        return np.bincount(self.owners, of_codes, len(self.documents)).astype(np.float64)

    def in_titles(self) -> Numbers:
        """Return the documents whose title has the phrase. The phrase must not be a prefix."""
        found: Numbers = self.documents[self.table.in_title.take(self.codes)]
        return found


class Scored(NamedTuple):
    """The best documents, unordered. `docids` are made by `ordered_docid`. `total`: the sum of the scores of all
    documents of the view; `total_of_roots`: the sum of their square roots."""

    ids: NDArray[np.int64]
    docids: Numbers
    scores: NDArray[np.float64]
    total: float
    total_of_roots: float


class Matching(NamedTuple):
    """A set of documents: one mask for each part."""

    parts: Sequence[ListedSegment]
    masks: Sequence[NDArray[np.bool_]]

    @property
    def size(self) -> int:
        return sum(int(np.count_nonzero(mask)) for mask in self.masks)

    def ids(self) -> NDArray[np.int64]:
        found = [part.segment.ids(mask) for part, mask in zip(self.parts, self.masks, strict=True)]
        return np.concatenate(found or [np.empty(0, np.int64)])

    def in_collections(self, collections: Sequence[int]) -> Matching:
        among = [np.isin(part.segment.collections, collections) for part in self.parts]
        return Matching(self.parts, [mask & there for mask, there in zip(self.masks, among, strict=True)])


class View:
    """`rest`: the documents that only the full-text table has. `only_rest`: read only these from that table, because it
    also has documents that are in parts, or that no search may see. `mean`: the mean length of all documents, if the
    view has only a sample of them."""

    def __init__(
        self,
        connection: Connection,
        parts: Sequence[ListedSegment],
        rest: Segment,
        *,
        only_rest: bool = True,
        mean: float | None = None,
    ) -> None:
        self._connection = connection
        self._rest = rest.ids()
        self._only_rest = only_rest
        self.parts = [*parts, *([ListedSegment(None, 0, rest)] if len(rest) else [])]
        self.size = sum(part.size for part in self.parts)
        self.length = sum(part.length for part in self.parts)
        self._mean = mean or self.length / max(self.size, 1) or 1.0
        self._rows: dict[str, tuple[Numbers, Numbers]] = {}
        self._places: dict[tuple[Segment, str], Places] = {}
        self._damping = [np.asarray(bm25.damping(part.segment.lengths / self._mean)) for part in self.parts]

    def forget(self) -> None:
        """Drop the cached occurrences of phrases, which take megabytes in a large index."""
        self._rows.clear()
        self._places.clear()

    @property
    def is_complete(self) -> bool:
        """Tell whether the segments have all documents."""
        return not len(self._rest)

    @property
    def is_nearly_complete(self) -> bool:
        """Tell whether the segments have nearly all documents, so that they will soon have the rest."""
        return 0 < len(self._rest) <= min(FEW, self.size // 2)

    def frequency(self, phrase: str) -> int:
        """Return the number of documents with a phrase."""
        return sum(len(self._find(part, phrase).documents) for part in self.parts)

    def frequencies(self, first: bytes) -> dict[bytes, int]:
        """Return the number of documents with each term, for the terms from `first` on. Reads only segments."""
        found: dict[bytes, int] = {}
        for part in self.parts:
            sizes = part.segment.frequencies_of_terms(part.alive)
            for term, size in zip(part.segment.terms(), sizes.tolist(), strict=True):
                if size and term >= first:
                    found[term] = found.get(term, 0) + size
        return found

    def matching(self, groups: Sequence[AnyOf], excluded: AnyOf = ()) -> Matching:
        """Return the documents with a phrase of every group, and without an excluded phrase."""
        masks = []
        for part in self.parts:
            mask = part.mask()
            for group in groups:
                mask &= self._mask(part, group)
            if excluded:
                mask &= ~self._mask(part, excluded)
            masks.append(mask)
        return Matching(self.parts, masks)

    def among(self, ids: Collection[int], groups: Sequence[AnyOf]) -> set[int]:
        """Return the documents among `ids` that have a phrase of every group."""
        wanted = np.array(sorted(ids), np.int64)
        found: set[int] = set()
        for part in self.parts:
            numbers = part.numbers_of(wanted)
            for group in groups if len(numbers) else ():
                numbers = numbers[self._mask(part, group)[numbers]]
            found.update(part.segment.ids(numbers).tolist())
        return found

    def in_path(self, groups: Sequence[AnyOf]) -> NDArray[np.int64]:
        """Return the documents with a phrase of every group in their path."""
        found = [np.empty(0, np.int64)]
        for part in self.parts:
            mask = part.mask()
            for group in groups:
                places = [self._find(part, phrase) for phrase in group]
                mask &= _mask_of(part, [each.documents[each.frequencies(_PATH) > 0] for each in places])
            found.append(part.segment.ids(mask))
        return np.concatenate(found)

    def scored(
        self,
        phrases: Sequence[WeighedPhrase],
        weights: tuple[float, ...],
        depth: int | None,
        among: Matching | None = None,
    ) -> Scored:
        """Return the `depth` documents with the best BM25 scores, and all that are as good as the last one (None: all
        documents). The sums do not depend on `among`."""
        found: list[tuple[Numbers, Numbers, Numbers]] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        total = total_of_roots = 0.0
        top, least = np.empty(0), float(np.nextafter(0.0, 1.0))
        for number, part in enumerate(self.parts):
            scores = self._scores(number, phrases, weights)
            total += float(scores.sum())
            total_of_roots += float(np.sqrt(scores).sum())
            if among is not None:
                scores *= among.masks[number]
            best = np.flatnonzero(scores >= least)
            top = np.concatenate((top, scores[best]))
            if depth is not None and len(top) > depth:
                top = np.partition(top, -depth)[-depth:]
                least = float(top[0])
                best = best[scores[best] >= least]
            found.append((part.segment.ids(best), part.segment.docids[best], scores[best]))
        ids, docids, scores = (np.concatenate(column) for column in zip(*found, strict=True))
        are_best = scores >= least
        return Scored(ids[are_best], docids[are_best], scores[are_best], total, total_of_roots)

    def _scores(self, number: int, phrases: Sequence[WeighedPhrase], weights: tuple[float, ...]) -> NDArray[np.float64]:
        """Return the scores of all documents of a part."""
        part, damping = self.parts[number], self._damping[number]
        scores = np.zeros(len(part.segment))
        titled: list[tuple[Numbers, float, int]] = []
        for phrase in phrases:
            found = self._find(part, phrase.text)
            gained = bm25.damped(found.frequencies(weights), damping.take(found.documents))
            scores[found.documents] += self._weight(part, phrase, found) * gained
            if found.terms:  # the beginning of a word does not count as a word of a title
                titled.append((found.in_titles(), phrase.weight, found.terms))
        _add_titles(scores, part.segment.titles, titled)
        return scores

    @staticmethod
    def _weight(part: ListedSegment, phrase: WeighedPhrase, found: Places) -> NDArray[np.float64] | float:
        """Return the weight of a phrase: an array by document if the weight depends on the language."""
        if phrase.languages is None:
            return phrase.weight
        of_stemmers: NDArray[np.float64] = phrase.weight * _trust(phrase.languages)
        return of_stemmers.take(part.segment.stemmers.take(found.documents))

    def _mask(self, part: ListedSegment, phrases: AnyOf) -> NDArray[np.bool_]:
        """Return a mask of the documents of a part that have one of the phrases."""
        return _mask_of(part, [self._find(part, phrase).documents for phrase in phrases])

    def _find(self, part: ListedSegment, phrase: str) -> Places:
        """Return the occurrences of a phrase in the documents of a part that are alive."""
        key = part.segment, phrase
        if key not in self._places:
            terms, is_prefix = _parsed(phrase)
            if part.file is None or len(terms) != 1:
                found = self._in_table(part, phrase, terms)
            else:
                found = _in_segment(part, terms[0], is_prefix=is_prefix)
            self._places[key] = found._replace(terms=0) if is_prefix else found
        return self._places[key]

    def _in_table(self, part: ListedSegment, phrase: str, terms: Sequence[bytes]) -> Places:
        if phrase not in self._rows:
            self._rows[phrase] = self._read(phrase, terms)
        ids, counts = self._rows[phrase]
        is_here, numbers = part.segment.numbers_of(ids)
        return _alive(part, Places(numbers, np.arange(len(numbers)), CountTable(counts[is_here]), len(terms)))

    def _read(self, phrase: str, terms: Sequence[bytes]) -> tuple[Numbers, Numbers]:
        """Return the occurrences of a phrase in the full-text table. A phrase of one term is only looked up in
        documents that the segments lack."""
        if not terms:
            return np.empty(0, np.int64), np.empty((0, COLUMNS), np.uint32)
        # Looking up one row with a phrase of several words takes as long as reading the table up to the first such row.
        among = self._rest.tolist() if self._only_rest and len(terms) == 1 else None
        ids, counts = columns.counts(self._connection, phrase, among)
        order = np.argsort(ids)
        return ids[order], counts[order]


@dataclass
class _ViewReader:
    """`postings`: None if the connection reads only the full-text table. `kept`: the clock, version and view that were
    last used; the version is needed because segments are merged without a change of the database. `seen`: the view of
    the current snapshot. `is_one`: there is a snapshot."""

    postings: Postings | None = None
    kept: tuple[int, Version | None, View] | None = None
    seen: View | None = None
    is_one: bool = False


_readers: WeakKeyDictionary[Connection, _ViewReader] = WeakKeyDictionary()


def attach(connection: Connection, postings: Postings | None) -> None:
    """Let a reading connection use postings."""
    _readers[connection] = _ViewReader(postings)


def view_of(connection: Connection) -> View:
    """Return the view of the connection's snapshot."""
    reader = _readers.setdefault(connection, _ViewReader())
    if reader.seen is not None:
        return reader.seen
    clock = changes.present(connection).clock
    version = reader.postings.up_to(clock) if reader.postings else None
    if reader.kept is None or reader.kept[0] != clock or reader.kept[1] is not version:
        reader.kept = clock, version, _view(connection, version, clock)
    if reader.is_one:
        reader.seen = reader.kept[2]
    return reader.kept[2]


def in_one_view(connection: Connection, work: Callable[[Connection], T]) -> T:
    """Run a read in the open transaction. The postings are looked up once. If they turn out to be damaged, the read
    runs again without them."""
    reader = _readers.setdefault(connection, _ViewReader())
    try:
        with _one(reader):
            return work(connection)
    except (Damaged, IndexError):
        postings = reader.postings
        if postings is None or not postings.doubt():
            raise
        attach(connection, None)
        try:
            with _one(_readers[connection]):
                return work(connection)
        finally:
            attach(connection, postings)


def in_snapshot(connection: Connection, work: Callable[[Connection], T]) -> T:
    """Run a read that sees one state of the database."""
    connection.execute("BEGIN")
    try:
        return in_one_view(connection, work)
    finally:
        # An interrupt may have ended the transaction.
        if connection.in_transaction:
            connection.execute("COMMIT")


@contextmanager
def sample(connection: Connection, ids: Collection[int], mean: float) -> Iterator[None]:
    """Let keyword searches inside the context see only these documents. They are scored as a sample of more documents,
    whose mean length is `mean`."""
    before = _readers.get(connection, _ViewReader())
    listed = json_list(sorted(ids))
    view = View(connection, [], _segment_of(list(connection.execute(_THESE, (listed,)))), mean=mean)
    _readers[connection] = _ViewReader(seen=view, is_one=True)
    try:
        yield
    finally:
        _readers[connection] = before


@contextmanager
def _one(reader: _ViewReader) -> Iterator[None]:
    """Let all reads inside the context use the same view. They must be in one transaction."""
    reader.is_one = True
    try:
        yield
    finally:
        if reader.seen is not None:
            reader.seen.forget()
        reader.seen, reader.is_one = None, False


def _view(connection: Connection, version: Version | None, clock: int) -> View:
    before = Position(version.clock, version.floor) if version else None
    if version and before and changes.catch_up(connection, before) == before:
        changed = list(connection.execute(_CHANGED, (version.clock,))) if version.clock < clock else []
        touched = np.array(sorted(id_ for id_, *_ in changed), np.int64)
        parts = [part.without(touched) for part in version.parts] if changed else version.parts
        view = View(connection, parts, _segment_of(changed))
        if (view.size, view.length) == columns.totals(connection):
            return view
    return View(connection, [], _segment_of(list(connection.execute(_ALL))), only_rest=False)


def _segment_of(rows: Sequence[tuple[Any, ...]]) -> Segment:
    """Return the rows that are in the full-text table as a segment without postings. The table has their postings."""
    there = sorted(row for row in rows if row[-1])
    ids, docids, collections, languages, records = zip(*there, strict=True) if there else [()] * 5
    of_all, of_titles = columns.lengths(records)
    return Segment.of_documents(
        {
            "ids": np.array(ids, np.int64),
            "docids": np.array([ordered_docid(docid) for docid in docids], np.int64),
            "collections": np.array(collections, np.int64),
            "stemmers": np.array([stemmer_number(language) for language in languages], np.int64),
            "lengths": of_all,
            "titles": of_titles,
        }
    )


def _add_titles(scores: Numbers, titles: Numbers, found: Sequence[tuple[Numbers, float, int]]) -> None:
    """Add the scores of titles: the weight of the query's words in a title, times their share of the title. `found`:
    documents whose title has a phrase, the weight of the phrase, and its number of terms.

    BM25 hardly distinguishes a word in a title from a frequent word in the text, because both saturate. But a title
    that the query covers states the subject of the document.
    """
    if not any(len(documents) for documents, *_ in found):
        return
    weights, terms = np.zeros(len(scores)), np.zeros(len(scores))
    for documents, weight, length in found:
        weights[documents] += weight
        terms[documents] += length
    titled = np.flatnonzero(terms)
    scores[titled] += bm25.COVERED_TITLE * weights[titled] * np.minimum(terms[titled] / titles[titled].clip(1), 1)


@cache
def _trust(languages: frozenset[str]) -> NDArray[np.float64]:
    """Return the weight of a stem of these languages in documents, by the document's stemmer. It is 1 if the language
    of a document is unknown."""
    trust = np.full(MOST_STEMMERS, OTHER_LANGUAGE)
    trust[[UNKNOWN_NUMBER, *map(stemmer_number, languages)]] = 1.0
    return trust


def _parsed(phrase: str) -> tuple[list[bytes], bool]:
    """Return the terms of a phrase in FTS5's syntax, and whether the last one is only the beginning of a word."""
    text = phrase.removesuffix(" *")
    return tokens(text[1:-1].replace('""', '"')), text != phrase


def _in_segment(part: ListedSegment, term: bytes, *, is_prefix: bool) -> Places:
    documents, codes = part.segment.record(term, is_prefix=is_prefix)
    places = _alive(part, Places(documents.astype(np.intp), codes, part.segment.table, terms=1))
    if not is_prefix:
        return places
    # Several terms may have this beginning, and a document may contain several of them.
    mask = _mask_of(part, [places.documents])
    return places._replace(documents=np.flatnonzero(mask), owners=np.cumsum(mask)[places.documents] - 1)


def _alive(part: ListedSegment, found: Places) -> Places:
    if part.alive is None:
        return found
    is_alive = part.alive[found.documents]
    return found._replace(documents=found.documents[is_alive], codes=found.codes[is_alive])


def _mask_of(part: ListedSegment, found: Iterable[Numbers]) -> NDArray[np.bool_]:
    mask = np.zeros(len(part.segment), bool)
    for documents in found:
        mask[documents] = True
    return mask
