"""Update the postings to the current clock. The database's changes say what to add and remove. Has no threads.

Each path has one change, its last. The new version is the previous version plus the current state of all paths that
changed up to a clock. A reader of that clock and the changes after it then misses nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from gnod.analysis.stemming import stemmer_number
from gnod.store.connection import Connection
from gnod.store.keyword_index.columns import totals
from gnod.store.keyword_index.postings import segment
from gnod.store.keyword_index.postings.building import Build, Merge, Perform, SegmentInput, Text
from gnod.store.keyword_index.postings.feed import Feed
from gnod.store.keyword_index.postings.versions import ListedSegment, Postings, Version
from gnod.store.keyword_index.postings.view import in_snapshot
from gnod.store.tables import changes
from gnod.store.tables.changes import Position
from gnod.store.tables.records import Terms

# The maximum number of documents in one update.
MOST_DOCUMENTS = 4000
_MOST_CHARACTERS = 16 * 1024 * 1024
# Merge a segment with smaller ones unless it has more than this many times their documents.
LARGER = 2
# A merge takes about 25 bytes of memory for each posting. A document of a few pages has a thousand postings.
MOST_POSTINGS = 8_000_000


class SegmentSize(NamedTuple):
    """The numbers of documents, of documents that are alive, and of postings in a segment."""

    documents: int
    alive: int
    postings: int


class _ChangedTerms(NamedTuple):
    """`title` includes the other titles."""

    clock: int
    id: int
    docid: str
    collection: int
    language: str | None
    path: str
    title: str
    mime: str
    mirror_hash: str
    is_here: bool


class _FoundChanges(NamedTuple):
    """The first changes after `before`, up to `clock`, in a snapshot. `changed`: the ids of changed documents.
    `documents`: those that still exist. `totals`: of the full-text table; None if more changes follow."""

    before: Version
    clock: int
    changed: list[int]
    documents: list[SegmentInput]
    totals: tuple[int, int] | None


def step(connection: Connection, postings: Postings, feed: Feed, perform: Perform) -> bool:
    """Add the next changes. Returns whether there are more. No snapshot is open during the work, because the database's
    log would grow."""
    found = in_snapshot(connection, partial(_read, postings.newest or Version(0, 0), feed))
    if found is None:
        return False
    parts = _without(found.before.parts, found.changed)
    if found.documents:
        path = postings.new_file()
        parts = (*parts, postings.part(path, perform(Build(str(path), found.documents))))
    if found.totals and found.totals != _totals_of(parts):
        parts = in_snapshot(connection, partial(_repaired, parts))
    postings.publish(Version(found.clock, found.before.floor, parts))
    feed.forget(found.clock)
    return found.totals is None


def compact(postings: Postings, perform: Perform) -> bool:
    """Merge some segments of the newest version. Returns whether a merge was needed."""
    newest = postings.newest
    if newest is None:
        return False
    sizes = sizes_of(newest)
    chosen = worth_merging(sizes)
    if not chosen:
        return False
    merged = [newest.parts[number] for number in chosen]
    others = tuple(part for number, part in enumerate(newest.parts) if number not in chosen)
    if any(part.size for part in merged):
        path = postings.new_file()
        pieces = [(str(postings.folder / part.name), part.removed) for part in merged]
        checksum = perform(Merge(str(path), pieces, sum(sizes[number].postings for number in chosen)))
        others = (*others, postings.part(path, checksum))
    postings.publish(newest._replace(parts=others))
    return True


def sizes_of(version: Version) -> list[SegmentSize]:
    return [SegmentSize(len(part.segment), part.size, part.segment.postings) for part in version.parts]


def worth_merging(sizes: Sequence[SegmentSize]) -> list[int]:
    """Return the numbers of the segments to merge next; empty if no merge is needed. A search reads all segments, so
    there should be few. No chosen segment is much larger than the smaller ones together, so a document is copied only a
    few times. A segment that lost most of its documents is written again."""
    order = sorted(range(len(sizes)), key=lambda number: sizes[number].alive)
    for first, number in enumerate(order):
        chosen, alive, postings = [number], sizes[number].alive, sizes[number].postings
        for larger in order[first + 1 :]:
            size = sizes[larger]
            fits = alive + size.alive <= segment.MOST_DOCUMENTS and postings + size.postings <= MOST_POSTINGS
            if not fits or size.alive > LARGER * alive:
                break
            chosen.append(larger)
            alive, postings = alive + size.alive, postings + size.postings
        if len(chosen) > 1 or sizes[number].alive < sizes[number].documents / 2:
            return chosen
    return []


def _read(newest: Version, feed: Feed, connection: Connection) -> _FoundChanges | None:
    now = changes.present(connection)
    begin = changes.catch_up(connection, Position(newest.clock, newest.floor))
    if begin != (newest.clock, newest.floor):
        newest = Version(begin.clock, begin.floor)
    if newest.clock == now.clock:
        return None
    changed = list(_changed(connection, newest.clock))
    documents, taken = _documents(connection, changed, feed.up_to(now.clock))
    is_last = taken == len(changed) < MOST_DOCUMENTS
    return _FoundChanges(
        newest,
        now.clock if is_last else changed[taken - 1].clock,
        [change.id for change in changed[:taken] if change.id is not None],
        documents,
        totals(connection) if is_last else None,
    )


def _changed(connection: Connection, clock: int) -> Sequence[_ChangedTerms]:
    rows = connection.execute(
        "SELECT h.clock, d.id, d.docid, d.collection_id, d.language, d.path,"
        " d.title || coalesce(char(10) || d.other_titles, ''), d.mime, d.mirror_hash,"
        " s.id IS NOT NULL FROM changes h LEFT JOIN collections c ON c.name = h.collection"
        " LEFT JOIN documents d ON d.collection_id = c.id AND d.path = h.path"
        " LEFT JOIN documents_fts_docsize s ON s.id = d.id WHERE h.clock > ? ORDER BY h.clock LIMIT ?",
        (clock, MOST_DOCUMENTS),
    )
    return [_ChangedTerms(*row) for row in rows]


def _documents(
    connection: Connection, changed: Sequence[_ChangedTerms], known: dict[int, tuple[int, Terms]]
) -> tuple[list[SegmentInput], int]:
    """Return the documents of the first changes, up to a total length of terms, and the number of these changes."""
    found: list[SegmentInput] = []
    characters = taken = 0
    for change in changed:
        taken += 1
        if change.is_here:
            stored_at, terms = known.get(change.id, (0, None))
            if change.clock > stored_at:
                terms = None
            text = _text(connection, change) if terms is None else None
            stemmer = stemmer_number(change.language)
            found.append(SegmentInput(change.id, change.docid, change.collection, stemmer, terms, text))
            characters += found[-1].characters
            if characters >= _MOST_CHARACTERS:
                break
    return found, taken


def _text(connection: Connection, document: _ChangedTerms) -> Text:
    text = connection.execute("SELECT markdown FROM content WHERE mirror_hash = ?", (document.mirror_hash,)).get
    return Text(document.language, document.path, document.title, str(text or ""), document.mime)


def _without(parts: Sequence[ListedSegment], removed: Collection[int]) -> tuple[ListedSegment, ...]:
    gone = np.array(sorted(removed), np.int64)
    return tuple(part for part in (each.without(gone) for each in parts) if part.size)


def _totals_of(parts: Sequence[ListedSegment]) -> tuple[int, int]:
    """Return the numbers of documents and terms."""
    return sum(part.size for part in parts), sum(part.length for part in parts)


def _repaired(parts: tuple[ListedSegment, ...], connection: Connection) -> tuple[ListedSegment, ...]:
    """Compare all documents with the full-text table. Rows of removed documents may be deleted, so no change names
    them."""
    here = np.array(
        [id_ for (id_,) in connection.execute("SELECT id FROM documents_fts_docsize ORDER BY id")], np.int64
    )
    ours = np.concatenate([part.segment.ids(part.mask()) for part in parts] or [here[:0]])
    return _without(parts, np.setdiff1d(ours, here).tolist())
