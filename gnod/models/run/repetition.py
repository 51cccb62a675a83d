"""Detects when a model repeats itself endlessly, as small models do. Pure; works for all scripts."""

from __future__ import annotations

import re

# In a loop, a text with a letter or a digit occurs at least this often in a row, with at least this many characters in
# total. Three equal rows of a small table are shorter; a line of dashes has no letter.
REPEATS = 3
CHARACTERS = 60
# Examine only this many characters at the end, so that the check costs the same after every token.
REACH = 1500

# A list may number its items while it repeats them.
_MARKER = re.compile(r"(?m)^[ \t]*(?:\d{1,4}[.)]|[-*+•])[ \t]+")
_SPACE = re.compile(r"\s+")


def repetition_start(text: str) -> int | None:
    r"""If the end of `text` is one text repeated, return where its second copy begins; otherwise None. White space,
    case, and the numbers of list items make no difference.

    >>> repetition_start("sysctl net.core.rmem_max\n" * 4)
    25
    >>> repetition_start("The same. The same.") is None
    True
    """
    start = max(len(text) - REACH, 0)
    plain, places = _plain(text[start:])
    for period in range(1, len(plain) // REPEATS + 1):
        if plain[-period:] != plain[-2 * period : -period]:
            continue
        first = len(plain) - period
        while first > 0 and plain[first - 1] == plain[first - 1 + period]:
            first -= 1
        repeated = len(plain) - first
        if repeated >= max(REPEATS * period, CHARACTERS) and any(map(str.isalnum, plain[-period:])):
            return start + places[first + period]
    return None


def _plain(text: str) -> tuple[str, list[int]]:
    """Return the text in the form that is compared, and the index in `text` of each of its characters."""
    marked = _MARKER.sub(lambda match: " " * len(match[0]), text)
    shown: list[str] = []
    places: list[int] = []
    for match in re.finditer(r"\s+|\S", marked):
        # Lower-casing turns some letters into two.
        lower = " " if _SPACE.match(match[0]) else match[0].lower()
        shown.append(lower)
        places += [match.start()] * len(lower)
    return "".join(shown).rstrip(), places
