"""Notice when a model repeats itself without end, as small models do. Pure, for all scripts."""

from __future__ import annotations

import re

# In a loop, the same text with a letter or a digit comes at least this often in a row, and is at least this long
# altogether. Three equal rows of a small table are shorter; a line of dashes has no letter.
REPEATS = 3
CHARACTERS = 60
# Examine only this much of the end, so that the check costs the same after every token.
REACH = 1500

# A list may count its items while it repeats them.
_MARKER = re.compile(r"(?m)^[ \t]*(?:\d{1,4}[.)]|[-*+•])[ \t]+")
_SPACE = re.compile(r"\s+")


def repetition_start(text: str) -> int | None:
    r"""Return where the second copy of a text begins that is repeated up to the end of `text`; None if it does not
    repeat itself. White space, case, and the numbers of list items make no difference.

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
    """Return the text as it is compared, and the place in `text` of each of its characters."""
    marked = _MARKER.sub(lambda match: " " * len(match[0]), text)
    shown: list[str] = []
    places: list[int] = []
    for match in re.finditer(r"\s+|\S", marked):
        # Some letters become two in lower case.
        lower = " " if _SPACE.match(match[0]) else match[0].lower()
        shown.append(lower)
        places += [match.start()] * len(lower)
    return "".join(shown).rstrip(), places
