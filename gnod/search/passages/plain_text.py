"""Show a part of a Markdown text without its markup, and map the positions of its marks. Pure.

It follows Obsidian and GitHub. Code and formulas do not change. The number of lines does not change either, so that
line numbers stay correct. Hidden text is shown if it contains a mark, for example a match in the target of a link.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence

from gnod.analysis.markup import head_end

Range = tuple[int, int]
# A range of the text, and the range that shows it.
_Move = tuple[int, int, int, int]

# Markup is ignored if its beginning or end is farther than this many characters from the part.
_REACH = 300

_INLINE_TAGS = """
    a abbr b bdi bdo big cite code data del dfn em font i ins kbd label mark q rb rp rt rtc ruby s samp small span
    strike strong sub sup time tt u var wbr
"""
_BLOCK_TAGS = """
    address area article aside audio blockquote body br button canvas caption center circle col colgroup dd details
    dialog div dl dt embed fieldset figcaption figure footer form g h1 h2 h3 h4 h5 h6 head header hr html iframe img
    input legend li line link main map meta nav noscript object ol optgroup option p param path picture pre progress
    rect script section select source style summary svg table tbody td template textarea tfoot th thead title tr track
    ul video
"""
# The text that replaces each tag.
_TAGS = dict.fromkeys(_INLINE_TAGS.split(), "") | dict.fromkeys(_BLOCK_TAGS.split(), " ")

# Each alternative begins with a different character, which makes the search several times as fast.
_TOKEN = re.compile(
    r"`(?:`[^\n]+?``(?!`)|[^`\n]+(?:\n[^`\n]+)*`|`*)"
    r"|\$(?:\$[^$]+\$\$|(?=\S)[^$\n]*(?<=\S)\$(?!\d))"
    r"|\\[!-/:-@\[-`{-~]"
    r"|&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});"
    r"|%%(?:(?!%%).)*%%"
    r"|<(?:!--(?:(?!-->).)*(?:-->|\Z)|/?[A-Za-z][A-Za-z0-9-]*(?:[\s/][^<>]*)?>|(?:https?|mailto|file):[^<>\s]+>)"
    r"|!\[(?:\[[^\[\]\n]+\]\])?"
    r"|\[(?:\[[^\[\]\n]+\]\]|\^[^\[\]\s]+\])?"
    r"|\](?:\((?:[ \t]*<[^<>\n]*>|(?:[^\s()]|\([^\s()]*\))*)(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?[ \t]*\)|\[[^\[\]\n]*\])?"
    r"|\|(?:[ \t]*\|)*"
    r"|\*+|_+|~~+|==+",
    re.DOTALL,
)
_ANY_MARKUP = re.compile(r"[`*_\[\]|<>#%&~=\\^]|--")
# A line that may have markup at one of its ends.
_BLOCK = re.compile(r"[ \t]*(?:[-*+>#\[|=_:~%\d]|[^\n^]*\^)")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")
_CALLOUT = re.compile(r"(\[!)([\w-]+)((?:\|[^\]\n]*)?\][+-]?[ \t]*)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_BOX = re.compile(r"\[[^\[\]\n]\](?=[ \t])")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+")
_HEADING_END = re.compile(r"[ \t]+#+[ \t]*\Z")
# The label of a footnote, or the whole definition of a link reference.
_LABEL = re.compile(
    r"[ \t]*\[(?:\^[^\[\]\s]+\]:[ \t]*|[^\[\]^\n][^\[\]\n]*\]:[ \t]*\S+(?:[ \t]+[\"'(][^\n]*)?[ \t]*\Z)"
)
_BLOCK_ID = re.compile(r"\^(?<=\s\^)[\w-]+[ \t]*\Z")
_FENCE = re.compile(r"[ \t>]*(?:`{3,}[^`\n]*|~{3,}[^\n]*)\Z")
_FENCE_MARKS = re.compile(r"[ \t>]*[`~]+[ \t]*")
_ONLY_MARKUP = re.compile(r"[-=*_|:+~%> \t]+\Z")
_DELIMITER_ROW = re.compile(r"^[ \t>]*:?-+:?[ \t]*\|[-:| \t]*$", re.MULTILINE)
_CODE_INDENT = re.compile(r"(?: {4}| {0,3}\t)[ \t]*\S")
_TAG_NAME = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)(?=[\s/>])")
_PICTURE_SIZE = re.compile(r"\s*\d+(?:x\d+)?\s*")

_ONLY_BRACES = re.compile(r"[-+{}\[\], \t]*\Z")
_BLANKS = re.compile(r"[ \t]*")
_PROPERTY = re.compile(r"""[ \t]*(?P<item>-[ \t]+)?(["']?)(?P<name>[\w$][\w $./-]*?)\2[ \t]*(?:[:=][ \t]+|[:=]\Z)""")
_VALUE_MARKS = re.compile(r"""["\[\]{}]|'(?=[\],]|\Z)|(?<=[\[, ])'""")
_NO_VALUE = frozenset(("", "null", "~", "[]", "{}", '""', "''"))
_BLOCK_SCALAR = re.compile(r"[|>][+-]?\Z")
# A value that is the address of a picture: long, and of no use to a reader.
_PICTURE = re.compile(
    r"""["']?https?://[^\s"']+\.(?:avif|gif|heic|jpe?g|png|svg|webp)(?:[?#][^\s"']*)?["']?[ \t,]*$""",
    re.IGNORECASE | re.MULTILINE,
)


def plain(text: str, start: int, end: int, marks: Sequence[Range]) -> tuple[str, list[Range]]:
    """Return `text[start:end]` as a reader sees it, and the ranges of the `marks` in the result. The marks must be in
    order and inside the range. The number of lines stays the same, but metadata at the head of the text becomes one
    line."""
    head = head_end(text)
    if start >= head and not _ANY_MARKUP.search(text, start, end):
        return text[start:end], [(low - start, high - start) for low, high in marks]
    cuts = _Cuts(text, start, end, marks)
    if start < head:
        _cut_properties(cuts, start, min(end, head))
    else:
        _cut_markdown(cuts, head)
    return cuts.applied()


class _Cuts:
    """The changes to a part of a text, from `start` to `end`, for display."""

    def __init__(self, text: str, start: int, end: int, marks: Sequence[Range]) -> None:
        self.text = text
        self.start = start
        self.end = end
        self._marks = marks
        self._mark_ends = [end for _, end in marks]
        self._cuts: list[tuple[int, int, str]] = []

    def cut(self, start: int, end: int, shown: str = "") -> None:
        """Replace markup without words."""
        if self.start < end and start < self.end and start < end:
            self._cuts.append((start, end, shown))

    def hide(self, start: int, end: int, shown: str = "") -> bool:
        """Replace a range that may have words, unless a word in it is marked. Keeps line breaks."""
        if self.is_marked(start, end):
            return False
        self.cut(start, end, shown + "\n" * self.text.count("\n", start, end))
        return True

    def is_marked(self, start: int, end: int) -> bool:
        at = bisect_right(self._mark_ends, start)
        return at < len(self._marks) and self._marks[at][0] < end

    def applied(self) -> tuple[str, list[Range]]:
        """Return the part after the cuts, and its marks. A cut inside another cut is ignored."""
        pieces: list[str] = []
        moves: list[_Move] = [(self.start, self.start, 0, 0)]
        at = self.start
        for start, end, shown in sorted(self._cuts):
            first, last = max(start, at), min(end, self.end)
            if first >= last:
                continue
            if first != start or last != end:
                shown = "\n" * self.text.count("\n", first, last)
            new = moves[-1][3] + first - at
            pieces += (self.text[at:first], shown)
            moves.append((first, last, new, new + len(shown)))
            at = last
        pieces.append(self.text[at : self.end])
        return "".join(pieces), [(_moved(low, moves), _moved(high, moves, is_end=True)) for low, high in self._marks]


def _moved(at: int, moves: Sequence[_Move], *, is_end: bool = False) -> int:
    """Return the position after the cuts. Inside a cut, this is the beginning or the end of its replacement."""
    below = bisect_left(moves, (at,))
    _, end, new, new_end = moves[max(below - 1, 0)]
    if at < end:
        return new_end if is_end else new
    return new_end + at - end


def _cut_markdown(cuts: _Cuts, head: int) -> None:
    text = cuts.text
    low, high = _with_context(text, cuts.start, cuts.end, head)
    inline = _Inline(cuts, low, high)
    fence = _open_fence(text, head, low)
    paragraph, above_is_blank = low, True
    for begin, stop in _lines(text, low, high):
        line = text[begin:stop]
        is_blank = not line or line.isspace()
        is_fence = ("```" in line or "~~~" in line) and _FENCE.match(line) is not None
        is_code = bool(fence) or is_fence or (above_is_blank and _is_indented_code(text, begin, line))
        if is_fence and (not fence or _closes(line, fence)):
            fence = "" if fence else line.lstrip(" \t>")[:3]
            _cut_fence(cuts, begin, stop)
        if is_code or is_blank:
            inline.read(paragraph, begin)
            paragraph = stop
        elif begin < cuts.end and cuts.start < stop and _BLOCK.match(line):
            _cut_block(cuts, begin, stop)
        above_is_blank = is_blank or (is_code and not fence and not is_fence)
    inline.read(paragraph, high)


def _cut_fence(cuts: _Cuts, begin: int, stop: int) -> None:
    """Cut the line that opens or closes code. Keeps the name of the language if it is marked."""
    if not cuts.hide(begin, stop):
        marks = _FENCE_MARKS.match(cuts.text, begin, stop)
        assert marks is not None  # the caller has matched the line
        cuts.cut(begin, marks.end())


def _with_context(text: str, start: int, end: int, head: int) -> Range:
    """Return the range of the lines of a part, with one more line on each side, up to a maximum distance."""
    low, high = max(start - _REACH, head), min(end + _REACH, len(text))
    above = text.rfind("\n", low, max(text.rfind("\n", low, start), low))
    below = text.find("\n", end, high)
    below = text.find("\n", below + 1, high) if below >= 0 else -1
    return above + 1 or low, below if below >= 0 else high


def _lines(text: str, low: int, high: int) -> Iterator[Range]:
    while low <= high:
        stop = text.find("\n", low, high)
        stop = stop if stop >= 0 else high
        yield low, stop
        low = stop + 1


def _open_fence(text: str, head: int, at: int) -> str:
    """Return the fence of the code block around a place; empty if there is none."""
    for mark in ("```", "~~~"):
        if (text.count(f"\n{mark}", head, at) + text.startswith(mark, head, at)) % 2:
            return mark
    return ""


def _closes(line: str, fence: str) -> bool:
    return line.lstrip(" \t>").startswith(fence) and not line.strip(" \t>" + fence[0])


def _is_indented_code(text: str, begin: int, line: str) -> bool:
    """Return whether a line below a blank line is code: an indented line outside a list item."""
    if not _CODE_INDENT.match(line):
        return False
    above = text[max(begin - _REACH, 0) : begin].split("\n")
    outer = next((line for line in reversed(above) if line.strip() and not _CODE_INDENT.match(line)), "")
    return not _ITEM.match(outer) and not _LABEL.match(outer)


def _cut_block(cuts: _Cuts, begin: int, stop: int) -> None:
    """Cut the markup at the ends of a line."""
    text, at = cuts.text, begin
    if quote := _QUOTE.match(text, at, stop):
        cuts.cut(at, at := quote.end())
        if callout := _CALLOUT.match(text, at, stop):
            cuts.cut(*callout.span(1))
            is_hidden = callout.end() < stop and cuts.hide(*callout.span(2))
            cuts.cut(*callout.span(3), "" if is_hidden or callout.end() == stop else " ")
            at = callout.end()
    if _ONLY_MARKUP.match(text, at, stop):
        cuts.cut(at, stop)
        return
    if item := _ITEM.match(text, at, stop):
        at = item.end()
        if box := _BOX.match(text, at, stop):
            cuts.hide(at, box.end(), "☐" if box[0] == "[ ]" else "☑")
    if label := _LABEL.match(text, at, stop):
        cuts.hide(at, label.end())
    if heading := _HEADING.match(text, at, stop):
        cuts.cut(at, heading.end())
        if closing := _HEADING_END.search(text, heading.end(), stop):
            cuts.cut(*closing.span())
    if block_id := _BLOCK_ID.search(text, at, stop):
        cuts.hide(*block_id.span())


class _Inline:
    """Cuts markup inside the paragraphs between `low` and `high`."""

    def __init__(self, cuts: _Cuts, low: int, high: int) -> None:
        self._cuts = cuts
        self._text = cuts.text
        has_bars = self._text.find("|", low, high) >= 0
        self._has_bare_rows = has_bars and _DELIMITER_ROW.search(self._text, low, high) is not None
        self._brackets: list[Range] = []
        self._runs: dict[str, list[Range]] = {}

    def read(self, start: int, end: int) -> None:
        """Cut the markup inside one paragraph. The markup at the ends of its lines was cut before."""
        self._brackets, self._runs = [], {"*": [], "_": [], "~": [], "=": []}
        for found in _TOKEN.finditer(self._text, start, end):
            first, last = found.span()
            if reader := _READERS.get(self._text[first]):
                reader(self, first, last)

    def _code(self, start: int, end: int) -> None:
        ticks = 2 if self._text.startswith("``", start) else 1
        if end - start > 2 * ticks:
            self._cuts.cut(start, start + ticks)
            self._cuts.cut(end - ticks, end)

    def _escape(self, start: int, _: int) -> None:
        self._cuts.cut(start, start + 1)

    def _entity(self, start: int, end: int) -> None:
        self._cuts.cut(start, end, html.unescape(self._text[start:end]).replace("\xa0", " "))

    def _comment(self, start: int, end: int) -> None:
        self._cuts.hide(start, end)

    def _tag(self, start: int, end: int) -> None:
        token = self._text[start:end]
        if token.startswith("<!--"):
            self._cuts.hide(start, end)
        elif not (name := _TAG_NAME.match(token)):  # an address
            self._cuts.cut(start, start + 1)
            self._cuts.cut(end - 1, end)
        elif (shown := _TAGS.get(name[1].lower())) is not None:
            self._cuts.hide(start, end, "" if self._is_at_space(start, end) else shown)

    def _is_at_space(self, start: int, end: int) -> bool:
        return not self._text[start - 1 : start].strip() or not self._text[end : end + 1].strip()

    def _bracket(self, start: int, end: int) -> None:
        token = self._text[start:end].lstrip("!")
        if token == "[":
            self._brackets.append((start, end))
        elif token.startswith("[["):
            self._wikilink(start, end)
        else:
            self._cuts.hide(start, end)  # the mark of a footnote

    def _wikilink(self, start: int, end: int) -> None:
        """Show the alias, or the target with its heading after `>`."""
        text, cuts = self._text, self._cuts
        target, stop = text.index("[[", start) + 2, end - 2
        bar = text.find("|", target, stop)
        alias = bar + 1 if bar >= 0 and text[bar + 1 : stop].strip() else stop
        target_end = stop if bar < 0 else bar - text.startswith("\\", bar - 1)
        if alias == stop or _PICTURE_SIZE.fullmatch(text, alias, stop):
            self._target(start, target, target_end)
            cuts.hide(target_end, stop)
            cuts.cut(stop, end)
        elif cuts.hide(start, alias):
            cuts.cut(stop, end)
        else:
            self._target(start, target, target_end)
            cuts.cut(target_end, alias, " (")
            cuts.cut(stop, end, ")")

    def _target(self, start: int, target: int, end: int) -> None:
        part = self._text.find("#", target, end)
        if part < 0:
            self._cuts.cut(start, target)
        elif part == target:
            self._cuts.cut(start, target + 1)
        else:
            self._cuts.cut(start, target)
            is_block = self._text.startswith("#^", part)
            if not (is_block and self._cuts.hide(part, end)):
                self._cuts.cut(part, part + 1, " > ")

    def _close(self, start: int, end: int) -> None:
        """End a link or a picture: `](target)`, `][name]`, or the text in brackets."""
        opened = self._brackets.pop() if self._brackets else None
        if end - start == 1 or (opened is None and self._text[start + 1] == "["):
            return
        if opened:
            self._cuts.cut(*opened)
        is_bare_picture = opened is not None and opened[1] == start and self._text[opened[0]] == "!"
        name = self._text[start + 2 : end - 1].strip(" <>").split(" ")[0].rpartition("/")[2]
        if not self._cuts.hide(start, end, name if is_bare_picture and not name.startswith("data:") else ""):
            self._cuts.cut(start, start + 1, "" if is_bare_picture else " ")

    def _bar(self, start: int, end: int) -> None:
        """Divide the cells of a row by a dot."""
        text = self._text
        line = text.rfind("\n", 0, start) + 1
        is_first = not text[line:start].strip(" \t>")
        if not (is_first or self._has_bare_rows or text[line : line + _REACH].lstrip(" \t>").startswith("|")):
            return
        while text[start - 1] in " \t" and start > line:
            start -= 1
        while text[end : end + 1] in (" ", "\t"):
            end += 1
        self._cuts.cut(start, end, "" if is_first or text[end : end + 1] in ("", "\n") else " · ")

    def _run(self, start: int, end: int) -> None:
        """Pair a closing run, such as `**`, with the last run of the same character that can open it."""
        mark, length = self._text[start], end - start
        before, after = self._text[start - 1 : start] or "\n", self._text[end : end + 1] or "\n"
        if length > 3 or (mark in "~=" and length != 2) or (before.isdigit() and after.isdigit()):
            return
        can_end = not before.isspace() and not (mark == "_" and after.isalnum())
        can_begin = not after.isspace() and not (mark == "_" and before.isalnum())
        opened = self._runs[mark]
        if can_begin and not (can_end and opened):
            opened.append((start, end))
        while can_end and opened and start < end and opened[-1][1] <= start:
            first, last = opened.pop()
            paired = min(last - first, end - start)
            self._cuts.cut(last - paired, last)
            self._cuts.cut(start, start + paired)
            start += paired
            if first < last - paired:
                opened.append((first, last - paired))


_READERS: Mapping[str, Callable[[_Inline, int, int], None]] = {
    "`": _Inline._code,
    "\\": _Inline._escape,
    "&": _Inline._entity,
    "%": _Inline._comment,
    "<": _Inline._tag,
    "!": _Inline._bracket,
    "[": _Inline._bracket,
    "]": _Inline._close,
    "|": _Inline._bar,
    **dict.fromkeys("*_~=", _Inline._run),
}


def _cut_properties(cuts: _Cuts, start: int, end: int) -> None:
    """Show the metadata as `name value · name value, value`."""
    text, inline = cuts.text, _Inline(cuts, start, end)
    shown_to, separator = start, ""
    lines = [line for line in _lines(text, start, end) if not _ONLY_BRACES.match(text, *line)]
    for number, (begin, stop) in enumerate(lines):
        stop -= len(text[begin:stop]) - len(text[begin:stop].rstrip(" \t,"))
        found = _PROPERTY.match(text, begin, stop)
        before = found or _ITEM.match(text, begin, stop) or _BLANKS.match(text, begin, stop)
        value = before.end() if before else begin
        is_empty = text[value:stop] in _NO_VALUE or _BLOCK_SCALAR.match(text, value, stop) is not None
        has_more = number + 1 < len(lines) and text[lines[number + 1][0]] in " \t-"
        is_left_out = _PICTURE.match(text, value) or (is_empty and not (found and has_more))
        if is_left_out and not cuts.is_marked(begin, stop):
            continue
        if separator == " · " and (found is None or found["item"]):
            separator = ", "
        cuts.cut(shown_to, found.start("name") if found else value, separator)
        if found:
            cuts.cut(found.end("name"), stop if is_empty else value, "" if is_empty else " ")
        inline.read(value, stop)
        for mark in _VALUE_MARKS.finditer(text, value, stop) if text[value : value + 1] in "\"'[{" else ():
            cuts.cut(*mark.span())
        shown_to, separator = stop, " " if is_empty else " · "
    cuts.cut(shown_to, end)
