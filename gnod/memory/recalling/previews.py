"""The text of a memory in a list of results: its beginning, or all of it. Pure."""

from __future__ import annotations

from typing import NamedTuple

PREVIEW_CHARACTERS = 240
# Results with such scores are shown whole, because readers open them in any case.
_WHOLE_ABOVE = 0.80
_WHOLE_BELOW_CHARACTERS = 2048
_ELLIPSIS = "…"


class MemoryPreview(NamedTuple):
    """`complete`: nothing was left out."""

    text: str
    complete: bool


def preview(text: str, score: float, rank: int, whole: int) -> MemoryPreview:
    """Return the text to show of the memory at `rank` (from 0); the first `whole` may be shown whole.

    >>> preview("one two three " * 30, 0.81, 0, 3).complete, preview("one two three " * 30, 0.80, 0, 3).complete
    (True, False)
    """
    if rank < whole and score > _WHOLE_ABOVE and len(text) < _WHOLE_BELOW_CHARACTERS:
        return MemoryPreview(text, complete=True)
    if len(text) <= PREVIEW_CHARACTERS:
        return MemoryPreview(text, complete=True)
    room = PREVIEW_CHARACTERS - len(_ELLIPSIS)
    head = text[:room]
    if not text[room].isspace():
        head = _whole_words(head)
    return MemoryPreview(head.rstrip() + _ELLIPSIS, complete=False)


def _whole_words(head: str) -> str:
    """Drop the word that was cut, unless it is most of the text."""
    words = head.rsplit(None, 1)
    return words[0] if len(words) == 2 and len(words[0]) > len(head) // 2 else head
