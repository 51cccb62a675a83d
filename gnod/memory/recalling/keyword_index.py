"""The keyword index of the memories: BM25 over their texts and topics, in RAM only, while they are unlocked.

A term is stored as a number: Python's hash of the string, whose key is random in each process. The arrays are
`LockedArray`s, which keep the index out of swap and core dumps where the system allows that. Memories that are put in
one call form one sorted segment; too many segments are merged into one.

All methods lock, so searches can run in threads while memories are stored.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod import bm25
from gnod.analysis.short_texts import detect_short
from gnod.analysis.stemming import DEFAULT_LANGUAGE, stemming_language
from gnod.analysis.stopwords import LANGUAGES, function_words
from gnod.analysis.terms import Analyzer, QueryUnit
from gnod.caches import WORDS
from gnod.memory.key.process_memory import LockedArray
from gnod.memory.recalling.speaker_turns import Conversations, SpeakerTurn, asks, turn
from gnod.memory.recalling.time_expressions import MAX_DAYS, NO_DAY, days_in, days_meant, relative_words
from gnod.memory.records import Memory
from gnod.memory.validity import DAY_MS, TimeSpan

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
# Rows of _SLOT.
Table = NDArray[Any]

# The weight of the length in BM25. It is low, because the texts are short and of similar length.
_B = 0.4
_MOST_SEGMENTS = 32
_FIRST_SLOTS = 256

_SLOT = np.dtype(
    [
        ("id", np.int64),
        ("length", np.int32),
        ("session", np.int64),
        ("time_ms", np.int64),
        ("valid_from_ms", np.int64),
        ("valid_until_ms", np.int64),
        ("days", np.int32, MAX_DAYS),
        ("states_time", np.bool_),
        ("asks", np.bool_),
        ("is_live", np.bool_),
    ]
)
_MAX_COUNT = 0xFFFF
# The time of a beginning or an end that is not known.
_ALWAYS_MS = 2**62
_SPEAKER = "\0speaker:"


class MemoryMatches(NamedTuple):
    """Arrays with a value for each searched memory. `is_indexed`: memories that are not indexed have zeros. `scores`:
    BM25. `coverage`: the share of the query's words in the memory, by weight, in [0, 1]. Both count the words of
    surrounding turns in part. `named`: whether a word of the query names the speaker. `states_time`: whether the text
    says when something happens. `asks`: whether it is a turn that ends with a question. `sessions`: equal in one
    conversation; 0: not a turn. `times_ms`: when it happened, or was stored. `days`: the days in the text, since
    1970."""

    is_indexed: NDArray[np.bool_]
    scores: Floats
    coverage: Floats
    named: NDArray[np.bool_]
    states_time: NDArray[np.bool_]
    asks: NDArray[np.bool_]
    sessions: Ids
    times_ms: Ids
    days: NDArray[np.int32]


class KeywordIndex:
    """Call `put` and `remove` after each change of the database. After `wipe`, the index stays empty."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_wiped = False
        self._slots = LockedArray(_FIRST_SLOTS, _SLOT)
        self._used = 0
        self._slot_of: dict[int, int] = {}
        # The columns of `_Postings`, in the order of their terms.
        self._segments: list[list[LockedArray]] = []
        self._languages = {DEFAULT_LANGUAGE}
        # Analysers by stemmer. They treat texts as code, because memories name code without backticks.
        self._analyzers: dict[str, Analyzer] = {DEFAULT_LANGUAGE: Analyzer(DEFAULT_LANGUAGE, is_code=True)}

    def __len__(self) -> int:
        return len(self._slot_of)

    def __contains__(self, id_: int) -> bool:
        return id_ in self._slot_of

    @property
    def languages(self) -> list[str]:
        """Return the languages of the memories."""
        return sorted(self._languages)

    @property
    def is_locked(self) -> bool:
        """Return whether no part of the index can be swapped."""
        return all(array.is_locked for array in self._arrays())

    def put(self, memories: Sequence[Memory]) -> None:
        """Index memories, and replace those that are already indexed. This may take milliseconds, so call it in a
        thread."""
        with self._lock:
            found = [] if self._is_wiped else [self._posted(memory) for memory in memories]
            if found:
                self._segments.append(_segment(found))
            if len(self._segments) > _MOST_SEGMENTS:
                self._merge()

    def remove(self, ids: Iterable[int]) -> None:
        with self._lock:
            for id_ in ids:
                slot = self._slot_of.pop(id_, None)
                if slot is not None:
                    self._rows()["is_live"][slot] = False

    def wipe(self) -> None:
        """Overwrite everything with zeros and forget it."""
        with self._lock:
            self._is_wiped = True  # a thread may still add a memory
            for array in self._arrays():
                array.wipe()
            self._slots, self._segments = LockedArray(0, _SLOT), []
            self._used = 0
            self._slot_of.clear()
            self._analyzers.clear()
            WORDS.empty()  # this cache contains words of memories

    def search(self, query: str, ids: Sequence[int], dates: Collection[str] = ()) -> MemoryMatches:
        """Match the keywords of the query with the memories `ids`, which ascend. Words that are rare among them weigh
        more. `dates`: words of the query, in lower case, that name a time. They count in the coverage only if the query
        has no others, because a memory that was true in June need not contain the word."""
        with self._lock:
            slots = np.fromiter((self._slot_of.get(id_, -1) for id_ in ids), np.int64, len(ids))
            is_indexed = slots >= 0
            chosen = slots[is_indexed]
            groups = self._groups(query, dates)
            named = np.zeros(self._used, bool)
            for group in groups:
                named[self._found(group.speakers).slots] = True
            of = np.zeros(len(ids), _SLOT)
            of["days"] = NO_DAY
            of[is_indexed] = self._rows()[chosen]
            found = np.zeros((3, len(ids)))
            found[:, is_indexed] = [*self._bm25(groups, chosen, of[is_indexed]), named[chosen]]
        return MemoryMatches(
            is_indexed=is_indexed,
            scores=found[0],
            coverage=found[1],
            named=found[2] > 0,
            states_time=of["states_time"],
            asks=of["asks"],
            sessions=of["session"],
            times_ms=of["time_ms"],
            days=of["days"],
        )

    def outside(self, span: TimeSpan) -> Ids:
        """Return the ids of memories that are not true at any time in the span, by the times that they state."""
        with self._lock:
            rows = self._rows()
            is_outside = (rows["valid_until_ms"] < span.first_ms) | (rows["valid_from_ms"] > span.last_ms)
            return np.asarray(rows["id"][is_outside & rows["is_live"]])

    def _posted(self, memory: Memory) -> _Postings:
        """Add the row of a memory; return its postings."""
        if (old := self._slot_of.get(memory.id)) is not None:
            self._rows()["is_live"][old] = False
        if self._used == len(self._slots.values):
            self._grow()
        language = detect_short(memory.text) or DEFAULT_LANGUAGE
        self._languages.add(language)
        stemmer = stemming_language(language)
        if stemmer not in self._analyzers:
            self._analyzers[stemmer] = Analyzer(language, is_code=True)
        analyzer = self._analyzers[stemmer]
        terms = analyzer.stream("\n".join((memory.text, *memory.topics))).split()
        counts = Counter(map(hash, terms))
        said = turn(memory.text)
        body = memory.text
        if said:
            for term in analyzer.stream(said.speaker).split():
                counts[hash(_SPEAKER + term)] = 1
            body = memory.text[said.length :]
        slot = self._used
        row = self._slots.values[slot : slot + 1]
        row["id"], row["length"], row["is_live"] = memory.id, len(terms), True
        row["session"] = hash((memory.namespace, said.about)) if said else 0
        row["time_ms"] = memory.happened_ms
        _, valid_from_ms, valid_until_ms = memory.times
        row["valid_from_ms"] = -_ALWAYS_MS if valid_from_ms is None else valid_from_ms
        row["valid_until_ms"] = _ALWAYS_MS if valid_until_ms is None else valid_until_ms
        relative = relative_words(body, language)
        row["states_time"], row["asks"] = bool(relative or days_in(body)), said is not None and asks(body)
        days = [*days_in(memory.text), *days_meant(relative, language, _day_said(memory, said))][:MAX_DAYS]
        row["days"] = [*days, *[NO_DAY] * (MAX_DAYS - len(days))]
        self._slot_of[memory.id] = slot
        self._used += 1
        return _Postings(
            np.fromiter(counts.keys(), np.int64, len(counts)),
            np.full(len(counts), slot, np.int32),
            np.minimum(np.fromiter(counts.values(), np.int64, len(counts)), _MAX_COUNT).astype(np.uint16),
        )

    def _groups(self, query: str, dates: Collection[str]) -> list[_Group]:
        """Return the terms of the query: each word in its forms in the languages of the memories."""
        if self._is_wiped:
            return []
        units = {stemmer: analyzer.units(query) for stemmer, analyzer in self._analyzers.items()}
        default = units[DEFAULT_LANGUAGE]
        words = [unit.surface for unit in default]
        dropped = function_words(words, LANGUAGES)
        found: dict[tuple[str, ...], _Group] = {}
        for at, unit in enumerate(default):
            if unit.surface.lower() in dropped:
                continue
            alike = [each[at] for each in units.values()]
            is_date = unit.surface.lower() in dates
            for forms in _forms(alike):
                speakers = [hash(_SPEAKER + form) for form in forms]
                found[forms] = _Group([hash(form) for form in forms], speakers, is_date)
        return list(found.values())

    def _bm25(self, groups: Sequence[_Group], chosen: Ids, of: Table) -> tuple[Floats, Floats]:
        """Return the scores and the coverage of the chosen slots, in their order. `of`: their rows."""
        number = len(chosen)
        if not number:
            return np.zeros(0), np.zeros(0)
        conversations = Conversations(of["session"], of["time_ms"], of["asks"])
        lengths: Floats = of["length"] / max(float(of["length"].mean()), 1.0)
        total, weight = np.zeros((2, number)), 0.0
        has_others = not all(group.is_date for group in groups)
        for group in groups:
            postings = self._found(group.terms)
            counts = np.bincount(postings.slots, postings.counts, self._used)[chosen]
            holders = np.flatnonzero(counts)
            idf = bm25.idf(number, len(holders))
            counted = not (group.is_date and has_others)
            weight += idf * counted
            values = np.zeros((2, number))
            values[0, holders] = bm25.saturated(counts[holders].astype(np.float64), lengths[holders], b=_B)
            values[1, holders] = counted
            total += idf * conversations.heard(values)
        return total[0], total[1] / (weight or 1.0)

    def _found(self, terms: Sequence[int]) -> _Postings:
        """Return the postings of some terms."""
        found = []
        for postings in map(_postings, self._segments):
            first = np.searchsorted(postings.terms, terms, "left").tolist()
            end = np.searchsorted(postings.terms, terms, "right").tolist()
            found += [postings.only(slice(*place)) for place in zip(first, end, strict=True)]
        return _joined(found)

    def _merge(self) -> None:
        """Merge all segments into one, without removed memories."""
        live = self._rows()["is_live"]
        merged = _segment([postings.only(live[postings.slots]) for postings in map(_postings, self._segments)])
        for array in chain.from_iterable(self._segments):
            array.wipe()
        self._segments = [merged]

    def _grow(self) -> None:
        grown = LockedArray(2 * len(self._slots.values), _SLOT)
        grown.values[: self._used] = self._rows()
        self._slots.wipe()
        self._slots = grown

    def _rows(self) -> Table:
        return self._slots.values[: self._used]

    def _arrays(self) -> list[LockedArray]:
        return [self._slots, *chain.from_iterable(self._segments)]


