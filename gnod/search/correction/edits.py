"""The words that one slip of typing, writing or scanning turns into a given word. Pure.

Each has a cost: the less likely the slip, the higher. Neighbouring keys, doubled letters, swapped letters, confusions
of text recognition and missing accents are likelier than other replacements.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from gnod.analysis.stemming import fold

SWAPPED, DOUBLED, NEIGHBOUR, LOOKALIKE, ACCENT = 0.6, 0.5, 0.7, 0.6, 0.2
MISSING, ADDED, REPLACED = 0.8, 0.9, 1.0
# The extra cost of a slip in the first letter, which is rare.
AT_START = 0.4

_LATIN = "abcdefghijklmnopqrstuvwxyz"
_ACCENTS: dict[str, str] = {}
for _letter in "àáâäãåçèéêëìíîïñòóôöõøùúûüý":
    _ACCENTS[fold(_letter)] = _ACCENTS.get(fold(_letter), "") + _letter
# Rows of keyboards. A key's neighbours are left, right, above and below it.
_KEYBOARDS = (("qwertyuiop", "asdfghjkl", "zxcvbnm"), ("qwertzuiop", "asdfghjkl", "yxcvbnm"))
_LOOKALIKES = (
    *(("rn", "m"), ("cl", "d"), ("vv", "w"), ("ii", "u"), ("li", "h"), ("nn", "m")),
    *(("l", "i"), ("c", "e"), ("e", "c"), ("i", "l"), ("i", "j"), ("u", "v"), ("v", "u"), ("t", "f"), ("f", "t")),
    *(("0", "o"), ("1", "l"), ("1", "i"), ("5", "s")),
)
_SPELT_OUT = (("ae", "ä"), ("oe", "ö"), ("ue", "ü"), ("ss", "ß"))


def one_edit(word: str) -> dict[str, float]:
    """Return the words at a distance of one edit, with the lowest cost of each.

    >>> found = one_edit("certifcate")
    >>> found["certificate"], "certificates" in found
    (0.8, False)
    """
    found: dict[str, float] = {}
    for place, cost, other in _edits(word, _letters_like(word)):
        cost += AT_START * (place == 0)
        if other != word and cost < found.get(other, 9.0):
            found[other] = round(cost, 2)
    return found


def _edits(word: str, letters: str) -> Iterator[tuple[int, float, str]]:
    yield from _confusions(word)
    for place, letter in enumerate(word):
        head, tail = word[:place], word[place + 1 :]
        is_double = head[-1:] == letter
        is_slip = any(each in _neighbours(letter) for each in (*head[-1:], *tail[:1]))
        yield place, DOUBLED if is_double else NEIGHBOUR if is_slip else ADDED, head + tail
        if tail and tail[0] != letter:
            yield place, SWAPPED, head + tail[0] + letter + tail[1:]
        for other in letters:
            yield place, NEIGHBOUR if other in _neighbours(letter) else REPLACED, head + other + tail
        for other in _ACCENTS.get(letter, ""):
            yield place, ACCENT, head + other + tail
    for place in range(len(word) + 1):
        around = word[max(place - 1, 0) : place + 1]
        for other in letters:
            yield place, DOUBLED if other in around else MISSING, word[:place] + other + word[place:]


def _confusions(word: str) -> Iterator[tuple[int, float, str]]:
    for pairs, cost in ((_LOOKALIKES, LOOKALIKE), (_SPELT_OUT, ACCENT)):
        for one, other in pairs:
            for written, meant in ((one, other), (other, one)):
                place = -1 if meant.isdigit() else word.find(written)
                while place >= 0:
                    yield place, cost, word[:place] + meant + word[place + len(written) :]
                    place = word.find(written, place + 1)


def _letters_like(word: str) -> str:
    """Return the alphabet of a word's script."""
    if word.isascii():
        return _LATIN
    letter = next(each for each in word if not each.isascii())
    name = unicodedata.name(letter, "").split(" ")[0]
    if name == "LATIN":
        return "".join(dict.fromkeys(_LATIN + word))
    return _SCRIPTS.get(name, "") + word


def _script(first: int, last: int) -> str:
    return "".join(chr(code) for code in range(first, last + 1) if chr(code).isalpha())


_SCRIPTS = {
    "CYRILLIC": _script(0x430, 0x45F),
    "GREEK": _script(0x3AC, 0x3CE),
    "HEBREW": _script(0x5D0, 0x5EA),
    "ARABIC": _script(0x621, 0x64A),
    "DEVANAGARI": _script(0x904, 0x939) + "".join(map(chr, range(0x93E, 0x94E))),
}


def _keys() -> dict[str, str]:
    near: dict[str, set[str]] = {}
    for rows in _KEYBOARDS:
        for row, keys in enumerate(rows):
            for column, key in enumerate(keys):
                beside = {keys[i] for i in (column - 1, column + 1) if 0 <= i < len(keys)}
                for other in (row - 1, row + 1):
                    if 0 <= other < len(rows):
                        shift = 0 if other > row else 1
                        places = (column - 1 + shift, column + shift)
                        beside |= {rows[other][i] for i in places if 0 <= i < len(rows[other])}
                near.setdefault(key, set()).update(beside)
    return {key: "".join(sorted(beside)) for key, beside in near.items()}


_NEIGHBOURS = _keys()


def _neighbours(letter: str) -> str:
    return _NEIGHBOURS.get(letter, "")
