"""Cut a snippet around a place of a text: whole sentences, items, rows or lines if they fit, without lines of markup.
Pure.

A snippet has a heading or a table header only together with text below it, unless the heading itself matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gnod.analysis.markup import head_end
from gnod.search.passages import sentences

SNIPPET_CHARACTERS = 280
SNIPPET_LINES = 4
# Read the text around the place as far as a snippet can reach, and then to the end of the line if it is within this
# distance.
_LONGEST_LINE = 600

_LINE = re.compile(r"[^\n]+")
_LINE_ENDS = re.compile(r"\n\s*")
# A fence, a comment, or a directive of reStructuredText. A line without letters and digits is also markup.
_MARKUP = re.compile(r"\s*(?:`{3,}[^`\n]*|~{3,}.*|<!--(?:(?!-->).)*(?:-->)?|\.\.\s+[\w:-]+::.*)\s*\Z")
_MARKS = frozenset("`~<.")
_WORD = re.compile(r"[^\W_]")
_FENCE = "\n```"
_INTRODUCES = ":："
_ENDS = ".!?…。！？|:"
# A longer unit may be a sentence that was cut.
_CUT = sentences.MAX_CHARACTERS // 2


class _SnippetPart(NamedTuple):
    """`text[start:end]`: a sentence, an item, a row or a line. `is_head`: it introduces the parts below it."""

    start: int
    end: int
    is_head: bool = False


def around(text: str, start: int, end: int, within: tuple[int, int] | None = None) -> tuple[int, int]:
    """Return the range of a snippet that contains `text[start:end]`, and no sentences outside `within`."""
    if start < (head := head_end(text)):
        return _of_head(text, head, start, end)
    low, high = _region(text, head, start, end)
    if within:
        low, high = max(low, within[0]), min(high, max(within[1], end))
    parts = _parts(text, low, high, start, end)
    inside = [n for n, part in enumerate(parts) if part.start < end and start < part.end]
    if not inside:  # the text is only markup
        return _cut(text, start, end, start, end)
    first, last = _grown(text, parts, inside[0], inside[-1])
    return _cut(text, parts[first].start, parts[last].end, start, end)


def opening(text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """Return the range of the first text after `start` that is neither front matter nor a heading; without such text,
    of any text."""
    low = max(head_end(text), start)
    if parts := _parts(text, low, _end_of_line(text, min(low + 2 * _LONGEST_LINE, len(text) if end is None else end))):
        first = next((n for n, part in enumerate(parts) if not part.is_head or _is_table(text, part)), 0)
        _, last = _grown(text, parts, first, first, grows_up=False)
        return _cut(text, parts[first].start, parts[last].end, parts[first].start, parts[first].start + 1)
    found = _WORD.search(text, 0, low)
    return _of_head(text, low, found.start(), found.end()) if found else (0, 0)


def _of_head(text: str, head: int, start: int, end: int) -> tuple[int, int]:
    """Return as many whole lines of the front matter around a place as fit. They are shown as one line."""
    low = text.rfind("\n", 0, max(start - SNIPPET_CHARACTERS, 0)) + 1
    lines = _LINE.finditer(text, low, min(_end_of_line(text, end + SNIPPET_CHARACTERS), head))
    parts = [
        _SnippetPart(*line.span()) for line in lines if _WORD.search(line[0]) or line.end() > start >= line.start()
    ]
    at = next(n for n, part in enumerate(parts) if part.end > start)
    first, last = _grown(text, parts, at, at, most_lines=SNIPPET_CHARACTERS)
    return _cut(text, parts[first].start, parts[last].end, start, end, most_lines=SNIPPET_CHARACTERS)


def _region(text: str, head: int, start: int, end: int) -> tuple[int, int]:
    """Return the lines around the place, below the front matter."""
    reach = max(SNIPPET_CHARACTERS - (end - start), 0)
    low = max(start - reach, head)
    line = text.rfind("\n", max(low - _LONGEST_LINE, head), low) + 1
    if not line:
        line = low if low - _LONGEST_LINE > head else head
    return line, _end_of_line(text, end + reach)


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at, at + _LONGEST_LINE)
    return min(len(text), end if end >= 0 else at)


def _parts(text: str, low: int, high: int, start: int = 0, end: int = 0) -> list[_SnippetPart]:
    """Return the parts of `text[low:high]` in order. Markup is a part only if it contains the place (no place: `end` is
    0). Stops after the first part that no snippet with the place can reach."""
    is_code = text.count(_FENCE, 0, low) % 2 == 1
    above = "```\n" if is_code else ""
    shift = low - len(above)
    units: list[_SnippetPart] = []
    done = low
    for unit in sentences.cutting(above + text[low:high]):
        part = _whole(text, shift + unit.start, shift + unit.end, done)
        done = part.end
        if part.end > low and _says_something(text, part, start, end):
            units.append(part)
        if end and part.start >= end + SNIPPET_CHARACTERS:  # out of reach
            high = done
            break
    units = _rejoined(text, units)
    return sorted([*units, *_heads(text, low, high, units, start, end)])


def _rejoined(text: str, units: Sequence[_SnippetPart]) -> list[_SnippetPart]:
    """Join units that were cut only because of their length."""
    joined: list[_SnippetPart] = []
    for unit in units:
        last = joined[-1] if joined else None
        between = text[last.end : unit.start] if last else ""
        is_cut = last and last.end - last.start > _CUT and text[last.end - 1] not in _ENDS and "\n\n" not in between
        if last and is_cut and not between.strip():
            joined[-1] = _SnippetPart(last.start, unit.end)
        else:
            joined.append(unit)
    return joined


def _whole(text: str, start: int, end: int, done: int) -> _SnippetPart:
    """Return the unit with its bullet, or with the bars around it. `done`: the end of the unit before it."""
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start] if done <= line < start else ""
    if before and not before.isspace() and (sentences.is_item_mark(before) or not _WORD.search(before)):
        start = line + len(before) - len(before.lstrip())
    if text.startswith("\n", end):
        return _SnippetPart(start, end)
    line_end = _end_of_line(text, end)
    return _SnippetPart(start, end if _WORD.search(text, end, line_end) else end + len(text[end:line_end].rstrip()))


def _heads(
    text: str, low: int, high: int, units: Sequence[_SnippetPart], start: int, end: int
) -> Iterator[_SnippetPart]:
    """Yield the lines outside all units: headings and table headers."""
    at = low
    for unit in (*units, _SnippetPart(high, high)):
        if not text[at : unit.start].isspace():  # between sentences
            for line in _LINE.finditer(text, at, unit.start):
                part = _SnippetPart(line.start(), line.end(), is_head=True)
                if _says_something(text, part, start, end):
                    yield part
        at = max(at, unit.end)


def _says_something(text: str, part: _SnippetPart, start: int, end: int) -> bool:
    if part.start < end and start < part.end:
        return True
    return _is_text(text[part.start : part.end])


def _is_text(text: str) -> bool:
    """Return whether a line has words and is not markup."""
    return any(
        _WORD.search(line) and not (line.lstrip()[:1] in _MARKS and _MARKUP.match(line)) for line in text.split("\n")
    )


def _is_table(text: str, part: _SnippetPart) -> bool:
    return part.is_head and text.startswith("|", part.start)


def _grown(
    text: str,
    parts: Sequence[_SnippetPart],
    first: int,
    last: int,
    *,
    grows_up: bool = True,
    most_lines: int = SNIPPET_LINES,
) -> tuple[int, int]:
    """Add the parts after and before, in turns, as long as they fit."""
    low, high = first, last
    goes_down, goes_up = True, grows_up
    while goes_down or goes_up:
        goes_down = (
            goes_down and high + 1 < len(parts) and _fits(text, parts[low].start, parts[high + 1].end, most_lines)
        )
        high += goes_down
        goes_up = goes_up and low > 0 and _fits(text, parts[low - 1].start, parts[high].end, most_lines)
        low -= goes_up
    while high > last and (parts[high].is_head or text[parts[high].end - 1] in _INTRODUCES):
        high -= 1
    return low, high


def _fits(text: str, start: int, end: int, most_lines: int) -> bool:
    return end - start <= SNIPPET_CHARACTERS and len(_LINE_ENDS.findall(text, start, end)) < most_lines


def _cut(text: str, low: int, high: int, start: int, end: int, *, most_lines: int = SNIPPET_LINES) -> tuple[int, int]:
    """Cut a long range between words, around the place that it must contain."""
    if high - low > SNIPPET_CHARACTERS:
        room = max(SNIPPET_CHARACTERS - (end - start), 0)
        if end - low > SNIPPET_CHARACTERS - room // 3:
            low = _next_word(text, max(start - room // 2, low), start)
        stop = min(max(low + SNIPPET_CHARACTERS, end), high)
        if stop < high:
            space = max(text.rfind(" ", end, stop + 1), text.rfind("\n", end, stop + 1))
            high = space if _WORD.search(text[low : max(space, low)]) else stop
        else:
            high = stop
    return _without_markup(text, *_few_lines(text, low, high, start, end, most_lines), start, end)


def _without_markup(text: str, low: int, high: int, start: int, end: int) -> tuple[int, int]:
    """Leave out white space at both ends, and lines of markup before and after the place."""
    while (first := text.find("\n", low, start)) >= 0 and not _is_text(text[low:first]):
        low = first + 1
    while (last := text.rfind("\n", end, high)) >= 0 and not _is_text(text[last + 1 : high]):
        high = last
    while low < start and text[low].isspace():
        low += 1
    return low, max(low + len(text[low:high].rstrip()), end)


def _few_lines(text: str, low: int, high: int, start: int, end: int, most_lines: int) -> tuple[int, int]:
    """Reduce a part with too many lines to `most_lines`, with at most one line before the place."""
    if len(_LINE_ENDS.findall(text, low, high)) < most_lines:
        return low, high
    low = [low, *(match.end() for match in _LINE_ENDS.finditer(text, low, start))][-2:][0]
    ends = [match.start() for match in _LINE_ENDS.finditer(text, low, high)]
    return low, max(ends[most_lines - 1], end) if len(ends) >= most_lines else high


def _next_word(text: str, low: int, high: int) -> int:
    if low == 0 or text[low - 1].isspace():
        return low
    found = re.compile(r"\s+").search(text, low, high)
    return found.end() if found else low
