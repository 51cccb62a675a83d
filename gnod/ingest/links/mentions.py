"""Find mentions: names of documents in a text without a link. Pure; must not depend on the index.

A name matches whole words and ignores case; a hyphen, an underscore and a space are equal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gnod.analysis import stopwords
from gnod.analysis.markup import head_end
from gnod.analysis.terms import is_unspaced
from gnod.ingest.links.finding import masked
from gnod.ingest.links.markdown import fenced, without_code
from gnod.ingest.text.outline import outline

MOST_NAMES = 20
_MIN_CHARACTERS, _MAX_CHARACTERS = 3, 200
_SPACE = re.compile(r"[\s_-]+")
_BETWEEN = r"(?:[ \t_-]{1,3}|[ \t]*\n[ \t]*)"
_OF_FOLDERS = frozenset({"index", "readme", "untitled", "main", "notes", "todo"})


class FoundName(NamedTuple):
    """A range of the text, and the name that it matches."""

    start: int
    end: int
    name: str


def names(title: str, stem: str, aliases: Iterable[str]) -> list[str]:
    """Return the distinct names that identify a document in a text. `stem`: its file name without the extension.

    >>> names("Sailing boat", "sailing-boat", ["SB-7", "the", "ab"]), names("Plan", "2024-01-07", [])
    (['Sailing boat', 'SB-7'], ['Plan'])
    """
    given = [title, *([stem] if _is_phrase(stem) else []), *aliases]
    by_words = {_words(name).casefold(): " ".join(name.split()) for name in reversed(given) if _is_name(name)}
    return list(reversed(by_words.values()))[:MOST_NAMES]


class NameFinder:
    """Finds a set of names in texts. If several names match at one place, it finds the longest."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {_words(name).casefold(): name for name in names}
        longest_first = sorted((_words(name) for name in names), key=len, reverse=True)
        spaced = (_BETWEEN.join(map(re.escape, name.split(" "))) for name in longest_first)
        self._pattern = re.compile("|".join(spaced), re.IGNORECASE)

    def find(self, text: str, links: Iterable[tuple[int, int]], *, is_markdown: bool) -> Iterator[FoundName]:
        """Yield the mentions in a canonical text, in order. `links`: the ranges of links in it."""
        if self._pattern.search(text) is None:
            return
        text = masked(text, [(0, head_end(text)), *links])
        if is_markdown and self._pattern.search(text):
            text = without_code(text, fenced(text, outline(text)))
        for match in self._pattern.finditer(text):
            if _is_whole(text, *match.span()):
                found = _words(match[0])
                yield FoundName(*match.span(), self._names.get(found.casefold(), found))


def _words(name: str) -> str:
    return _SPACE.sub(" ", unicodedata.normalize("NFC", name)).strip()


def _is_name(name: str) -> bool:
    words = _words(name)
    is_stop_word = any(words.lower() in stopwords.of(language) for language in stopwords.LANGUAGES)
    length = len(words) + sum(map(is_unspaced, words))  # a Chinese character carries more meaning
    return _MIN_CHARACTERS <= length <= _MAX_CHARACTERS and any(map(str.isalpha, words)) and not is_stop_word


def _is_phrase(stem: str) -> bool:
    """Return whether a file name consists of words, and is not a date, hash or number."""
    words = _words(stem).split(" ")
    return stem.lower() not in _OF_FOLDERS and all(word.isalpha() for word in words) and len(words) <= 8


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether a range is not a part of longer words."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (_joins(before, text[start]) or _joins(after, text[end - 1]))


def _joins(neighbour: str, edge: str) -> bool:
    return neighbour != "" and _is_of_a_word(neighbour) and _is_of_a_word(edge) and not is_unspaced(edge)


def _is_of_a_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"
