"""Find the links in Markdown (CommonMark 0.31, sections 4.7 and 6.3 to 6.5), wikilinks and HTML, but not in code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gnod.ingest.links.finding import addresses, in_turn, masked
from gnod.ingest.links.targets import WrittenLink
from gnod.ingest.text.outline import Outline

# A text without any of these signs has no links.
_SIGNS = ("](", "]:", "[[", "://", "<")
# Most brackets contain no others, so they are matched in pairs. Simple destinations, the most common ones, are matched
# with them.
_BRACKET = re.compile(r"\\.|\[[^\[\]\\]{0,1000}\](?:\((?P<simple>[^\s()<>\\\0]{1,2000})\))?|[\[\]]", re.DOTALL)
_CHARACTER = r"(?:\\[!-/:-@\[-`{-~]|[^\s()\0])"
_DESTINATION = (
    rf"(?:<(?P<angle>[^<>\n\0]{{0,2000}})>"
    rf"|(?P<bare>(?!<){_CHARACTER}{{0,2000}}(?:\({_CHARACTER}{{0,500}}\){_CHARACTER}{{0,500}}){{0,20}}))"
)
_INLINE = re.compile(
    rf"\([ \t]*\n?[ \t]*{_DESTINATION}"
    r"(?:[ \t]*\n?[ \t]*(?<=\s)(?:\"(?:\\.|[^\"\\]){0,1000}\"|'(?:\\.|[^'\\]){0,1000}'|\([^()]{0,1000}\)))?"
    r"[ \t]*\n?[ \t]*\)"
)
_LABEL = re.compile(r"\[([^\[\]]{0,999})\]")
_DEFINITION = re.compile(
    r"^ {0,3}(?:> ?){0,9}\[(?P<label>[^\[\]^\n][^\[\]\n]{0,999})\]:[ \t]*\n?[ \t]*"
    r"(?:<(?P<angle>[^<>\n]{0,2000})>|(?P<bare>[^\s<]\S{0,2000}))",
    re.MULTILINE,
)
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\0]{1,2000})>")
_TAG = re.compile(
    r"<(?P<tag>a|img)\s(?:[^<>]{0,1000}?\s)?(?:href|src)\s*=\s*"
    r"(?:\"(?P<double>[^\"<>]{1,2000})\"|'(?P<single>[^'<>]{1,2000})'|(?P<bare>[^\s\"'<>=`]{1,2000}))[^<>]{0,1000}>",
    re.I,
)
# Tables escape the bar as `\|`.
_WIKILINK = re.compile(r"\[\[([^\[\]|\n\0]{1,1000}?)(?:\\?\|[^\[\]\n]{0,1000})?\]\]")
_BEFORE_DESTINATION = ("](", "]: ")  # text in angle brackets after one of these is the destination
_TICKS = re.compile(r"`(?:[^`\n]+`(?!`)|`*)")
_INDENTED = re.compile(r"\n\n((?:(?: {4}|\t)[^\n]*(?:\n+|\Z))+)")
_LIST_OR_INDENTED = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s|\Z)|\s|\[\^")
_MOST_OPEN = 100

_Destination = tuple[str, int]
"""A target and its position in the text."""


def find(text: str, hidden: Iterable[tuple[int, int]] = (), *, wiki: bool = True) -> Iterator[WrittenLink]:
    """Yield the links of a canonical text, sorted by syntax. `hidden`: the ranges of frontmatter and fenced code."""
    if not any(sign in text for sign in _SIGNS):
        return
    text = without_code(text, hidden)
    syntaxes = (_autolinks, _bracketed, _html, addresses)
    yield from in_turn(text, *((wikilinks, *syntaxes) if wiki else syntaxes))


def wikilinks(text: str) -> Iterator[WrittenLink]:
    """Yield Obsidian's links: `[[Note]]`, `[[folder/Note#Heading|shown]]`, `[[Note#^block]]`, and embeds `![[…]]`."""
    if "[[" not in text:
        return
    for match in _WIKILINK.finditer(text):
        start = match.start()
        is_embed = text[start - 1 : start] == "!"
        start -= is_embed
        if text[start - 1 : start] != "\\":
            target = match[1].strip()
            place = text.index(target, match.start(1))
            yield WrittenLink(start, match.end(), "embed" if is_embed else "wikilink", target, "name", place)


def fenced(text: str, structure: Outline) -> list[tuple[int, int]]:
    """Return the ranges of fenced code; an unclosed fence extends to the end."""
    return [*structure.fences, (structure.end, len(text))]


def without_code(text: str, hidden: Iterable[tuple[int, int]]) -> str:
    """Return the text with code and comments masked. `hidden`: as in `find`."""
    text = masked(text, [*hidden, *_indented(text)])
    text = masked(text, _spans_of_code(text))
    return masked(text, _comments(text))


