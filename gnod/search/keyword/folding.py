"""Fold a text for substring search: lower case, without diacritics, invisible characters or full-width letters.

gnod.analysis changes the letters of terms. This module makes the same changes in the text, so that the terms are found
in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from gnod.analysis.stemming import RESPELLED, fold, normalise
from gnod.analysis.terms import IRREGULAR, IRREGULAR_CHARACTERS, regular, simplified, visible

# Letters that folding replaces by one letter: letters with diacritics, and interchangeable Arabic letters.
_LETTERS = (0xB5, *range(0xC0, 0x250), *range(0x370, 0x530), *range(0x620, 0x6D6), *range(0x1E00, 0x2000))
_WIDE = range(0xFF10, 0xFF5B)
# A place for the second letter if folding replaces a letter by two. The analyser removes it.
FILL = "\u200b"
_TWO_LETTERS = "ßæœþ"
# Ligatures, and letters of several characters.
_SEVERAL_CHARACTERS = "ßẞæÆœŒþÞ\u0132\u0133\u0587\u01c4-\u01cc\u01f1-\u01f3\ufb00-\ufb17\uff66-\uff9f"
_COMBINING_CHARACTERS = "\u0300-\u036f\u3099\u309a"
_COMBINING = re.compile(f"[{_COMBINING_CHARACTERS}]")
_SEVERAL = (
    "[ßẞæÆœŒþÞ\u0132\u0133\u0587\u01c4-\u01cc\u01f1-\u01f3\ufb00-\ufb17]"
    f"|[^\\W\\d_][{_COMBINING_CHARACTERS}]+|[\uff66-\uff9f][\uff9e\uff9f]?"
)
_ASCII = bytes(range(128))
# If there are more letters, translate the text instead.
_FEW = 30
# A text with more different letters beyond ASCII is mostly in another script.
_FEW_BEYOND_ASCII = 12


class PlainText:
    """A text for term search. `text`: without invisible characters. `folded`: the folded text, of the same length.
    `language`: if given, its letters are normalised to one spelling."""

    def __init__(self, original: str, language: str | None = None) -> None:
        # The starts of the stretches that are equal in both texts, here and in the original.
        self._here, self._there = [0], [0]
        respelled = RESPELLED.get(language or "", {})
        letters = not_ascii(original)
        irregular = _changed_letter().findall("".join(letters))
        one = {letter: form for letter in irregular if len(form := visible(letter)) == 1 and form != letter}
        self.text = _replaced(original, one)
        if respelled or len(one) < len(irregular):
            self.text = self._changed(self.text, [each for each in irregular if each not in one], respelled)
        self.folded = fold_in_place(self.text, letters if self.text is original else None)

    @property
    def is_moved(self) -> bool:
        """Whether positions differ from those in the original text."""
        return len(self._here) > 1

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the range in the original text. A part of a replaced character becomes the whole character."""
        first, last = (_moved(position, self._here, self._there) for position in (start, end))
        return min(first, last - 1), last

    def here(self, position: int) -> int:
        """Return the position here for a position in the original text."""
        return _moved(position, self._there, self._here)

    def _changed(self, original: str, letters: Sequence[str], respelled: Mapping[str, str]) -> str:
        """Replace letters by strings of other lengths. `letters`: the irregular characters of the text."""
        parts: list[str] = []
        end = length = 0
        for found in _found(original, letters, "|".join(respelled)):
            if found["respelled"]:
                new = respelled[found[0].lower()]
            else:
                new = _in_full(found[0]) if found["several"] else regular(found)
            parts += (original[end : found.start()], new)
            length += found.start() - end + len(new)
            end = found.end()
            if len(new) != len(found[0]):
                self._here.append(length)
                self._there.append(end)
        return "".join([*parts, original[end:]])


