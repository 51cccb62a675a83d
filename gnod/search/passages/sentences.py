"""Cut a text into units that can be quoted: sentences, table rows, list items, lines of code. Pure.

Each unit is an unchanged range of the text, without the markup at its ends (a bullet, the bars of a table). Headings
and table headers are not units, because they only introduce the units below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from gnod.analysis.markup import head_end, without_closing
from gnod.models.embedding_profiles import cut

Kind = Literal["sentence", "row", "item", "line"]

# A longer sentence is cut. It is usually something else: a list without full stops, the remains of a table.
MAX_CHARACTERS = 500
# A longer list item is cut into its sentences.
_WHOLE_ITEM = 300
# In "cf. page 5", "z. B. im" and "Dr. No", the sentence continues after the abbreviation.
_ABBREVIATIONS = """
    adm approx aug bd bspw bzgl bzw ca capt cf ch chap co col corp dec dept dr ed eds eg etc evtl feb fig figs fr frl ft
    geb gen ggf gov hon hr hrsg inc inkl jan jr lt ltd mio mr mrd mrs ms mt nov nr okt oct op pp prof rep resp rev sen
    sep sept sog sr st str tab tel u.a u.s usw vgl vol vs z.b zb zzgl"""
_KNOWN_ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
# The languages that write ordinal numbers with a full stop: "am 3. November".
_WITH_ORDINAL_DOTS = "bs cs da de et eu fi fo hr hu is lb lv nb nn no pl sk sl sr tr"
ORDINAL_DOTS = frozenset(_WITH_ORDINAL_DOTS.split())

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦]|\d{1,3}[.)]|[a-z]\))[ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)")
_QUOTE_MARK = re.compile(r"[ \t]*(?:>[ \t]?)+")
_WORD = re.compile(r"[^\W_]")
_DELIMITERS = frozenset(" \t|:+=-")
_COMMENT = re.compile(r"[ \t]*<!--.*-->[ \t]*\Z")
# A line that begins like this is ordinary text. Most lines are, and need no further check.
_PLAIN = re.compile(r"[^\W\d_]{2}")

# The repetition is bounded, so that rows of dots do not take quadratic time.
_SPACED_END = r"(?P<spaced>[.!?…؟۔։።]{1,8}[\"'”’»)\]*_]{0,8})(?=\s)"
_END = re.compile(
    _SPACED_END + r"|(?P<unspaced>[。！？｡]+[」』）”’\"]*)"
    r"|(?P<danda>[।॥။។]+[\"'”’)]*)"
)
# Most texts contain only these marks. Without an alternative, `re` searches only for the first character, which is much
# faster.
_ONLY_SPACED_END = re.compile(_SPACED_END)
_OTHER_END = re.compile("[。！？｡।॥။។]")
_BEFORE_A_WORD = re.compile(r"[\s(\[\"'“„«*_]")
_NEXT = re.compile(r"[\s\"'“„«‘(\[*_]*(\S?)")
_BRACKETS = (("「", "」"), ("『", "』"), ("（", "）"), ("(", ")"))
_CLOSING = frozenset('」』）”’"')
_EDGE = " \t\n\r\u3000"


class TextUnit(NamedTuple):
    """`text[start:end]`, without white space at its ends. `heading`: the headings above, joined by ` > `. `lead`: the
    range of the table's header, or of the line that introduces the list; empty without one. `block`: the number of the
    paragraph, list or table."""

    start: int
    end: int
    kind: Kind
    heading: str
    lead: tuple[int, int]
    block: int


def units(text: str, language: str | None = None, *, is_code: bool = False) -> list[TextUnit]:
    """Return the units in order; they do not overlap. `is_code`: every line is a separate unit. `language`: decides
    whether a full stop may follow an ordinal number."""
    return list(cutting(text, language, is_code=is_code))


def cutting(text: str, language: str | None = None, *, is_code: bool = False) -> Iterator[TextUnit]:
    """Yield the units as `units` does, so that a caller can stop early."""
    return _Cutter(text, language).cut(is_code=is_code)


def is_item_mark(text: str) -> bool:
    """Return whether a text is the mark of a list item: indentation, a bullet or number, a checkbox.

    >>> is_item_mark("  - [x] "), is_item_mark("12. "), is_item_mark("see ")
    (True, True, False)
    """
    match = _ITEM.match(text + "x")
    return match is not None and match.end() == len(text)


class _Line(NamedTuple):
    """`text[start:end]`, without the line end."""

    start: int
    end: int
    text: str

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


class _Cutter:
    """Cuts one text, line by line."""

    def __init__(self, text: str, language: str | None) -> None:
        self._text = text
        self._has_ordinals = language in ORDINAL_DOTS
        self._headings: list[tuple[int, str]] = []
        self._heading = ""
        self._block = 0
        self._lead = (0, 0)
        # The start and kind of the open paragraph or item
        self._open: tuple[int, Kind] | None = None
        self._end = 0
        # The last paragraph, which may introduce a list
        self._introduction = (0, 0)

    def cut(self, *, is_code: bool) -> Iterator[TextUnit]:
        lines = _lines(self._text)
        at = 0
        if is_code:
            yield from (unit for line in lines for unit in self._line(line))
            return
        head = head_end(self._text)
        while at < len(lines) and lines[at].start < head:
            yield from self._line(lines[at])
            at += 1
        fence = ""
        while at < len(lines):
            line = lines[at]
            following = lines[at + 1].text if at + 1 < len(lines) else ""
            at += 1
            if fence:
                closes = line.text.strip().startswith(fence) and not line.text.strip(" \t`~")
                fence = "" if closes else fence
                yield from () if closes else self._line(line)
            elif _PLAIN.match(line.text) and (self._open is not None or not _UNDERLINE.match(following)):
                self._go_on(line)
            elif match := _FENCE.match(line.text):
                yield from self._flush()
                self._next_block()
                fence = match[1]
            elif line.is_blank or _COMMENT.match(line.text):
                yield from self._flush()
                self._next_block()
            elif match := _HEADING.match(line.text):
                yield from self._flush()
                self._set_heading(len(match[1]), without_closing(line.text[match.end() :]))
            elif self._open is None and _is_underlined(line.text, following):
                self._set_heading(1 if following.strip()[0] == "=" else 2, line.text)
                at += 1
            elif _is_row(line.text):
                yield from self._flush()
                yield from self._row(line, following)
            elif match := _ITEM.match(line.text):
                yield from self._flush()
                self._begin(line.start + match.end(), "item")
                self._end = line.end
            else:
                self._go_on(line)
        yield from self._flush()

    def _go_on(self, line: _Line) -> None:
        """Add a line to the open paragraph or item. If none is open, the line begins a paragraph."""
        if self._open is None:
            quoted = _QUOTE_MARK.match(line.text)
            self._begin(line.start + (quoted.end() if quoted else 0), "sentence")
        self._end = line.end

    def _begin(self, start: int, kind: Kind) -> None:
        if kind == "item":
            self._lead = self._introduction
        self._open = (start, kind)

    def _next_block(self) -> None:
        self._block += 1
        self._lead = (0, 0)

    def _set_heading(self, level: int, title: str) -> None:
        self._headings = [heading for heading in self._headings if heading[0] < level]
        if title.strip():
            self._headings.append((level, title.strip()))
        self._heading = " > ".join(title for _, title in self._headings)
        self._introduction = (0, 0)
        self._next_block()

    def _units(self, start: int, end: int, kind: Kind) -> Iterator[TextUnit]:
        """Yield the range, in pieces if it is long, without white space at their ends. Pieces without a letter or digit
        are left out."""
        text = self._text[start:end]
        for span in cut(text, MAX_CHARACTERS):
            part = text[span.start : span.end].lstrip(_EDGE)
            if _WORD.search(part):
                first = start + span.end - len(part)
                yield TextUnit(first, first + len(part.rstrip(_EDGE)), kind, self._heading, self._lead, self._block)

    def _line(self, line: _Line) -> Iterator[TextUnit]:
        if line.is_blank:
            self._next_block()
            return
        yield from self._units(line.start, line.end, "line")

    def _row(self, line: _Line, following: str) -> Iterator[TextUnit]:
        inner = line.text.strip().strip("|")
        start = line.start + line.text.index(inner) if inner else line.start
        if _is_row(following) and _is_delimiter(following):
            self._next_block()
            self._lead = (start, start + len(inner))
        elif not _is_delimiter(line.text):
            yield from self._units(start, start + len(inner), "row")

    def _flush(self) -> Iterator[TextUnit]:
        """Yield the units of the open paragraph or item."""
        if self._open is None:
            return
        (start, kind), self._open = self._open, None
        whole = self._text[start : self._end]
        if kind == "sentence":
            self._introduction = (start, self._end) if whole.rstrip().endswith((":", "：")) else (0, 0)
        if kind == "item" and len(whole) <= _WHOLE_ITEM:
            yield from self._units(start, self._end, "item")
            return
        for first, last in self._sentences(whole):
            yield from self._units(start + first, start + last, kind)

    def _sentences(self, paragraph: str) -> Iterator[tuple[int, int]]:
        start = 0
        end = _ONLY_SPACED_END if paragraph.isascii() or not _OTHER_END.search(paragraph) else _END
        for match in end.finditer(paragraph):
            is_end = True
            if match["spaced"]:
                is_end = self._ends(paragraph, start, match)
            elif match["unspaced"]:
                is_end = _is_closed(paragraph[start : match.end()]) and not _goes_on(paragraph, match)
            if is_end:
                yield start, match.end()
                start = match.end()
        if paragraph[start:].strip():
            yield start, len(paragraph)

    def _ends(self, paragraph: str, start: int, match: re.Match[str]) -> bool:
        """Return whether a sentence ends at a mark that also has other uses."""
        follows = _NEXT.match(paragraph, match.end())
        if follows and follows[1].islower():
            return False
        if match["spaced"][0] != ".":
            return True
        word = _BEFORE_A_WORD.split(paragraph[max(start, match.start() - 24) : match.start()])[-1]
        if word.isdigit() and len(word) <= 2:
            return not self._has_ordinals and match.start() - len(word) > start
        is_initial = len(word) == 1 and word.isalpha() and word.isupper()
        return not (is_initial or word.lower() in _KNOWN_ABBREVIATIONS)


def _lines(text: str) -> list[_Line]:
    found, start = [], 0
    for part in text.split("\n"):
        found.append(_Line(start, start + len(part), part))
        start += len(part) + 1
    return found


def _is_underlined(line: str, following: str) -> bool:
    return bool(_UNDERLINE.match(following)) and len(following.strip()) > 1 and not _is_row(line)


def _is_row(line: str) -> bool:
    stripped = line.strip()
    return len(stripped) > 2 and stripped[0] == "|" and stripped.find("|", 1) > 0


def _is_delimiter(line: str) -> bool:
    return "-" in line and _DELIMITERS.issuperset(line)


def _is_closed(sentence: str) -> bool:
    return all(sentence.count(opening) <= sentence.count(closing) for opening, closing in _BRACKETS)


def _goes_on(paragraph: str, match: re.Match[str]) -> bool:
    """Return whether a sentence continues after a quotation with its own full stop."""
    after = paragraph[match.end() : match.end() + 1]
    return match[0][-1] in _CLOSING and after.isalnum()
