"""Widen one unit of a text to a passage that can be read by itself: a paragraph, a list item, a table row, or a block
of code. Pure.

A passage is a range of the text. A passage that is too long is cut between units, around the requested one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gnod.search.passages.sentences import TextUnit, is_item_mark
from gnod.types import estimated_tokens

# A longer paragraph, item or block of code is cut around the unit.
MAX_TOKENS = 120


class Range(NamedTuple):
    """`text[start:end]`. `lead`: the range of the table's header, or of the line that introduces the list; empty
    without one."""

    start: int
    end: int
    heading: str
    lead: tuple[int, int]


def around(text: str, units: Sequence[TextUnit], at: int, max_tokens: int = MAX_TOKENS) -> Range:
    """Return the passage around `units[at]`. It exceeds `max_tokens` only if the unit alone does."""
    unit = units[at]
    for first, last in _candidates(text, units, at):
        start, end = _trimmed(text, units[first], units[last])
        if estimated_tokens(text[start:end]) <= max_tokens:
            return _range(text, unit, start, end)
    first, last = _grown(text, units, *_candidates(text, units, at)[-1], at, max_tokens)
    return _range(text, unit, *_trimmed(text, units[first], units[last]))


def alone(text: str, unit: TextUnit) -> Range:
    """Return the passage of a unit without its surroundings."""
    return _range(text, unit, *_trimmed(text, unit, unit))


def _range(text: str, unit: TextUnit, start: int, end: int) -> Range:
    """Return the range, with the whole lines of the lead if the lead is above the passage."""
    low, high = unit.lead
    if high == 0 or high > start:
        return Range(start, end, unit.heading, (0, 0))
    if unit.kind == "row":
        low, high = text.rfind("\n", 0, low) + 1, _end_of_line(text, high)
    return Range(start, end, unit.heading, (low, high))


def _candidates(text: str, units: Sequence[TextUnit], at: int) -> list[tuple[int, int]]:
    """Return the possible passages, largest first, as the indices of their first and last unit."""
    unit = units[at]
    if unit.kind == "row":
        return [(at, at)]
    if unit.kind == "item":
        first = _reach(units, at, -1, lambda n: _is_same(units[n], unit) and not _begins_item(text, units[n + 1]))
        return [(first, _reach(units, at, 1, lambda n: _is_same(units[n], unit) and not _begins_item(text, units[n])))]
    block = _span(units, at, lambda n: _is_same(units[n], unit))
    if unit.kind == "line":
        return [_span(units, at, lambda n: _is_same_code(text, units, n, unit)), block]
    return [block]


def _span(units: Sequence[TextUnit], at: int, belongs: Callable[[int], bool]) -> tuple[int, int]:
    return _reach(units, at, -1, belongs), _reach(units, at, 1, belongs)


def _reach(units: Sequence[TextUnit], at: int, step: int, belongs: Callable[[int], bool]) -> int:
    """Return the last index in this direction up to which all units are in the same block as `units[at]`."""
    while 0 <= at + step < len(units) and belongs(at + step):
        at += step
    return at


def _is_same(one: TextUnit, other: TextUnit) -> bool:
    return (one.block, one.kind, one.heading) == (other.block, other.kind, other.heading)


def _is_same_code(text: str, units: Sequence[TextUnit], n: int, unit: TextUnit) -> bool:
    """Return whether a line is in the same block of code. Only blank lines may be in between."""
    one = units[n]
    if (one.kind, one.heading) != (unit.kind, unit.heading):
        return False
    low, high = (one.end, units[n + 1].start) if one.start < unit.start else (units[n - 1].end, one.start)
    between = text[low:high]
    return "```" not in between and "~~~" not in between and "\n---" not in between


def _begins_item(text: str, unit: TextUnit) -> bool:
    return is_item_mark(text[text.rfind("\n", 0, unit.start) + 1 : unit.start])


def _grown(text: str, units: Sequence[TextUnit], low: int, high: int, at: int, max_tokens: int) -> tuple[int, int]:
    """Add units on both sides, the following one first, within `low` to `high`, as long as the passage fits."""
    first = last = at
    grows = True
    while grows:
        grows = False
        for new_first, new_last in ((first, last + 1), (first - 1, last)):
            if low <= new_first and new_last <= high:
                start, end = _trimmed(text, units[new_first], units[new_last])
                if estimated_tokens(text[start:end]) <= max_tokens:
                    first, last, grows = new_first, new_last, True
                    break
    return first, last


def _trimmed(text: str, first: TextUnit, last: TextUnit) -> tuple[int, int]:
    """Return the range of units, including markup at the beginning of the first line and the end of the last."""
    start, end = first.start, last.end
    line = text.rfind("\n", 0, start) + 1
    if first.kind in ("row", "line") or _is_markup(text[line:start]):
        start = line
    if last.kind in ("row", "line") or _is_markup(text[end : _end_of_line(text, end)]):
        end = _end_of_line(text, end)
    return start, end


def _is_markup(text: str) -> bool:
    return is_item_mark(text) or not any(map(str.isalnum, text))


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
