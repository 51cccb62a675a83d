"""The documents that a search sees: those of segments, without what changed since, and the rest as the full-text table
has them. Counts and scores what these two say together.

Depends on FTS5's phrases; must not depend on filters or the query language.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial
from struct import Struct
from typing import NamedTuple
from weakref import WeakKeyDictionary

import apsw
import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod import bm25
from gnod.analysis.stemming import MOST_STEMMERS, UNKNOWN_NUMBER, stemmer_number
from gnod.caches import Computed
from gnod.store.connection import Connection
from gnod.store.keyword_index import columns
from gnod.store.keyword_index.postings.contents import COLUMNS, CountTable, Numbers, tokens
from gnod.store.keyword_index.postings.segment import Segment
from gnod.store.keyword_index.postings.versions import ListedSegment

# Up to this many documents are looked up one by one, which takes 30 µs each. More are found in all that the table says
# of a phrase, which takes 1 µs for each document that has it.
_FEW = 50
_PATH = (1.0, 0.0, 0.0)
# What the stem of one language counts in documents of another. There it is often that of another word, and sometimes
# that of a related one.
OTHER_LANGUAGE = 0.6
# Packs a row, and how often it has a phrase, by column.
_PACK = Struct(f"=q{COLUMNS}I").pack
_OF_ROW = np.dtype([("id", np.int64), ("counts", np.uint32, COLUMNS)])
# Connections that have the SQL function note_counts, and the rows that it has noted.
_noted: WeakKeyDictionary[Connection, list[bytes]] = WeakKeyDictionary()

# Any of the phrases, in FTS5's syntax.
AnyOf = tuple[str, ...]


class WeighedPhrase(NamedTuple):
    """A phrase with its weight. `languages`: whose stemmers make this phrase of the query's word (None: all)."""

    text: str
    weight: float
    languages: frozenset[str] | None = None


class Phrase(NamedTuple):
    terms: tuple[bytes, ...]
    is_prefix: bool

    @staticmethod
    def of(written: str) -> Phrase:
        return _phrases[written]


def _phrase(written: str) -> Phrase:
    text = written.removesuffix(" *")
    return Phrase(tuple(tokens(text[1:-1].replace('""', '"'))), text != written)


_phrases = Computed(_phrase)


class Places(NamedTuple):
    """Where a phrase occurs in a part: the numbers of documents, each once, and codes, which are rows in `table`: how
    often each column has it. `owners`: the place of each code's document; None: each document has one code."""

    documents: Numbers
    codes: Numbers
    table: CountTable
    owners: Numbers | None = None

    def frequencies(self, weights: tuple[float, ...]) -> NDArray[np.float64]:
        """Return how often each document has the phrase, with a weight for each column."""
        of_codes: NDArray[np.float64] = self.table.weighed(weights).take(self.codes)
        if self.owners is None:
            return of_codes
        return np.bincount(self.owners, of_codes, len(self.documents)).astype(np.float64)

    def in_titles(self) -> Numbers:
        """Return the documents whose title has the phrase, which must not be a prefix."""
        found: Numbers = self.documents[self.table.in_title.take(self.codes)]
        return found


class _InTitles(NamedTuple):
    """Documents whose title has a phrase, with the phrase's weight and its number of terms."""

    documents: Numbers
    weight: float
    terms: int


class Scored(NamedTuple):
    """The best documents, unordered; `docids` as `contents.ordered_docid` has them. `total` and `total_of_roots`: the
    sum of the scores of all documents of the view, and of their square roots."""

    ids: NDArray[np.int64]
    docids: Numbers
    scores: NDArray[np.float64]
    total: float
    total_of_roots: float