def fold_in_place(text: str, letters: set[str] | None = None) -> str:
    """Return the text in lower case and without diacritics, in the same length. `letters`: its letters beyond ASCII.

    >>> fold_in_place("Žluťoučký KŮŇ")
    'zlutoucky kun'
    """
    if text.isascii():
        return text.lower()
    letters, known = not_ascii(text) if letters is None else letters, _one_letter()
    if len(letters) > _FEW_BEYOND_ASCII:
        lowered, letters = _lower(text), set(map(_lower, letters))
    else:  # lower() takes a fifth of the time for bytes
        lowered = text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    forms = {letter: known.get(_lower(letter), _lower(letter)) for letter in letters}
    folded = _replaced(lowered, {letter: form for letter, form in forms.items() if form != letter})
    for letter in _TWO_LETTERS if FILL in folded else "":
        if letter in folded:  # a search for one character takes a fiftieth of the time
            folded = folded.replace(letter + FILL, fold(letter))
    return folded


def not_ascii(text: str) -> set[str]:
    """Return the characters beyond ASCII of a text. A check of each character takes ten times as long."""
    if text.isascii():
        return set()
    return set(text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass"))


def _replaced(text: str, letters: Mapping[str, str]) -> str:
    """Replace the letters in the text. Most texts have few of them: a search for each takes a tenth of the time of a
    translation of the whole text."""
    if len(letters) > _FEW or not letters.keys().isdisjoint(letters.values()):
        return text.translate({ord(letter): other for letter, other in letters.items()})
    for letter, other in letters.items():
        text = text.replace(letter, other)
    return text


def _found(text: str, letters: Sequence[str], respelled: str) -> Iterator[re.Match[str]]:
    """Yield the matches to replace, at the places of the letters and digraphs."""
    irregular, end = _irregular(respelled), 0
    if respelled:
        letter = f"[{''.join(letters)}]" if letters else "(?!)"
        candidates = [found.start() for found in re.finditer(f"{letter}|(?i:{respelled})", text)]
    else:  # a pattern takes ten times as long to find rare letters
        candidates = sorted(place for letter in letters for place in _places(letter, text))
    for start in candidates:
        # A combining character follows its letter.
        for place in (start - 1, start) if _COMBINING.match(text, start) else (start,):
            if place >= end and (found := irregular.match(text, place)) and found.end() > start:
                yield found
                end = found.end()
                break


def _places(letter: str, text: str) -> Iterator[int]:
    at = text.find(letter)
    while at >= 0:
        yield at
        at = text.find(letter, at + 1)


@cache
def _changed_letter() -> re.Pattern[str]:
    """Return the pattern of the characters to replace."""
    return re.compile(f"[{IRREGULAR_CHARACTERS}{_SEVERAL_CHARACTERS}{_COMBINING_CHARACTERS}]")


@cache
def _irregular(respelled: str) -> re.Pattern[str]:
    respelled = f"(?i:(?<!q)(?:{respelled}))" if respelled else "(?!)"
    return re.compile(f"{IRREGULAR}|(?P<several>{_SEVERAL})|(?P<respelled>{respelled})")


@cache
def _one_letter() -> dict[str, str]:
    """Return the folded letters, for letters that fold to one letter."""
    letters = map(chr, (*_LETTERS, *_WIDE))
    folded = {letter: form for letter in letters if len(form := fold(normalise(letter))) == 1 and form != letter}
    return folded | {chr(code): chr(simple) for code, simple in simplified().items()}


def _in_full(letters: str) -> str:
    form = normalise(letters)
    return f"{form}{FILL}" if form in _TWO_LETTERS else form


def _moved(position: int, starts: list[int], others: list[int]) -> int:
    number = bisect_right(starts, position) - 1
    moved = others[number] + position - starts[number]
    return min(moved, others[number + 1]) if number + 1 < len(others) else moved


def _lower(text: str) -> str:
    """Return the text in lower case, in the same length: "İ" would become two characters."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := each.lower()) == 1 else each for each in text)
