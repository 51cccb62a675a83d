"""Find the words of a query in a text, and the stretch of the text with most of them.

It uses plain substring search, so that a long document costs milliseconds: the analyser checks words only where the
start of a term occurs. Other spellings (`plug-in` for `plugin`, dates) are found as in the index, in the whole text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from math import log
from operator import itemgetter
from typing import NamedTuple

from gnod.analysis.markup import without_marks
from gnod.analysis.stemming import PREFIX_STRIPPING, fold, normalise
from gnod.analysis.terms import FENCE, SPELLED, Analyzer, is_name, is_unspaced, spelled_places, visible, word_rest
from gnod.caches import Cache, Computed
from gnod.search.keyword.folding import FILL, PlainText

WINDOW_CHARACTERS = 240
_MAX_PLACES = 50
_MAX_WORD_CHARACTERS = 64
_MAX_VARIANT_CHARACTERS = 128
# The line end and the markup of the next line may be between two words of a phrase.
_MAX_GAP = 40
_MAX_IN_WORD = 4
# Cache the terms of this many sets of languages: single languages, and all languages of an index.
_LANGUAGE_SETS = 64
_LETTER = re.compile(r"[^\W_]")
# The text before and after a word, up to the next space.
_BEFORE, _AFTER = re.compile(r"\S++\Z"), re.compile(r"\S*")
# Sums have rounding errors. Values that agree in this many digits are equal.
_DIGITS = 9
_SAME = 10**-_DIGITS
_TERM = itemgetter(2)

# One variant of a query term is a sequence of index terms. A term that ends with ANY_ENDING matches all terms that
# begin with it. No term of the index contains ANY_ENDING.
TermVariant = tuple[str, ...]
ANY_ENDING = "*"
# A term that starts with this prefix is a word as the query has it, not its stem. Its number in marks is the complement
# (`~`) of the number of its word.
AS_WRITTEN = "="
# A stretch that has a word as written is worth more by this share of the word.
_WRITTEN_SHARE = 0.5

# Substrings that every place of a variant contains: for each term, the beginning that all words with its stem share.
_Needles = tuple[str, ...]


class Mark(NamedTuple):
    """A matched place. `term`: the number of the query term that matched; for a word as written, its complement."""

    start: int
    end: int
    term: int


def as_written(word: str) -> str:
    return AS_WRITTEN + fold(normalise(word))


def find_marks(text: str, query_terms: Sequence[Sequence[TermVariant]], analyzers: Sequence[Analyzer]) -> list[Mark]:
    """Return the places of the query terms in order. A very frequent term has only its places near rarer terms, or its
    first ones."""
    return TermFinder(text, analyzers).marks(query_terms)


class TermFinder:
    """Finds index terms in one text. It first finds where the start of a term occurs, which is fast, and then checks
    whether the word there has the term."""

    def __init__(self, text: str, analyzers: Sequence[Analyzer]) -> None:
        self.text = text
        self._plain = PlainText(text, analyzers[0].language if len(analyzers) == 1 else None)
        self._text, self._folded = self._plain.text, self._plain.folded
        self.analyzers = analyzers
        self._strips_prefixes = any(analyzer.language in PREFIX_STRIPPING for analyzer in analyzers)
        self._terms = _known_terms(tuple((analyzer.language, analyzer.is_code) for analyzer in analyzers))
        self._first: dict[_Needles, list[int]] = {}
        self._around: dict[int, tuple[int, int, frozenset[str]]] = {}

    def marks(self, query_terms: Sequence[Sequence[TermVariant]], within: tuple[int, int] | None = None) -> list[Mark]:
        """See `find_marks`. `within`: only the places in this range."""
        marks: list[Mark] = []
        if within:
            stretches = [self._here(within)]
            for variant, number in _stems(query_terms):
                if self._may_be(variant):
                    marks += [Mark(start, end, number) for start, end in self._find(variant, stretches)]
        else:
            for variant, number, needles in self._rarest_first(_stems(query_terms)):
                stretches = self._stretches(needles, marks)
                marks += [Mark(start, end, number) for start, end in self._find(variant, stretches)]
        return self._in_original(marks)

    def every_place(self, query_terms: Sequence[Sequence[TermVariant]], most: int) -> list[tuple[int, int]]:
        """Return the places of all query terms in order, without places inside another: at least the first `most` of
        each variant."""
        whole = [(0, len(self._text))]
        found = {place for variant, _ in _stems(query_terms) for place in self._find(variant, whole, most)}
        places: list[tuple[int, int]] = []
        for start, end in sorted(found, key=lambda place: (place[0], -place[1])):
            if not places or start >= places[-1][1]:
                places.append((start, end))
        return [self._plain.original(*place) for place in places]

    def words(self, query_terms: Sequence[Sequence[TermVariant]], within: tuple[int, int]) -> frozenset[int]:
        """Return the numbers, as in marks, of the words in this range."""
        stretches = [self._here(within)]
        found: set[int] = set()
        for variant, number in numbered(query_terms):
            most = 1 if len(variant) == 1 else _MAX_PLACES
            if number not in found and self._may_be(variant) and self._find(variant, stretches, most):
                found.add(number)
        return frozenset(found)

    def window(
        self,
        query_terms: Sequence[Sequence[TermVariant]],
        within: tuple[int, int] | None = None,
    ) -> list[Mark]:
        """Return the marks of the best stretch of the text; empty if no term occurs. `within`: only stretches in this
        range.

        Only the words of the best stretch are analysed. If a word does not have its term, the next best stretch is
        tried.
        """
        possible = self._possible(query_terms, within)
        rough = sorted(possible)
        checked: dict[Mark, Mark | None] = {}
        while rough:
            window = best_window(rough)
            for mark in window:
                if mark not in checked:
                    checked[mark] = self._check(mark, possible[mark])
            found = [true for mark in window if (true := checked[mark])]
            if len(found) == len(window):
                return self._in_original(found)
            rough = [mark for mark in rough if checked.get(mark, mark)]
        return []

    def worth(self, words: Iterable[int], query_terms: Sequence[Sequence[TermVariant]]) -> float:
        """Return the worth of words in one place of the text. `words`: their numbers in marks. Rare words of the text
        are worth more."""
        counts = [max([len(self._places_of(_needles(variant))) for variant in word], default=0) for word in query_terms]
        return worth_of(words, counts)

    def _may_be(self, variant: TermVariant) -> bool:
        """Return whether the text may have a variant. False if an earlier search for its needles had no result."""
        return self._first.get(_needles(variant)) != []

    def _here(self, within: tuple[int, int]) -> tuple[int, int]:
        return (self._plain.here(within[0]), self._plain.here(within[1])) if self._plain.is_moved else within

    def _in_original(self, marks: Iterable[Mark]) -> list[Mark]:
        if not self._plain.is_moved:
            return sorted(set(marks))
        return sorted({Mark(*self._plain.original(mark.start, mark.end), mark.term) for mark in marks})

    def _possible(
        self, query_terms: Sequence[Sequence[TermVariant]], within: tuple[int, int] | None
    ) -> dict[Mark, list[TermVariant]]:
        """Return the places where a term may be, each with the variants that it may be."""
        possible: dict[Mark, list[TermVariant]] = {}
        variants = numbered(query_terms)
        ordered = [(*each, _needles(each[0])) for each in variants] if within else self._rarest_first(variants)
        for variant, number, needles in ordered:
            length = len(needles[0])
            stretches = [self._here(within)] if within else self._stretches(needles, possible)
            for start in self._starts(needles, stretches):
                if number >= 0 or self._is_between_words(start, start + length):
                    possible.setdefault(Mark(start, start + length, number), []).append(variant)
        return possible

    def _is_between_words(self, start: int, end: int) -> bool:
        """Return whether no letter or digit is beside a range. The range is then nearly always a word as written."""
        return not (self._text[start - 1 : start].isalnum() or self._text[end : end + 1].isalnum())

    def for_words(self, query_terms: Sequence[Sequence[TermVariant]]) -> TermFinder:
        """Return a finder for all words of the query. If marks inside a word hide it, the finder searches the text
        without marks."""
        if all(not word or any(map(self.may_have, word)) for word in query_terms):
            return self
        bare = without_marks(self.text)
        return self if bare == self.text else TermFinder(bare, self.analyzers)

    def may_have(self, variant: TermVariant) -> bool:
        return self._may_be(variant) and all(
            term in self._spelled if term.endswith(SPELLED) else _needle(term) in self._folded for term in variant
        )

    @cached_property
    def _spelled(self) -> dict[str, list[tuple[int, int]]]:
        return spelled_places(self._text, self.analyzers)

    def _check(self, mark: Mark, variants: Sequence[TermVariant]) -> Mark | None:
        """Return the words at this place that have one of the variants; None without such words."""
        for variant in variants:
            if len(variant) == 1:
                start, end, is_word = self._word(variant[0], mark.start, mark.end)
                if is_word:
                    return Mark(start, end, mark.term)
                continue
            around = (max(mark.start - _MAX_VARIANT_CHARACTERS, 0), mark.end + _MAX_VARIANT_CHARACTERS)
            for start, end in self._find(variant, [around]):
                if start <= mark.start and mark.end <= end:
                    return Mark(start, end, mark.term)
        return None

    def _rarest_first(self, variants: Sequence[tuple[TermVariant, int]]) -> list[tuple[TermVariant, int, _Needles]]:
        """Return the variants that the text may have, each with its term's number and its needles."""
        found = []
        for variant, number in variants:
            needles = _needles(variant)
            if places := self._places_of(needles):
                found.append((len(places), number, variant, needles))
        found.sort(key=itemgetter(0, 1))
        return [(variant, number, needles) for _, number, variant, needles in found]

    def _stretches(self, needles: _Needles, near: Iterable[Mark]) -> list[tuple[int, int]]:
        """Return the ranges to search: near the marks of rarer terms for frequent needles, if there are such marks;
        else the whole text."""
        if len(self._places_of(needles)) > _MAX_PLACES and (starts := {mark.start for mark in near}):
            return _around(starts, WINDOW_CHARACTERS)
        return [(0, len(self._text))]

    def _find(
        self, variant: TermVariant, stretches: Sequence[tuple[int, int]], most: int = _MAX_PLACES
    ) -> list[tuple[int, int]]:
        """Return the ranges of a variant's words, at most `most` in each stretch."""
        if len(variant) == 1:
            return self._places(variant[0], stretches, most)
        around = _around(self._starts(_needles(variant), stretches, most), _MAX_VARIANT_CHARACTERS)
        return self._chains([self._places(term, around, most) for term in variant])

    def _chains(self, places: list[list[tuple[int, int]]]) -> list[tuple[int, int]]:
        """Return the ranges in which the terms follow each other without a word between them."""
        chains = places[0]
        for following in places[1:]:
            chains = [
                (start, max(end, next_end))
                for start, end in chains
                for next_start, next_end in _from(following, start)
                if (next_end > end or next_start >= start) and self._is_gap(end, next_start)
            ]
        return sorted(set(chains))

    def _is_gap(self, start: int, end: int) -> bool:
        return end - start <= _MAX_GAP and not _LETTER.search(self._text, start, max(start, end))

    def _places_of(self, needles: _Needles) -> list[int]:
        """Return the first places of the needles, up to one more than _MAX_PLACES."""
        known = self._first.get(needles)
        if known is None:
            known = self._first[needles] = self._search(needles)
        return known

    def _search(self, needles: _Needles) -> list[int]:
        if (spelled := _spelled_term(needles)) is not None:
            return [start for start, _ in self._spelled.get(spelled, ())][: _MAX_PLACES + 1]
        if any(needle not in self._folded for needle in needles):
            return []
        return list(islice(self._searched(needles, 0, len(self._text)), _MAX_PLACES + 1))

    def _starts(self, needles: _Needles, stretches: Sequence[tuple[int, int]], most: int = _MAX_PLACES) -> list[int]:
        """Return the first places of the needles in each stretch."""
        if stretches == [(0, len(self._text))] and most == _MAX_PLACES:
            return self._places_of(needles)[:_MAX_PLACES]
        return [place for low, high in stretches for place in islice(self._occurrences(needles, low, high), most)]

    def _occurrences(self, needles: _Needles, low: int, high: int) -> Iterable[int]:
        """Return the places of the needles where a word or a part of a word may begin."""
        known = self._first.get(needles)
        if known is None or len(known) > _MAX_PLACES:
            return self._searched(needles, low, high)
        return known[bisect_left(known, low) : bisect_right(known, high - len(needles[0]))]

    def _searched(self, needles: _Needles, low: int, high: int) -> Iterator[int]:
        if (spelled := _spelled_term(needles)) is not None:
            yield from (start for start, _ in self._spelled.get(spelled, ()) if low <= start < high)
        elif len(needles) > 1:
            matches = _pattern(needles).finditer(self._folded, low, high)
            yield from (match.start() for match in matches if self._may_begin(match.start()))
        else:
            find, needle = self._folded.find, needles[0]
            at = find(needle, low, high)
            while at >= 0:
                if self._may_begin(at):
                    yield at
                at = find(needle, at + 1, high)

    def _may_begin(self, at: int) -> bool:
        """Return whether a word or a part of a word may begin at this place."""
        text = self._text
        return self._strips_prefixes or not (at and text[at - 1].islower() and text[at].islower())

    def _places(
        self, term: str, stretches: Sequence[tuple[int, int]], most: int = _MAX_PLACES
    ) -> list[tuple[int, int]]:
        if len(stretches) == 1:
            return list(islice(self._words(term, *stretches[0]), most))
        places = {place for low, high in stretches for place in islice(self._words(term, low, high), most)}
        return sorted(places)

    def _words(self, term: str, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Yield the words that have the term; in unspaced scripts, yield the places of its characters."""
        needle = _needle(term)
        after = low
        for position in self._occurrences((needle,), low, high):
            if position >= after:
                start, after, is_word = self._word(term, position, position + len(needle))
                if is_word:
                    yield start, after

    def _word(self, term: str, start: int, end: int) -> tuple[int, int, bool]:
        """Return the word around a needle, and whether it has the term."""
        if term.endswith(SPELLED):
            return start, dict(self._spelled.get(term, ())).get(start, end), True
        if _is_unspaced(term):
            return start, end, True
        known = self._around.get(start)  # each place is examined several times
        if known is None or known[1] < end:
            low, high = _word_around(self._text, start, end)
            known = self._around[start] = low, high, self._terms_at(low, high)
        start, end, terms = known
        return start, end, _is_among(term, terms)

    def _terms_at(self, start: int, end: int) -> frozenset[str]:
        """Return the terms of a word. The terms of a name depend on its neighbours, and on whether it is in a fence."""
        word = self._text[start:end]
        if not is_name(word):
            return _terms_of(word, self._terms, self.analyzers)
        low, high = max(start - _MAX_WORD_CHARACTERS, 0), end + _MAX_WORD_CHARACTERS
        beside = _BEFORE.search(self._text, low, start), _AFTER.match(self._text, end, high)
        token = word.join(found[0] if found else "" for found in beside)
        is_code = self._text.count(FENCE, 0, start) % 2 == 1
        readers = (analyzer.for_code if is_code else analyzer for analyzer in self.analyzers)
        return frozenset((as_written(visible(word)), *" ".join(each.stream(token) for each in readers).split()))


def _terms_of(word: str, known: Cache[str, frozenset[str]], analyzers: Sequence[Analyzer]) -> frozenset[str]:
    """Return the terms that a word has in any of the languages. `known`: their cache."""
    terms = known.get(word)
    if terms is None:
        found = (term for a in analyzers for term in " ".join(a.terms_of(visible(word))).split())
        terms = known.keep(word, frozenset((as_written(visible(word)), *found)))
    return terms


@lru_cache(_LANGUAGE_SETS)
def _known_terms(_analyzers: tuple[tuple[str, bool], ...]) -> Cache[str, frozenset[str]]:
    """Return the cache of the terms of words in these languages, which all threads share: texts repeat their words."""
    return Cache()


def numbered(query_terms: Sequence[Sequence[TermVariant]]) -> list[tuple[TermVariant, int]]:
    return [
        (variant, ~number if variant[0][0] == AS_WRITTEN else number)
        for number, word in enumerate(query_terms)
        for variant in word
    ]


def _stems(query_terms: Sequence[Sequence[TermVariant]]) -> list[tuple[TermVariant, int]]:
    """Do as `numbered`, without words as written: their places are also places of their stems."""
    return [numbered for numbered in numbered(query_terms) if numbered[1] >= 0]


def _is_among(term: str, terms: frozenset[str]) -> bool:
    if term.endswith(ANY_ENDING):
        return any(each.startswith(term.removesuffix(ANY_ENDING)) for each in terms)
    return term in terms


_is_unspaced = Computed(is_unspaced).__getitem__


def _needle_of(term: str) -> str:
    """Return the substring of every word with that stem ("studi" is the stem of "study", "use" of "using")."""
    if term.endswith(ANY_ENDING) or term.startswith(AS_WRITTEN):
        return term.removesuffix(ANY_ENDING).removeprefix(AS_WRITTEN)
    may_end_otherwise = len(term) > 3 or (len(term) == 3 and term[-1] in "ei")
    return term[:-1] if may_end_otherwise and term.isalpha() and not _is_unspaced(term) else term


_needle = Computed(_needle_of).__getitem__


def _needles_of(variant: TermVariant) -> _Needles:
    """Return the needle of each term. The pairs of an unspaced run overlap, so they are one needle."""
    if all(map(_is_unspaced, variant)):
        return (variant[0] + "".join(term[1:] for term in variant[1:]),)
    return tuple(map(_needle, variant))


_needles = Computed(_needles_of).__getitem__


def _spelled_term(needles: _Needles) -> str | None:
    """Return the term of a spelling, if it is one. The text does not contain such a term."""
    return needles[0] if len(needles) == 1 and needles[0].endswith(SPELLED) else None


def _pattern_of(needles: _Needles) -> re.Pattern[str]:
    """Return a pattern for the first needle, followed by the others in order. Between needles it allows the ends of
    words and the gaps between words."""
    between = rf"\S{{0,{_MAX_WORD_CHARACTERS}}}?[\W_]{{0,{_MAX_GAP}}}?"
    first, *others = map(re.escape, needles)
    return re.compile(f"{first}(?={between}{between.join(others)})")


_pattern = Computed(_pattern_of).__getitem__


def joined_ranges(ranges: Iterable[tuple[int, int]], *, touching: bool = True) -> list[tuple[int, int]]:
    """Return the ranges in order. Merges ranges that overlap and, if `touching`, ranges that touch."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and (start < found[-1][1] or (touching and start == found[-1][1])):
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _around(places: Iterable[int], reach: int) -> list[tuple[int, int]]:
    """Return the ranges around places."""
    return joined_ranges((max(place - reach, 0), place + reach) for place in places)


def _from(places: Sequence[tuple[int, int]], start: int) -> Sequence[tuple[int, int]]:
    at = bisect_left(places, (start, 0))
    return places[at : at + _MAX_IN_WORD]


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    first = max(start - _MAX_WORD_CHARACTERS, 0)
    while start > first and ((before := text[start - 1]).isalnum() or _is_combining(before)):
        start -= 1
    rest = word_rest().match(text, end, end + _MAX_WORD_CHARACTERS)
    end = rest.end() if rest else end
    return start, end


def _is_combining(character: str) -> bool:
    return not character.isascii() and (character == FILL or unicodedata.category(character)[0] == "M")


def worth_of(words: Iterable[int], counts: Mapping[int, int] | Sequence[int]) -> float:
    """Return the worth of words in one place. `words`: their numbers in marks. `counts`: how often each is in the
    text."""
    return round(sum(_worth(word, counts[max(word, ~word)]) for word in words), _DIGITS)


def _worth(word: int, count: int) -> float:
    return (1 if word >= 0 else _WRITTEN_SHARE) / log(2 + count)


def best_window(marks: list[Mark], size: int = WINDOW_CHARACTERS) -> list[Mark]:
    """Return the marks in the best stretch of this size, in order. The best stretch has most different words; rare
    words of this text count more. Among equals, the first is best, unless the words of a later one are much closer
    together."""
    counts = Counter(map(_TERM, marks))
    worth = {term: _worth(term, count + counts.get(~term, 0)) for term, count in counts.items()}
    best, best_score, best_length = marks[:1], 0.0, 0
    inside: dict[int, int] = dict.fromkeys(worth, 0)
    first, score = 0, 0.0
    start, _, first_number = marks[0] if marks else (0, 0, 0)
    for last, (_, end, number) in enumerate(marks):
        inside[number] += 1
        if inside[number] == 1:
            score += worth[number]
        # Shrink to the size, and then to the marks that are needed.
        while first < last and (start < end - size or inside[first_number] > 1):
            inside[first_number] -= 1
            if not inside[first_number]:
                score -= worth[first_number]
            first += 1
            start, _, first_number = marks[first]
        length = end - start
        gain = score - best_score
        if gain > _SAME or (gain > -_SAME and length < best_length - size // 4):
            best, best_score, best_length = marks[first : last + 1], score, length
    return best
