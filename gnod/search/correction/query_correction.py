"""Correct the words of a query that no document has, with the words of the index.

    word ──► one edit, two words, two edits ──► words of the index ──► the likeliest

A word in a dictionary is not a slip, even if no document has it: "stop" must not become "step". A candidate is likely
if its slip is likely (`edits`), if many documents have it, and above all if they also have the other words of the
query. The vocabulary only proposes candidates; the full-text table decides. So an outdated vocabulary can miss a new
word, but never finds a deleted one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf, log
from typing import NamedTuple

from rapidfuzz.distance import OSA

from gnod.analysis.dictionaries import has_word
from gnod.analysis.short_texts import detect_query
from gnod.analysis.stemming import DEFAULT_LANGUAGE, stemming_language
from gnod.analysis.terms import Analyzer
from gnod.search.correction.correctable_words import MIN_LETTERS, RARE, TIMES, Occurrences, QueryWord, quoted
from gnod.search.correction.edits import MISSING, REPLACED, one_edit
from gnod.search.correction.known_words import MAX_ALTERNATIVES, KnownWords
from gnod.search.query.parsing import MAX_CHARACTERS
from gnod.store.keyword_index import vocabulary
from gnod.store.keyword_index.postings.view import AnyOf

# More corrections would take too long.
MAX_CORRECTIONS = 8
# A word with this many letters may have two errors.
TWO_EDITS = 8
# Costs on the scale of `edits`: two words without the space, next to each other in a document; the same, but not next
# to each other; two edits.
JOINED, JOINED_APART, TWICE = 0.7, 1.2, 1.9
# A cost of 1 equals this difference in the logarithm of the number of documents with the word.
COST = 4.0
# If documents have only the stem of a candidate: the cost of each letter in which their form differs, and the maximum
# number of such letters.
UNSEEN, MAX_UNSEEN = 0.4, 1
# Compare a candidate with this many words of the query. This share of them must be in documents with it.
MAX_CONTEXT, FITTING = 8, 0.5
# A query with more words is a sentence. Its unknown words are not searched inside longer words.
MAX_WORDS_FOR_PARTS = 3
# One word must be this many times as frequent as its two possible parts, if neither looks like a part.
SPLIT_TIMES = 3
# These languages join several words into one.
COMPOUNDING = frozenset({"da", "de", "et", "fi", "hu", "nb", "nl", "no", "sv"})
_CANDIDATES = 12
_NEAR = 8


class WordCorrection(NamedTuple):
    """`written`: a word of the query, or two in a row."""

    written: str
    searched: str


class Corrected(NamedTuple):
    """`text`: the query with its corrections. Words that occur are kept before their corrections."""

    text: str
    corrections: tuple[WordCorrection, ...] = ()


class _CorrectedPlace(NamedTuple):
    """The text to search instead of the query from `start` to `end`. `keeps`: also search for the word as written."""

    start: int
    end: int
    searched: str
    keeps: bool = False


class _Candidate(NamedTuple):
    """`texts`: words with the same terms, cheapest first. `times`: the number of documents that have a phrase of each
    of `groups`. `terms`: of a single word; empty for two words."""

    texts: tuple[str, ...]
    cost: float
    groups: tuple[AnyOf, ...]
    times: int
    terms: frozenset[str] = frozenset()

    @property
    def likelihood(self) -> float:
        return log(self.times + 0.5) - COST * self.cost

    @property
    def at_most(self) -> float:
        """Return the maximum score: the likelihood with the best possible context."""
        return self.likelihood + max(log(self.times + 0.1), 0.0)


def correct(query: Occurrences, knowledge: KnownWords) -> Corrected:
    """Return the query with corrections for probable errors."""
    found = _Correcting(query, knowledge).corrected()
    return found if len(found.text) <= MAX_CHARACTERS else Corrected(query.text)


class _Correcting:
    def __init__(self, query: Occurrences, knowledge: KnownWords) -> None:
        self._query = query
        self._knowledge = knowledge
        self._main = [each for each in query.analyzers if each.language in knowledge.languages]
        self._known_together: dict[tuple[tuple[AnyOf, ...], QueryWord], list[int]] = {}

    def corrected(self) -> Corrected:
        query, places = self._query, self._split_words()
        doubtful = [word for word in query.doubtful() if not any(p.start <= word.start < p.end for p in places)]
        unknown = [word for word in doubtful if not query.times(word.text)]
        if not _is_foreign(query, unknown, self._knowledge.languages):
            for word in doubtful[:MAX_CORRECTIONS]:
                places += self._correction(word)
        return _replaced(query.text, sorted(places[:MAX_CORRECTIONS]))

    def _split_words(self) -> list[_CorrectedPlace]:
        """Return the words that were written as two, most frequent first."""
        query = self._query
        pairs = [
            (query.frequency(query.forms(first.text + second.text)), first, second)
            for first, second in zip(query.words, query.words[1:], strict=False)
            if query.text[first.end : second.start] == " " and self._is_split(first.text.lower(), second.text.lower())
        ]
        places: list[_CorrectedPlace] = []
        for _, first, second in sorted(pairs, key=lambda pair: (-pair[0], pair[1].start)):
            if not any(place.start < second.end and first.start < place.end for place in places):
                places.append(_CorrectedPlace(first.start, second.end, (first.text + second.text).lower()))
        return places

    def _is_split(self, first: str, second: str) -> bool:
        """Return whether two words are one word, written apart. They must not occur next to each other, and the word
        must be more frequent than the rarer of them; much more, if neither looks like a part of a word."""
        query, whole = self._query, first + second
        if not query.may_be_split(first, second):
            return False
        if len(second) == 1 and query.terms(whole) & query.terms(first):
            return False
        times = min(query.exact_times(first), query.exact_times(second))
        if not (query.is_part(first) or query.is_part(second)):
            times *= SPLIT_TIMES
        return query.frequency(query.forms(whole)) > times and not query.occurs(query.phrases(first, second))

    def _correction(self, word: QueryWord) -> list[_CorrectedPlace]:
        written, times = word.text.lower(), self._query.times(word.text)
        for candidates in () if self._is_real(written) else self._all_candidates(written, times):
            best = self._likeliest(candidates, word)
            if best is not None and self._fits(best, word, times):
                return [_CorrectedPlace(word.start, word.end, best.texts[0], keeps=times > 0)]
        if times or len(written) < MIN_LETTERS or not self._is_inside(written):
            return []
        return [_CorrectedPlace(word.start, word.end, f"*{written}*")]

    def _is_real(self, written: str) -> bool:
        """Return whether the word is in a dictionary: of the query's language, or of a language with many documents.
        Then it is not a slip, even if no document has it."""
        return has_word(written, self._languages)

    @cached_property
    def _languages(self) -> frozenset[str]:
        return self._knowledge.languages | {detect_query(self._query.text) or DEFAULT_LANGUAGE}

    def _all_candidates(self, written: str, times: int) -> Iterable[list[_Candidate]]:
        return [self._more_frequent(written, times)] if times else self._candidates(written)

    def _likeliest(self, candidates: Sequence[_Candidate], word: QueryWord) -> _Candidate | None:
        best, score = None, -inf
        likely = sorted(candidates, key=lambda each: (-each.likelihood, each.texts))[:_CANDIDATES]
        for each in sorted(likely, key=lambda each: -each.at_most):
            found = self._as_written(each) if each.at_most > score else None
            if found and (reached := found.likelihood + self._context(found.groups, word)) > score:
                best, score = found, reached
        return best

    def _is_inside(self, written: str) -> bool:
        """Return whether longer words that contain the written word may be meant. Only in languages with compounds, or
        if the query has no other words to search for; not in a sentence."""
        words = len(self._query.words)
        if words > MAX_WORDS_FOR_PARTS or (words > 1 and not self._knowledge.languages & COMPOUNDING):
            return False
        parts = {part for part in self._query.terms(written) if len(part) >= MIN_LETTERS}
        # A word that contains a part also contains its inner parts.
        shortest = [part for part in parts if not any(other in part for other in parts - {part})]
        longer = {word for part in shortest for word in self._knowledge.vocabulary.containing(part, MAX_ALTERNATIVES)}
        return bool(longer) and self._query.occurs(quoted(longer))  # the vocabulary may be older than the index

    def _fits(self, best: _Candidate, word: QueryWord, times: int) -> bool:
        """Return whether the other words of the query support a candidate with little other evidence: half of them must
        be in documents with it. If the word as written occurs, they must occur with the candidate at least as often as
        with that word."""
        together = self._together(best.groups, word)
        if len(word.text) < MIN_LETTERS:
            return len(best.texts[0]) > len(word.text) and bool(together) and all(together)
        is_weak = best.times <= RARE and best.cost >= MISSING
        if is_weak and sum(map(bool, together)) < FITTING * len(together):
            return False
        return not times or _mean_logarithm(together) >= self._context((self._query.forms(word.text),), word)

    def _more_frequent(self, written: str, times: int) -> list[_Candidate]:
        """Return the more frequent words that a word with few documents may stand for. The sample has all words of such
        frequency."""
        slips = {text: cost for text, cost in one_edit(written).items() if cost < REPLACED}
        seen = {text: slips[text] for text in self._knowledge.surfaces.seen(slips)}
        return [each for each in self._known(seen, self._main) if each.times >= TIMES * times]

    def _candidates(self, written: str) -> Iterator[list[_Candidate]]:
        """Yield candidates, likelier ones first. Languages with few documents come last, because some of their words
        resemble any word."""
        edits = one_edit(written)
        yield self._known(edits, self._main) + self._two_words(written)
        if rare := [each for each in self._query.analyzers if each not in self._main]:
            yield self._known(edits, rare)
        if len(written) >= TWO_EDITS:
            yield self._known(self._two_edits(written), self._query.analyzers)

    def _known(self, costs: Mapping[str, float], analyzers: Sequence[Analyzer]) -> list[_Candidate]:
        """Return the words that occur, if these languages may have them."""
        terms = self._knowledge.surfaces.terms(costs, analyzers)
        real = self._real(terms)
        known = {text: found for text, of_text in terms.items() if (found := real.intersection(of_text))}
        alike: defaultdict[frozenset[str], list[str]] = defaultdict(list)
        for text in sorted(known, key=lambda text: (costs[text], text)):
            alike[known[text]].append(text)
        candidates = [self._candidate(texts, costs[texts[0]], quoted(found)) for found, texts in alike.items()]
        return [each._replace(terms=found) for each, found in zip(candidates, alike, strict=True) if each.times]

    def _real(self, terms: Mapping[str, Collection[str]]) -> frozenset[str]:
        """Return the terms that the index may have. Short ones are always included, because the vocabulary lacks
        them."""
        every = {term for each in terms.values() for term in each}
        short = {term for term in every if len(term) < vocabulary.MIN_LETTERS}
        return frozenset(self._knowledge.vocabulary.known(every) | short)

    def _candidate(self, texts: Sequence[str], cost: float, *groups: AnyOf) -> _Candidate:
        return _Candidate(tuple(texts), cost, groups, self._query.frequency(*groups))

    def _two_words(self, written: str) -> list[_Candidate]:
        """Return pairs of words that occur together."""
        pairs = [(written[:at], written[at:]) for at in range(2, len(written) - 1)] if written.isalpha() else []
        terms = self._knowledge.surfaces.terms({part for pair in pairs for part in pair}, self._query.analyzers)
        real = self._real(terms)
        found = (self._pair(*pair) for pair in pairs if all(real & terms[part] for part in pair))
        return [candidate for candidate in found if candidate and candidate.times]

    def _pair(self, first: str, second: str) -> _Candidate | None:
        query, text = self._query, f"{first} {second}"
        if query.occurs(phrases := query.phrases(first, second)):
            return self._candidate([text], JOINED, phrases)
        if min(len(first), len(second)) < MIN_LETTERS:
            return None
        return self._candidate([text], JOINED_APART, query.forms(first), query.forms(second))

    def _two_edits(self, written: str) -> dict[str, float]:
        """Return words of documents that are at most two edits away. Compares their stems first."""
        near = {term for stem in self._query.terms(written) for term in self._knowledge.vocabulary.near(stem, 2, _NEAR)}
        forms = self._surfaces(near)
        return {form: TWICE for form in forms if OSA.distance(written, form, score_cutoff=2) <= 2}

    def _as_written(self, candidate: _Candidate) -> _Candidate | None:
        """Return the candidate as documents write it, or nearly; None if they write it differently. Its stem alone may
        be the stem of a different word."""
        if not candidate.terms:
            return candidate
        if seen := self._knowledge.surfaces.seen(candidate.texts):
            return candidate._replace(texts=(next(text for text in candidate.texts if text in seen),))
        forms = self._surfaces(candidate.terms)
        pairs = [(OSA.distance(text, form), text, form) for text in candidate.texts for form in sorted(forms)]
        farther, text, form = min(pairs, key=lambda pair: pair[0], default=(0, candidate.texts[0], candidate.texts[0]))
        if farther > MAX_UNSEEN:
            return None
        return candidate._replace(texts=(form if farther else text,), cost=candidate.cost + UNSEEN * max(farther, 1))

    def _surfaces(self, terms: Iterable[str]) -> set[str]:
        surfaces, query = self._knowledge.surfaces, self._query
        return {form for term in terms for form in surfaces.forms(query.connection, term, query.analyzers)}

    def _context(self, groups: tuple[AnyOf, ...], word: QueryWord) -> float:
        """Return the logarithm of how often the other words of the query are in the same documents."""
        return _mean_logarithm(self._together(groups, word))

    def _together(self, groups: tuple[AnyOf, ...], word: QueryWord) -> list[int]:
        """Return for each other word of the query the number of documents that have both."""
        if (groups, word) not in self._known_together:
            others = [each.text for each in self._query.words if each is not word and each.is_open]
            known = [self._query.forms(each) for each in others if self._query.times(each)]
            self._known_together[groups, word] = [
                self._query.frequency(*groups, other) for other in known[:MAX_CONTEXT]
            ]
        return self._known_together[groups, word]


def _is_foreign(query: Occurrences, unknown: Sequence[QueryWord], languages: Collection[str]) -> bool:
    """Return whether the words are unknown because the query is in a language that the index does not have.
    `languages`: those with many documents. In a query in one of these, most words may be errors."""
    share = len(unknown) / max(len(query.words), 1)
    if len(query.words) < 3 or share <= 1 / 3:
        return False
    detected = detect_query(query.text)
    language = stemming_language(detected) if detected else None
    is_new = language is not None and language not in {a.language for a in query.analyzers}
    return is_new or (share > 0.5 and language not in languages)


def _replaced(text: str, places: Sequence[_CorrectedPlace]) -> Corrected:
    parts: list[str] = []
    at = 0
    for place in places:
        written = text[place.start : place.end]
        parts += [text[at : place.start], f"{written} {place.searched}" if place.keeps else place.searched]
        at = place.end
    corrections = (WordCorrection(text[place.start : place.end], place.searched) for place in places)
    return Corrected("".join([*parts, text[at:]]), tuple(dict.fromkeys(corrections)))


def _mean_logarithm(times: Sequence[int]) -> float:
    return sum(log(time + 0.1) for time in times) / max(len(times), 1)
