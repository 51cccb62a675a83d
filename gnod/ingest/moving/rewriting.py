"""Rewrite the links in one file and nothing else: line ends, byte order mark and encoding stay.

Links are found in the canonical text, as for the index, and their positions are mapped back to the file. The changed
text is then parsed again. A link that would not lead to its file is left unchanged and reported.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import AnyStr, NamedTuple

from gnod.ingest.links.extraction import MARKDOWN, SOURCES, found_in_source, found_in_text
from gnod.ingest.links.targets import LinkTarget, WrittenLink, target_of
from gnod.ingest.moving.naming import MovedPaths, spellings, written_path
from gnod.ingest.text import frontmatter
from gnod.ingest.text.canonical import canonicalise, with_line_map
from gnod.ingest.text.outline import outline
from gnod.store.link_names import OUTSIDE
from gnod.types import LineMap, source_line

FORMATS = SOURCES | {MARKDOWN}

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LINE_END = re.compile(r"\r\n|\r|\n")


class LeftLink(NamedTuple):
    """A link that the user must change by hand. `path`: the path of its file before the move. `line`: from 1; 0 if
    unknown."""

    path: str
    line: int
    target: str
    problem: str


class Edit(NamedTuple):
    """A change of bytes in a file, at `start` in the old content."""

    start: int
    old: bytes
    new: bytes


_Change = tuple[int, str, str]
"""A change of the text: its start, the old text and the new text."""


class NotRewritable(Exception):
    """The links of a file cannot be rewritten; the message says why."""


class _Failed(Exception):
    """A link cannot be rewritten; the message says why."""


def rewrite(data: bytes, mime: str, number: int, paths: MovedPaths) -> tuple[list[Edit], list[LeftLink]]:
    """Return the edits with which the links of a file lead to the same files after the move, and the links that cannot
    be changed. Raises NotRewritable."""
    decoded = _decoded(data)
    if decoded is None:
        raise NotRewritable("the file is not in UTF-8, or UTF-16 with a byte order mark")
    if mime not in FORMATS:
        raise NotRewritable("gnod does not rewrite links in this format")
    mark, encoding, text = decoded
    changes, left = _LinkChanges(text, mime, number, paths).checked()
    edits = []
    at, offset = 0, len(mark)
    for start, old, new in changes:
        offset += len(text[at:start].encode(encoding))
        at = start
        edits.append(Edit(offset, old.encode(encoding), new.encode(encoding)))
    return edits, left


def apply(content: AnyStr, changes: Iterable[tuple[int, AnyStr, AnyStr]]) -> AnyStr:
    """Return the content with the sorted changes: their start, the old part and the new part."""
    parts: list[AnyStr] = []
    at = 0
    for start, old, new in changes:
        parts += [content[at:start], new]
        at = start + len(old)
    parts.append(content[at:])
    return content[:0].join(parts)


def reverse(edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits that undo these in the new content."""
    shifts = accumulate((len(edit.new) - len(edit.old) for edit in edits), initial=0)
    return [Edit(edit.start + shift, edit.new, edit.old) for edit, shift in zip(edits, shifts, strict=False)]