def _bracketed(text: str) -> Iterator[WrittenLink]:
    defined, text = _definitions(text)
    if "](" not in text and not defined:
        return
    opened: list[int] = []
    resume = 0
    for bracket in _BRACKET.finditer(text):
        at, end = bracket.span()
        sign = text[at]
        if at < resume or sign == "\\":
            continue
        if sign == "[" and end == at + 1:
            opened.append(at)
            del opened[:-_MOST_OPEN]
        elif sign == "[" or opened:
            start = at if sign == "[" else opened.pop()
            found = _link(text, start, bracket, defined) if start >= 0 else None
            if found:
                yield found
                resume = found.end
                # A link cannot contain another link, so the brackets around it do not count.
                if opened and found.kind != "image":
                    opened = [each if each < 0 or _is_image(text, each) else ~each for each in opened]


def _link(text: str, start: int, closing: re.Match[str], defined: dict[str, _Destination]) -> WrittenLink | None:
    """Return the link whose text is between these brackets."""
    is_image = _is_image(text, start)
    end, kind = closing.end(), "markdown"
    found: _Destination | None = None
    if closing["simple"] is not None:  # nearly all links take this branch
        found = closing["simple"], closing.start("simple")
    elif match := _INLINE.match(text, end):
        end, found = match.end(), _destination(match)
    elif defined:
        label = _LABEL.match(text, end)
        name = label[1] if label and label[1] else text[start + 1 : min(end - 1, start + 1001)]
        end = label.end() if label else end
        found, kind = defined.get(_normalised(name)), "reference"
    if found is None:
        return None
    return WrittenLink(start - is_image, end, "image" if is_image else kind, found[0], place=found[1])


def _destination(match: re.Match[str]) -> _Destination:
    group = "angle" if match["angle"] is not None else "bare"
    return match[group], match.start(group)


def _is_image(text: str, start: int) -> bool:
    return text[start - 1 : start] == "!" and text[max(start - 2, 0) : start - 1] != "\\"


def _definitions(text: str) -> tuple[dict[str, _Destination], str]:
    """Return the addresses by label (the first definition of a label counts), and the text without the definitions."""
    if "]:" not in text:
        return {}, text
    found = list(_DEFINITION.finditer(text))
    defined: dict[str, _Destination] = {}
    for match in found:
        defined.setdefault(_normalised(match["label"]), _destination(match))
    return defined, masked(text, (match.span() for match in found))


def _normalised(label: str) -> str:
    return " ".join(label.split()).casefold()


def _html(text: str) -> Iterator[WrittenLink]:
    if "<" not in text:
        return
    for match in _TAG.finditer(text):
        kind = "image" if match["tag"].lower() == "img" else "html"
        group = match.lastgroup or ""
        yield WrittenLink(*match.span(), kind, match[group], place=match.start(group))


def _autolinks(text: str) -> Iterator[WrittenLink]:
    for match in _AUTOLINK.finditer(text):
        if not text.endswith(_BEFORE_DESTINATION, 0, match.start()):
            yield WrittenLink(*match.span(), "url", match[1])


def _comments(text: str) -> Iterator[tuple[int, int]]:
    start = text.find("<!--")
    while start >= 0 and (end := text.find("-->", start)) >= 0:
        yield start, end + 3
        start = text.find("<!--", end)


def _indented(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of indented blocks outside list items."""
    for match in _INDENTED.finditer(text):
        before = (
            text[: match.start()].rstrip("\n") if match.start() < 200 else text[match.start() - 200 : match.start()]
        )
        if not _LIST_OR_INDENTED.match(before.rpartition("\n")[2]):
            yield match.span(1)


def _spans_of_code(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges between runs of backticks of equal length, within a paragraph."""
    runs = []
    for match in _TICKS.finditer(text):
        start, end = match.span()
        if text[start + 1 : start + 2] in "`" or end - start == 1:
            runs.append((start, end))
        elif text[max(start - 1, 0)] != "\\":
            yield start, end
    following: dict[int, int] = {}
    next_equal = [0] * len(runs)
    for number in range(len(runs) - 1, -1, -1):
        start, end = runs[number]
        next_equal[number] = following.get(end - start, 0)
        following[end - start] = number
    number = 0
    while number < len(runs):
        start, _ = runs[number]
        closing = next_equal[number]
        is_escaped = text[max(start - 1, 0) : start] == "\\"
        if closing and not is_escaped and text.find("\n\n", start, runs[closing][0]) < 0:
            yield start, runs[closing][1]
            number = closing
        number += 1