class Matching(NamedTuple):
    """Documents, as a mask for each part."""

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
    """`rest`: the documents that only the full-text table has. `only_rest`: that table also has documents that no
    search may see, or that are in parts. `mean`: the mean length of documents, if these are a sample of more."""

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
        """Forget where phrases occur, which takes megabytes in a large index."""
        self._rows.clear()
        self._places.clear()

    @property
    def is_complete(self) -> bool:
        """Tell whether the segments have all documents."""
        return not len(self._rest)

    @property
    def is_nearly_complete(self) -> bool:
        """Tell whether segments have nearly all documents; so they will soon have the rest."""
        return 0 < len(self._rest) <= min(_FEW, self.size // 2)

    def frequency(self, phrase: str) -> int:
        """Return in how many documents a phrase occurs."""
        return sum(len(self._find(part, phrase).documents) for part in self.parts)

    def frequencies(self, first: bytes) -> dict[bytes, int]:
        """Return in how many documents of the segments each term occurs, of the terms from `first` on."""
        found: dict[bytes, int] = {}
        for part in self.parts:
            sizes = part.segment.frequencies_of_terms(part.alive)
            for term, size in zip(part.segment.terms(), sizes.tolist(), strict=True):
                if size and term >= first:
                    found[term] = found.get(term, 0) + size
        return found

    def matching(self, groups: Sequence[AnyOf], excluded: AnyOf = ()) -> Matching:
        """Return the documents with a phrase of every group, and with none that is excluded."""
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
        """Return those of the documents that have a phrase of every group."""
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
        """Return the documents with the best BM25 scores: `depth` of them and those as good as the last (None: all).
        The sums do not depend on `among`."""
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
        titled: list[_InTitles] = []
        for phrase in phrases:
            found = self._find(part, phrase.text)
            gained = bm25.damped(found.frequencies(weights), damping.take(found.documents))
            scores[found.documents] += self._weight(part, phrase, found) * gained
            parsed = Phrase.of(phrase.text)
            if not parsed.is_prefix:  # the whole word of a title is another word
                titled.append(_InTitles(found.in_titles(), phrase.weight, len(parsed.terms)))
        _add_titles(scores, part.segment.titles, titled)
        return scores

    @staticmethod
    def _weight(part: ListedSegment, phrase: WeighedPhrase, found: Places) -> NDArray[np.float64] | float:
        """Return the weight of a phrase, where it depends on it for each document."""
        if phrase.languages is None:
            return phrase.weight
        of_stemmers: NDArray[np.float64] = phrase.weight * _trust(phrase.languages)
        return of_stemmers.take(part.segment.stemmers.take(found.documents))

    def _mask(self, part: ListedSegment, phrases: AnyOf) -> NDArray[np.bool_]:
        """Return which documents of a part have one of the phrases."""
        return _mask_of(part, [self._find(part, phrase).documents for phrase in phrases])

    def _find(self, part: ListedSegment, phrase: str) -> Places:
        """Return where a phrase occurs in the documents of a part that are alive."""
        key = part.segment, phrase
        if key not in self._places:
            parsed = Phrase.of(phrase)
            if part.file is None or len(parsed.terms) != 1:
                self._places[key] = self._in_table(part, phrase, parsed)
            else:
                self._places[key] = _in_segment(part, parsed)
        return self._places[key]

    def _in_table(self, part: ListedSegment, phrase: str, parsed: Phrase) -> Places:
        if phrase not in self._rows:
            self._rows[phrase] = self._read(phrase, parsed)
        ids, counts = self._rows[phrase]
        is_here, numbers = part.segment.numbers_of(ids)
        return _alive(part, Places(numbers, np.arange(len(numbers)), CountTable(counts[is_here])))

    def _read(self, phrase: str, parsed: Phrase) -> tuple[Numbers, Numbers]:
        """Return where the full-text table has a phrase: of one term, among the documents that segments lack."""
        if not parsed.terms:
            return np.empty(0, np.int64), np.empty((0, COLUMNS), np.uint32)
        # A row with a phrase of several words is looked up as slowly as the table is read up to the first such row.
        among = self._rest.tolist() if self._only_rest and len(parsed.terms) == 1 else None
        ids, counts = _counts(self._connection, phrase, among)
        order = np.argsort(ids)
        return ids[order], counts[order]


def _add_titles(scores: NDArray[np.float64], titles: Numbers, found: Sequence[_InTitles]) -> None:
    """Add what a title gives: the weight of its words in the query, by the share of the title that these are.

    BM25 hardly distinguishes a title from a word that is frequent in the text: both saturate. But a title that the
    query covers says what the document is about.
    """
    if not any(len(each.documents) for each in found):
        return
    weights, terms = np.zeros(len(scores)), np.zeros(len(scores))
    for each in found:
        weights[each.documents] += each.weight
        terms[each.documents] += each.terms
    titled = np.flatnonzero(terms)
    scores[titled] += bm25.COVERED_TITLE * weights[titled] * np.minimum(terms[titled] / titles[titled].clip(1), 1)


@cache
def _trust(languages: frozenset[str]) -> NDArray[np.float64]:
    """Return how much a stem of these languages counts in documents, by their stemmers: fully where the language of a
    document is not known."""
    trust = np.full(MOST_STEMMERS, OTHER_LANGUAGE)
    trust[[UNKNOWN_NUMBER, *map(stemmer_number, languages)]] = 1.0
    return trust


def _in_segment(part: ListedSegment, phrase: Phrase) -> Places:
    found = part.segment.record(phrase.terms[0], is_prefix=phrase.is_prefix)
    places = _alive(part, Places(found.documents.astype(np.intp), found.codes, part.segment.table))
    if not phrase.is_prefix:
        return places
    # Several terms may begin like this, and a document may have some of them.
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


def _counts(connection: Connection, phrase: str, among: Sequence[int] | None) -> tuple[Numbers, Numbers]:
    """Return documents with a phrase, and how often each column has it: of these, or of all (None)."""
    noted = _noted.get(connection)
    if noted is None:
        noted = _noted[connection] = []
        connection.register_fts5_function("note_counts", partial(_note_counts, noted.append))
    noted.clear()
    # The statements return no rows, because returning one would take as long as noting it.
    select = "SELECT 1 FROM documents_fts WHERE documents_fts MATCH ? AND"
    if among is None:
        connection.execute(f"{select} note_counts(documents_fts)", (phrase,)).fetchone()
    elif len(among) <= _FEW:
        for document in among:
            connection.execute(f"{select} note_counts(documents_fts) AND rowid = ?", (phrase, document)).fetchone()
    else:
        # CASE, so that SQLite calls the function for these rows only.
        case = "CASE WHEN rowid IN (SELECT value FROM json_each(?)) THEN note_counts(documents_fts) END"
        listed = msgspec.json.encode(among).decode()
        connection.execute(f"{select} {case} AND rowid >= ?", (phrase, listed, among[0])).fetchone()
    found = np.frombuffer(b"".join(noted), _OF_ROW)
    noted.clear()
    return found["id"], found["counts"][:, columns.ORDER]


def _note_counts(note: Callable[[bytes], None], api: apsw.FTS5ExtensionApi, /) -> None:
    # SQLite calls it for each row, and a common phrase has thousands.
    first, second, third = api.phrase_locations(0)
    note(_PACK(api.rowid, len(first), len(second), len(third)))