def _decoded(data: bytes) -> tuple[bytes, str, str] | None:
    """Return the byte order mark, the encoding and the text; None if encoding the text would give other bytes."""
    mark, encoding = next((each for each in _MARKS if data.startswith(each[0])), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        return None
    return (mark, encoding, text) if "\0" not in text else None


class _LinkChanges:
    """The changes of one text. `number`: the number of its file."""

    def __init__(self, text: str, mime: str, number: int, paths: MovedPaths) -> None:
        self._text, self._mime, self._paths = text, mime, paths
        self._old, self._new = paths.old[number], paths.new[number]
        self._found = _FoundLinks(text, mime)

    def checked(self) -> tuple[list[_Change], list[LeftLink]]:
        """Return the changes that are correct, and the links that they cannot correct."""
        wanted: dict[int, int] = {}
        changes: dict[int, _Change] = {}
        failed: dict[int, str] = {}
        for number, link in enumerate(self._found.links):
            try:
                if (file := self._wanted(link)) is not None:
                    wanted[number] = file
                    changes[number] = self._change(link, file)
            except _Failed as error:
                failed[number] = str(error)
        wrong = self._wrong(changes, wanted)
        kept = {number: change for number, change in changes.items() if number not in wrong}
        if wrong and self._wrong(kept, wanted):
            wrong, kept = list(changes), {}
        failed |= dict.fromkeys(wrong, "its new name cannot be written in this syntax")
        return _in_order(kept), [self._left(*each) for each in sorted(failed.items())]

    def _wanted(self, link: WrittenLink) -> int | None:
        """Return the file to which a link must lead but does not; None if the link can stay. Raises _Failed."""
        target = target_of(link, self._old)
        if target is None:
            return None
        before = self._paths.before.meant(target, link.target, self._old)
        after = self._meant_after(link, target if self._old == self._new else target_of(link, self._new))
        if len(before) == 1:
            return before[0] if after != before or self._paths.is_name_lost(target) else None
        if target.reach == OUTSIDE and not link.target.startswith("/") and self._has_other_folder():
            raise _Failed("it leads out of the collection")
        if len(before) > 1 and sorted(before) != sorted(after):
            raise _Failed("it may lead to several files")
        return None

    def _has_other_folder(self) -> bool:
        return self._old.rpartition("/")[0] != self._new.rpartition("/")[0]

    def _meant_after(self, link: WrittenLink, target: LinkTarget | None) -> list[int]:
        return self._paths.after.meant(target, link.target, self._new) if target else []

    def _change(self, link: WrittenLink, wanted: int) -> _Change:
        written = written_path(link, self._found.text)
        if written is None:
            raise _Failed("its target is not written literally in the file")
        start = self._found.place(link.place)
        end = self._found.place(link.place + len(written))
        if start is None or end is None or _clean(self._text[start:end]) != _clean(written):
            raise _Failed("its position in the file is uncertain")
        return start, self._text[start:end], self._spelled(link, written, wanted)

    def _spelled(self, link: WrittenLink, written: str, wanted: int) -> str:
        before, after = self._paths.old[wanted], self._paths.new[wanted]
        for each in spellings(link, written, source=self._new, before=before, after=after, text=self._found.text):
            target = target_of(link._replace(target=each.text), self._new)
            is_right = target and self._paths.after.meant(target, each.text, self._new) == [wanted]
            if target and is_right and (not each.is_name or self._paths.after.is_unique(target.key)):
                return each.text
        raise _Failed(f"no link of this kind can name {after}")

    def _wrong(self, changes: dict[int, _Change], wanted: dict[int, int]) -> list[int]:
        """Apply the changes, parse the text again, and return the changes whose links do not have the right target."""
        if not changes:
            return []
        links = _FoundLinks(apply(self._text, _in_order(changes)), self._mime).links
        if [link.kind for link in links] != [link.kind for link in self._found.links]:
            return list(changes)
        return [
            number
            for number in changes
            if self._meant_after(links[number], target_of(links[number], self._new)) != [wanted[number]]
        ]

    def _left(self, number: int, problem: str) -> LeftLink:
        link = self._found.links[number]
        return LeftLink(self._old, self._found.line(link.start), link.target, problem)


class _FoundLinks:
    """The links in the text of a file. Their positions refer to `text`."""

    def __init__(self, raw: str, mime: str) -> None:
        self._lines = _lines(raw)
        self._raw = raw
        self._lost: LineMap = []
        self._columns: dict[int, dict[int, int] | None] = {}
        if mime in SOURCES:
            self.text = _LINE_END.sub("\n", raw)
            found = found_in_source(self.text, mime)[0]
        else:
            self.text, self._lost = with_line_map(raw)
            head = frontmatter.parse(self.text)
            found = found_in_text(self.text, mime, head, outline(self.text, "markdown", head.body_start))
        self.links = sorted(found, key=lambda link: (link.start, link.end))
        self._starts = [start for start, _ in _lines(self.text)]

    def line(self, at: int) -> int:
        return source_line(self._lost, bisect_right(self._starts, at))

    def place(self, at: int) -> int | None:
        """Return the position in the file for a position in `text`; None if the line does not have it."""
        number = bisect_right(self._starts, at)
        if number not in self._columns:
            self._columns[number] = self._columns_of(number)
        columns, column = self._columns[number], at - self._starts[number - 1]
        column = columns.get(column, -1) if columns is not None else column
        return self._lines[self.line(at) - 1][0] + column if column >= 0 else None

    def _columns_of(self, number: int) -> dict[int, int] | None:
        """Return the columns in the file for the columns of a line; None if they are equal."""
        start = self._starts[number - 1]
        raw = self._raw[slice(*self._lines[self.line(start) - 1])]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return None if raw.startswith(self.text[start:end]) else _columns(raw)


def _lines(text: str) -> list[tuple[int, int]]:
    ends = [match.span() for match in _LINE_END.finditer(text)]
    return list(zip([0, *(after for _, after in ends)], [*(end for end, _ in ends), len(text)], strict=True))


def _columns(raw: str) -> dict[int, int]:
    """Return the starts of the parts of a line, and its end, by their positions in the canonical form of the line."""
    columns: dict[int, int] = {}
    made = 0
    for start, cluster in _clusters(raw):
        columns.setdefault(made, start)
        made += len(_clean(cluster))
    return columns | {made: len(raw)}


def _clusters(raw: str) -> Iterator[tuple[int, str]]:
    """Yield the parts that Unicode composes separately: a character with the marks and Hangul letters after it."""
    starts = [at for at, char in enumerate(raw) if not (unicodedata.combining(char) or "\u1160" <= char <= "\u11ff")]
    for start, end in zip(starts, [*starts[1:], len(raw)], strict=True):
        yield start, raw[start:end]


def _clean(part: str) -> str:
    """Return the canonical form of a part of a line, with its trailing spaces."""
    return canonicalise(f"|{part}|")[1:-2]


def _in_order(changes: dict[int, _Change]) -> list[_Change]:
    """Return the sorted changes without duplicates: several links may share the definition of their target."""
    return sorted({change[0]: change for change in changes.values()}.values())