class _Postings(NamedTuple):
    """Terms, the slots of the memories that have them, and the frequencies."""

    terms: Ids
    slots: NDArray[np.int32]
    counts: NDArray[np.uint16]

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> _Postings:
        return _Postings(self.terms[chosen], self.slots[chosen], self.counts[chosen])


class _Group(NamedTuple):
    """The terms of one word of a query, and the terms that find it as the name of a speaker. `is_date`: whether it
    names a time."""

    terms: list[int]
    speakers: list[int]
    is_date: bool


def _day_said(memory: Memory, said: SpeakerTurn | None) -> int:
    """Return the day on which a memory was said: when it happened, or the day written beside the speaker, or when it
    was stored."""
    days = days_in(said.about) if said and memory.times.when_ms is None else []
    return days[0] if days else memory.happened_ms // DAY_MS


def _forms(alike: Sequence[QueryUnit]) -> Iterable[tuple[str, ...]]:
    """Yield the forms of each part of a word, and of the whole word."""
    for at in range(len(alike[0].parts)):
        yield tuple(dict.fromkeys(unit.parts[at] for unit in alike))
    if alike[0].whole:
        yield tuple(dict.fromkeys(unit.whole for unit in alike if unit.whole))


def _postings(segment: Sequence[LockedArray]) -> _Postings:
    return _Postings(*(array.values for array in segment))


def _segment(parts: Sequence[_Postings]) -> list[LockedArray]:
    """Sort postings into a new segment."""
    joined = _joined(parts)
    order = np.argsort(joined.terms, kind="stable")
    arrays = []
    for column in joined:
        arrays.append(LockedArray(len(column), column.dtype))
        arrays[-1].values[:] = column[order]
    return arrays


def _joined(parts: Sequence[_Postings]) -> _Postings:
    empty = _Postings(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint16))
    return _Postings(*(np.concatenate(columns) for columns in zip(empty, *parts, strict=True)))
