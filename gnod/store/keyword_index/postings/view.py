"""The postings as a snapshot of the database has them: a version, without the documents that changed after it, and
these documents as the full-text table has them.

The two must agree about the number of documents and their lengths, or there is no view: the full-text table is the
truth, and answers by itself. Depends on FTS5's tables; must not depend on filters or the query language.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property, partial
from struct import Struct
from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

import apsw
import numpy as np
from numpy.typing import NDArray

from gnod import bm25
from gnod.caches import Cache, Computed
from gnod.store.connection import Connection
from gnod.store.keyword_index import columns
from gnod.store.keyword_index.docsizes import column_sizes
from gnod.store.keyword_index.postings import attachment
from gnod.store.keyword_index.postings.attachment import Attachment
from gnod.store.keyword_index.postings.best import Best, ScoredDocids
from gnod.store.keyword_index.postings.contents import COLUMNS, ordered_docid, tokens
from gnod.store.keyword_index.postings.masks import Marks, Matching, mask_of
from gnod.store.keyword_index.postings.records import Numbers, PostingRecord
from gnod.store.keyword_index.postings.segment import Segment
from gnod.store.keyword_index.postings.versions import ListedSegment, Version
from gnod.store.tables import changes
from gnod.store.tables.changes import Position

# FTS5's constants.
# This many documents may be behind the version, because looking one up takes 30 µs for each phrase. In a large index,
# it may be one in CHANGED_OF documents.
MOST_CHANGED = 50
CHANGED_OF = 2000
# A view remembers the counts of this many phrases.
_MOST_REMEMBERED = 32
_ALL_COLUMNS = (1.0,) * COLUMNS
_PATH = (1.0, 0.0, 0.0)
_AVERAGES = 1
# Packs a row, and how often it has a phrase, by column.
_PACK = Struct(f"=q{COLUMNS}I").pack
_OF_ROW = np.dtype([("id", np.int64), ("counts", np.uint32, COLUMNS)])
# Connections that have the SQL function note_counts, and the rows that it has noted.
_noted: WeakKeyDictionary[Connection, list[bytes]] = WeakKeyDictionary()

# Any of the phrases, in FTS5's syntax.
AnyOf = tuple[str, ...]
# Phrases, each with its part of the score.
Weights = Sequence[tuple[str, float]]


# The numbers of documents in a part (None means all), each once, and their scores.
_OfPart = tuple[Numbers | None, NDArray[np.float64]]


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


class PhraseCounts(NamedTuple):
    """The numbers of documents in a part, and how often a phrase occurs in each, by weighted columns."""

    documents: NDArray[np.intp]
    frequencies: NDArray[np.float64]


class Noted(NamedTuple):
    """Facts about documents besides their scores: which of the best have a phrase of `every` group, and how many have
    `any` of some phrases."""

    every: Sequence[AnyOf] = ()
    any: AnyOf = ()


NOTHING = Noted()


class Sums(NamedTuple):
    """The sum of the scores of all documents, and of their square roots."""

    scores: float
    roots: float


class _ChangedDocument(NamedTuple):
    """A document that changed. `lengths`: their record, if it is in the full-text table."""

    id: int
    docid: str
    collection: int
    lengths: bytes | None


class View:
    """`size`: the number of documents."""

    def __init__(self, connection: Connection, parts: Sequence[ListedSegment], changed: Segment | None) -> None:
        self._connection = connection
        self._changed = changed
        self._parts = [*parts, *([ListedSegment(None, 0, changed)] if changed else [])]
        self.size = sum(part.size for part in self._parts)
        self.length = sum(part.length for part in self._parts)
        self._counted: dict[str, tuple[Numbers, Numbers]] = {}
        self._frequencies: Cache[str, int] = Cache()
        self._records: dict[tuple[Segment, bytes], PostingRecord] | None = None

    def remember(self) -> None:
        """Keep the records of terms from now on: a search needs each several times."""
        self._records = {}

    def forget(self) -> None:
        self._records = None
        self._counted.clear()  # in a large index, they take megabytes for each phrase

    @cached_property
    def _mean(self) -> float:
        return self.length / max(self.size, 1) or 1.0

    def frequency(self, phrase: str) -> int:
        """Return in how many documents a phrase occurs."""
        known = self._frequencies.get(phrase)
        return self._frequencies.keep(phrase, self._count(phrase)) if known is None else known

    def _count(self, phrase: str) -> int:
        parsed = Phrase.of(phrase)
        if len(parsed.terms) > 1:
            return len(self._in_table(phrase, parsed)[0])  # the table has the documents of the view
        return sum(self._number(part, phrase) for part in self._parts)

    @property
    def is_complete(self) -> bool:
        """Whether the postings have all documents; otherwise some are in the full-text table alone."""
        return self._changed is None

    def has_all(self, phrases: Iterable[str]) -> bool:
        """Tell whether the postings alone say where each of the phrases occurs."""
        return self.is_complete and all(len(Phrase.of(phrase).terms) == 1 for phrase in phrases)

    def frequencies(self, first: bytes = b"") -> dict[bytes, int] | None:
        """Return in how many documents each term occurs, of the terms from `first` on; None: the postings are not
        complete."""
        if not self.is_complete:
            return None
        found: dict[bytes, int] = {}
        for part in self._parts:
            segment = part.segment
            sizes = segment.frequencies_of_terms(part.alive)
            for term, size in zip(segment.terms(), sizes.tolist(), strict=True):
                if size and term >= first:
                    found[term] = found.get(term, 0) + size
        return found

    def matching(self, groups: Sequence[AnyOf], excluded: AnyOf = ()) -> Matching:
        """Return the documents with a phrase of every group, and with none that is excluded."""
        masks = []
        for part in self._parts:
            mask, marks = part.mask(), self._marks(part)
            for group in groups:
                mask &= marks.any(group)
            if excluded:
                mask &= ~marks.any(excluded)
            masks.append(mask)
        return Matching([part.segment for part in self._parts], masks)

    def among(self, ids: Collection[int], groups: Sequence[AnyOf]) -> set[int]:
        """Return those of the documents that have a phrase of every group."""
        wanted = np.array(sorted(ids), np.int64)
        rarest_first = self._rarest_first(groups)
        found: set[int] = set()
        for part in self._parts:
            numbers = part.numbers_of(wanted)
            have = self._marks(part).have_every(rarest_first, numbers)
            found.update(part.segment.ids(numbers[have]).tolist())
        return found

    def in_path(self, groups: Sequence[AnyOf]) -> NDArray[np.int64]:
        """Return the documents with a phrase of every group in their path."""
        rarest, *others = self._rarest_first(groups)
        found = []
        for part in self._parts:
            numbers = np.unique(self._in_path(part, rarest))
            for group in others:
                if len(numbers):
                    numbers = numbers[mask_of(part.segment, self._in_path(part, group))[numbers]]
            found.append(part.segment.ids(numbers))
        return np.concatenate(found)

    def _rarest_first(self, groups: Sequence[AnyOf]) -> list[AnyOf]:
        """Sort groups so that few documents are left for the later ones."""
        return sorted(groups, key=lambda group: sum(map(self.frequency, group)))

    def scored(
        self,
        phrases: Weights,
        weights: tuple[float, ...],
        depth: int | None,
        among: Matching | None = None,
        noted: Noted = NOTHING,
    ) -> tuple[ScoredDocids, int]:
        """Return the documents with the best BM25 scores, unordered: `depth` of them and those as good as the last
        (None: all). And how many documents have one of the phrases `noted.any`."""
        best, number = Best(depth), 0
        for part, allowed in self._with_masks(among):
            marks = self._marks(part)
            documents, scores = self._scored(part, phrases, weights, marks if noted.any else None)
            if allowed is not None:
                scores = scores * (allowed if documents is None else allowed[documents])
            numbers = best.add(part.segment, documents, scores)
            if noted.every:
                best.note(marks.have_every(noted.every, numbers))
            if noted.any:
                number += marks.number(noted.any, allowed)
        return best.documents(), number

    def surveyed(
        self, phrases: Weights, weights: tuple[float, ...], depth: int | None, among: Matching | None = None
    ) -> tuple[ScoredDocids, Sums]:
        """Do as `scored`, and return the sums of all scores, which `among` does not affect."""
        best, total, roots = Best(depth), 0.0, 0.0
        for part, allowed in self._with_masks(among):
            scores = self._scores(part, phrases, weights)
            total += float(scores.sum())
            roots += float(np.sqrt(scores).sum())
            best.add(part.segment, None, scores if allowed is None else scores * allowed)
        return best.documents(), Sums(total, roots)

    def _with_masks(self, among: Matching | None) -> Iterable[tuple[ListedSegment, NDArray[np.bool_] | None]]:
        return zip(self._parts, among.masks if among else [None] * len(self._parts), strict=True)

    def with_length(self, ids: Collection[int], least: int) -> list[int]:
        """Return those of the documents that have at least this many terms."""
        wanted = np.array(sorted(ids), np.int64)
        found: list[int] = []
        for part in self._parts:
            if len(long := part.segment.ids_from(least)):
                at = long.searchsorted(wanted).clip(max=len(long) - 1)
                found += wanted[long[at] == wanted].tolist()
        return found

    def _scored(
        self, part: ListedSegment, phrases: Weights, weights: tuple[float, ...], marks: Marks | None
    ) -> _OfPart:
        if len(phrases) != 1:
            return None, self._scores(part, phrases, weights, marks)
        ((phrase, weight),) = phrases
        found = self._found(part, phrase, weights)  # they are different documents, so nothing is added up
        return found.documents, self._gains(part, found, weight)

    def _scores(
        self, part: ListedSegment, phrases: Weights, weights: tuple[float, ...], marks: Marks | None = None
    ) -> NDArray[np.float64]:
        """Return the scores of all documents of a part. `marks`: to be told of the phrases."""
        scores = np.zeros(len(part.segment))
        for phrase, weight in phrases:
            found = self._found(part, phrase, weights)
            if marks is not None:
                marks.mark(phrase, found.documents)
            np.add.at(scores, found.documents, self._gains(part, found, weight))
        return scores

    def _gains(self, part: ListedSegment, found: PhraseCounts, weight: float) -> NDArray[np.float64]:
        """Return what a phrase adds to the scores of its documents."""
        lengths = part.segment.lengths.take(found.documents) / self._mean
        return weight * bm25.saturated(found.frequencies, lengths)

    def _in_path(self, part: ListedSegment, phrases: AnyOf) -> Numbers:
        """Return the documents that have one of the phrases in their path, some of them several times."""
        found = [self._found(part, phrase, _PATH) for phrase in phrases]
        return np.concatenate([each.documents[each.frequencies > 0] for each in found])

    def _marks(self, part: ListedSegment) -> Marks:
        return Marks(part, self._documents_of)

    def _documents_of(self, part: ListedSegment, phrase: str) -> Numbers:
        """Return the numbers of the documents that have a phrase, and perhaps of some that are not alive."""
        record = self._record_of(part, phrase)
        found = self._found(part, phrase, _ALL_COLUMNS) if record is None else record
        return found.documents.astype(np.intp, copy=False)

    def _number(self, part: ListedSegment, phrase: str) -> int:
        """Return how many documents, alive, have a phrase."""
        record = self._record_of(part, phrase)
        if record is None:
            return len(self._found(part, phrase, _ALL_COLUMNS).documents)
        documents = record.documents
        return len(documents) if part.alive is None else int(np.count_nonzero(part.alive[documents]))

    def _record_of(self, part: ListedSegment, phrase: str) -> PostingRecord | None:
        """Return the postings of a phrase that is one term of a segment with postings; None: of another."""
        terms, is_prefix = Phrase.of(phrase)
        if len(terms) != 1 or is_prefix or part.segment is self._changed:
            return None
        return self._record(part.segment, terms[0])

    def _found(self, part: ListedSegment, phrase: str, weights: tuple[float, ...]) -> PhraseCounts:
        """Return where a phrase occurs in documents that are alive."""
        parsed = Phrase.of(phrase)
        if len(parsed.terms) != 1 or part.segment is self._changed:
            found = self._elsewhere(part, phrase, parsed, weights)
        else:
            found = self._in_segment(part.segment, parsed, weights)
        if part.alive is None:
            return found
        is_alive = part.alive[found.documents]
        return PhraseCounts(found.documents[is_alive], found.frequencies[is_alive])

    def _in_segment(self, segment: Segment, phrase: Phrase, weights: tuple[float, ...]) -> PhraseCounts:
        weighted = segment.weighted(weights)
        if not phrase.is_prefix:
            record = self._record(segment, phrase.terms[0])
            return PhraseCounts(record.documents.astype(np.intp), record.of_postings(weighted))
        # Several terms may begin like this.
        documents, frequencies = segment.of_prefix(phrase.terms[0], weighted)
        together = np.bincount(documents, frequencies, len(segment)).astype(np.float64)
        different = np.flatnonzero(together)
        return PhraseCounts(different, together[different])

    def _record(self, segment: Segment, term: bytes) -> PostingRecord:
        if self._records is None:
            return segment.record(term)
        known = self._records.get((segment, term))
        if known is None:
            known = self._records[segment, term] = segment.record(term)
        return known

    def _elsewhere(self, part: ListedSegment, phrase: str, parsed: Phrase, weights: tuple[float, ...]) -> PhraseCounts:
        ids, counts = self._in_table(phrase, parsed)
        is_here, numbers = part.segment.numbers_of(ids)
        return PhraseCounts(numbers, counts[is_here] @ np.array(weights))

    def _in_table(self, phrase: str, parsed: Phrase) -> tuple[Numbers, Numbers]:
        """Do as `_from_table`, but only once."""
        if phrase not in self._counted:
            if len(self._counted) == _MOST_REMEMBERED:
                self._counted.clear()
            self._counted[phrase] = self._from_table(phrase, parsed)
        return self._counted[phrase]

    def _from_table(self, phrase: str, parsed: Phrase) -> tuple[Numbers, Numbers]:
        """Return where the full-text table has a phrase: of one term, among the changed documents."""
        if not parsed.terms:
            return np.empty(0, np.int64), np.empty((0, COLUMNS))
        changed = self._changed.ids().tolist() if self._changed else []
        # A row with a phrase of several words is looked up as slowly as the table is read up to the first such row.
        ids, counts = _counts(self._connection, phrase, changed if len(parsed.terms) == 1 else None)
        order = np.argsort(ids)
        return ids[order], counts[order]


def view_of(connection: Connection) -> View | None:
    """Return the view of the connection's snapshot; None if there is no view, so that the full-text table answers."""
    attached = attachment.of(connection)
    if attached is None:
        return None
    if not attached.seen:
        found = _present_view(connection, attached)
        if attached.seen is None:
            return found
        attached.seen.append(found)
        if found is not None:
            found.remember()
    return cast(View | None, attached.seen[0])


