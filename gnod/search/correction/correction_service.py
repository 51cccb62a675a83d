"""Keep the words of the index in memory, in step with the database, and correct queries with them. Also resolves
wildcards: words that begin with a part (`part*`), end with it, or contain it.

For the reader threads of one database. The words of a small index are read again after each change, before a search
uses them. The words of a large index are read in the background, and searches use the old words meanwhile. This read
waits until there was no change for some seconds, because it holds Python's lock for about half a second per million
documents and would delay the indexing of the next save.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from typing import NamedTuple

from gnod.analysis.dictionaries import has_word
from gnod.analysis.stemming import DEFAULT_LANGUAGE, fold, normalise, stemming_language
from gnod.analysis.terms import is_unspaced
from gnod.search.correction import query_correction
from gnod.search.correction.correctable_words import LONGEST_ENDING, Occurrences
from gnod.search.correction.known_words import MAX_ALTERNATIVES, KnownWords, Surfaces, Vocabulary
from gnod.search.correction.query_correction import Corrected
from gnod.search.keyword import lexical
from gnod.search.keyword.expression import prefix_phrase
from gnod.search.query.parsing import MIN_WILDCARD, Clause, ParsedQuery, with_clauses
from gnod.store.connection import Connection
from gnod.store.keyword_index import fulltext, vocabulary
from gnod.store.tables import changes, documents

# If a read of the words takes longer than this, it runs in the background.
AT_ONCE_S = 0.05
# Spend at most this share of the time on reading words.
SHARE = 0.05
# Read the words again after this time without changes, or at this age while changes continue. This is longer than the
# time between two saves of an author.
REST_S, OLDEST_S = 5.0, 60.0
# A language with a smaller share of the documents is tried only if the others have no word.
_MAIN_LANGUAGE = 0.02
# A query may have this many wildcards. Others are searched without their asterisks.
MAX_WILDCARDS = 4

Submit = Callable[[Callable[[Connection], None]], Future[None]]


class _State(NamedTuple):
    clock: int
    knowledge: KnownWords
    took_s: float
    read_at: float


class Corrector:
    """`submit`: runs a read in another thread. `at_once_s`: an index is small if its words are read within this time.
    The words of a large index are read again if no search has seen a change for `rest_s`, or if they are older than
    `oldest_s`."""

    def __init__(
        self, submit: Submit, *, at_once_s: float = AT_ONCE_S, rest_s: float = REST_S, oldest_s: float = OLDEST_S
    ) -> None:
        self._submit = submit
        self._at_once_s = at_once_s
        self._rest_s = rest_s
        self._oldest_s = oldest_s
        # The clock of the newest change that a search has seen, and the time when it was first seen
        self._changed = (0, 0.0)
        self._state: _State | None = None
        self._lock = threading.Lock()
        self._reading: Future[None] | None = None
        self._one_reads = threading.Lock()

    def correct(self, connection: Connection, text: str, *, unfinished: bool = False) -> Corrected:
        """Return the query with its corrections. `unfinished`: the user still types the last word."""
        query = Occurrences(connection, text, unfinished=unfinished, languages=self.languages)
        if not query.needs_correction():
            self._prepare()
            return Corrected(text)
        knowledge = self.knowledge(connection)
        if query.languages != knowledge.languages:
            query = Occurrences(connection, text, unfinished=unfinished, languages=knowledge.languages)
        return query_correction.correct(query, knowledge)

    @property
    def languages(self) -> frozenset[str] | None:
        """The languages with many documents; None: not yet known."""
        return self._state.knowledge.languages if self._state else None

    def resolved(self, connection: Connection, clauses: Iterable[Clause]) -> list[Clause]:
        """Return the clauses with the words that their wildcards match."""
        return list(map(self._resolver(connection), clauses))

    def resolved_query(self, connection: Connection, query: ParsedQuery) -> ParsedQuery:
        """Do as `resolved`, for all clauses of a query."""
        return with_clauses(query, self._resolver(connection)) if "*" in query.text else query

    def _resolver(self, connection: Connection) -> Callable[[Clause], Clause]:
        found: dict[Clause, Clause] = {}

        def resolve(clause: Clause) -> Clause:
            if clause.is_wildcard and clause not in found and len(found) < MAX_WILDCARDS:
                found[clause] = _resolved(connection, clause, self.knowledge(connection))
            return found.get(clause, clause)

        return resolve

    def knowledge(self, connection: Connection) -> KnownWords:
        """Return the known words of the index, read again if needed."""
        clock = changes.present(connection).clock
        # Two reads at the same time would take twice as long.
        with self._one_reads if self._state is None else nullcontext():
            state = self._state
            if state is None:
                return self._read(connection)
        if state.clock >= clock:
            return state.knowledge
        if state.took_s < self._at_once_s:
            return self._read(connection)
        self._read_beside(state, clock)
        return state.knowledge

    def _prepare(self) -> None:
        """Read the words in the background of the first search, so that the first correction does not wait for them."""
        with self._lock:
            if self._state is None and self._reading is None:
                self._reading = self._submit(lambda connection: (self.knowledge(connection), None)[1])

    def _read_beside(self, state: _State, clock: int) -> None:
        now = time.monotonic()
        with self._lock:
            if clock > self._changed[0]:
                self._changed = clock, now
            age, at_rest_s = now - state.read_at, now - self._changed[1]
            is_due = age > state.took_s / SHARE and (at_rest_s >= self._rest_s or age > self._oldest_s)
            if is_due and (self._reading is None or self._reading.done()):
                self._reading = self._submit(self._read_unless_soon_quicker)

    def _read_unless_soon_quicker(self, connection: Connection) -> None:
        """Read the words, or leave the read to a later search."""
        if not vocabulary.is_soon_quicker(connection):
            self._read(connection)

    def _read(self, connection: Connection) -> KnownWords:
        started = time.monotonic()
        clock = changes.present(connection).clock
        words = Vocabulary(vocabulary.read(connection))
        knowledge = KnownWords(words, Surfaces(connection, words), _main_languages(connection))
        has_word("", knowledge.languages)  # load their dictionaries as well
        now = time.monotonic()
        self._state = _State(clock, knowledge, now - started, now)
        return knowledge


def _main_languages(connection: Connection) -> frozenset[str]:
    counts = documents.count_by_language(connection)
    enough = _MAIN_LANGUAGE * sum(counts.values())
    return frozenset({DEFAULT_LANGUAGE, *(stemming_language(each) for each, n in counts.items() if n >= enough)})


def _resolved(connection: Connection, clause: Clause, knowledge: KnownWords) -> Clause:
    """Return the clause with its alternatives; unchanged if it is not a wildcard, or if no word matches."""
    part = fold(normalise(clause.without_wildcard))
    if not clause.is_wildcard or len(part) < MIN_WILDCARD or is_unspaced(part):
        return clause
    phrases = list(_beginning(connection, part, knowledge)) if clause.text.endswith("*") else []
    if clause.text.startswith("*"):
        phrases += map(fulltext.quote, _inside(connection, part, knowledge, at_end=not clause.text.endswith("*")))
    return clause._replace(alternatives=tuple(dict.fromkeys(phrases))[: MAX_ALTERNATIVES + 1])


def _beginning(connection: Connection, part: str, knowledge: KnownWords) -> Iterator[str]:
    """Yield phrases for words that begin with a part. The term of a word may be shorter than the part."""
    yield prefix_phrase(part)
    analyzers = lexical.analyzers_of_index(connection)
    shorter = (part[:end] for end in range(max(len(part) - LONGEST_ENDING, MIN_WILDCARD), len(part)))
    for term in knowledge.vocabulary.known(shorter):
        if any(form.startswith(part) for form in knowledge.surfaces.forms(connection, term, analyzers)):
            yield fulltext.quote(term)


def _inside(connection: Connection, part: str, knowledge: KnownWords, *, at_end: bool) -> Sequence[str]:
    """Return the terms of words that contain a part, or end with it, shortest first."""
    stems = {analyzer.analyse(part)[0] for analyzer in lexical.analyzers_of_index(connection)} - {part, ""}
    find = knowledge.vocabulary.ending if at_end else knowledge.vocabulary.containing
    found = find(part, MAX_ALTERNATIVES)
    # The part may contain an ending that terms do not have.
    more = [term for stem in sorted(stems) for term in knowledge.vocabulary.ending(stem, MAX_ALTERNATIVES)]
    return sorted({*found, *more}, key=lambda term: (len(term), term))[:MAX_ALTERNATIVES]