def _present_view(connection: Connection, attached: Attachment) -> View | None:
    clock = changes.present(connection).clock
    version = attached.postings.up_to(clock)
    if version is None:
        return None
    if attached.view is None or attached.view[0] != clock or attached.view[1] is not version:
        view = _view(connection, version, clock)
        if view is None:
            return None  # there may be one soon
        attached.view = clock, version, view
    return cast(View, attached.view[2])


def _view(connection: Connection, version: Version, clock: int) -> View | None:
    before = Position(version.clock, version.floor)
    if changes.catch_up(connection, before) != before:
        return None
    most = max(MOST_CHANGED, sum(part.size for part in version.parts) // CHANGED_OF)
    changed = _changed(connection, version.clock, most + 1) if version.clock < clock else []
    if len(changed) > most:
        return None
    touched = np.array(sorted(each.id for each in changed), np.int64)
    parts = [part.without(touched) for part in version.parts] if len(touched) else version.parts
    view = View(connection, parts, _segment_of(changed))
    return view if (view.size, view.length) == totals(connection) else None


def _changed(connection: Connection, clock: int, limit: int) -> list[_ChangedDocument]:
    """Return documents that changed after a clock."""
    # The order is fixed, because SQLite would read all changes of each collection: 40 ms for a million.
    rows = connection.execute(
        "SELECT d.id, d.docid, d.collection_id, s.sz FROM changes h CROSS JOIN collections c ON c.name = h.collection"
        " CROSS JOIN documents d ON d.collection_id = c.id AND d.path = h.path"
        " LEFT JOIN documents_fts_docsize s ON s.id = d.id AND typeof(s.sz) = 'blob' WHERE h.clock > ? LIMIT ?",
        (clock, limit),
    )
    return [_ChangedDocument(*row) for row in rows]


def _segment_of(changed: Sequence[_ChangedDocument]) -> Segment | None:
    """Return a segment without postings: those of changed documents are in the full-text table."""
    rows = sorted(each for each in changed if each.lengths)
    if not rows:
        return None
    return Segment.of_documents(
        np.array([row.id for row in rows], np.int64),
        np.array([ordered_docid(row.docid) for row in rows], np.int64),
        np.array([row.collection for row in rows], np.int64),
        np.array([sum(column_sizes(row.lengths or b"")) for row in rows], np.int64),
    )


def totals(connection: Connection) -> tuple[int, int]:
    """Return the number of documents in the full-text table, and of their terms."""
    record = connection.execute("SELECT block FROM documents_fts_data WHERE id = ?", (_AVERAGES,)).get
    rows, *lengths = column_sizes(record) if record else (0,)
    return rows, sum(lengths)


def _counts(connection: Connection, phrase: str, among: Sequence[int] | None) -> tuple[Numbers, Numbers]:
    """Return documents with a phrase, and how often each column has it: of these, or of all (None)."""
    noted = _noted.get(connection)
    if noted is None:
        noted = _noted[connection] = []
        connection.register_fts5_function("note_counts", partial(_note_counts, noted.append))
    noted.clear()
    # The statement returns no rows, because returning one would take as long as noting it.
    statement = "SELECT 1 FROM documents_fts WHERE documents_fts MATCH ? AND note_counts(documents_fts)"
    if among is None:
        connection.execute(statement, (phrase,)).fetchone()
    for document in among or ():
        connection.execute(f"{statement} AND rowid = ?", (phrase, document)).fetchone()
    found = np.frombuffer(b"".join(noted), _OF_ROW)
    noted.clear()
    return found["id"], found["counts"][:, columns.ORDER]


def _note_counts(note: Callable[[bytes], None], api: apsw.FTS5ExtensionApi, /) -> None:
    # SQLite calls it for each row, and a common phrase has thousands.
    first, second, third = api.phrase_locations(0)
    note(_PACK(api.rowid, len(first), len(second), len(third)))
