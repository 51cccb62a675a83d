"""Find the links in Org source text (Org manual, section 4): `[[target][text]]`, plain and angle addresses, and
`#+include:`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from gnod.ingest.links.finding import addresses, in_turn, masked
from gnod.ingest.links.targets import WrittenLink

_EDGE = re.compile(r"^[ \t]*#\+(begin|end)_(src|example|export|comment)\b[^\n]*$", re.I | re.M)
_HIDDEN = re.compile(
    r"^[ \t]*(?::[ \t].*|#[ \t].*)$|(?<![\w=~])([=~])[^\s=~](?:[^=~\n]{0,500}[^\s=~])?\1(?![\w=~])", re.M
)
_LINK = re.compile(r"\[\[([^\[\]\n\0]{1,2000})\](?:\[[^\[\]]{0,2000}\])?\]")
_INCLUDE = re.compile(r"^[ \t]*#\+(?:include|setupfile):[ \t]*(?:\"([^\"\n]{1,1000})\"|(\S{1,1000}))", re.I | re.M)
_ANGLE = re.compile(r"<((?:file|https?|ftp|mailto):[^<>\n\0]{1,2000})>")
_FILE = re.compile(r"(?:file(?:\+\w+)?|attachment):")
_PATH = re.compile(r"\.{0,2}/|~/")
_SEARCH = re.compile(r"::")
_ID = re.compile(r"^[ \t]*:ID:[ \t]+(\S{1,200})[ \t]*$", re.I | re.M)


def find(text: str) -> Iterator[WrittenLink]:
    text = masked(text, _blocks(text))
    text = masked(text, (match.span() for match in _HIDDEN.finditer(text)))
    yield from in_turn(text, partial(_matches, _LINK), partial(_matches, _ANGLE), _includes, addresses)


def ids(text: str) -> list[str]:
    """Return the ids from the properties of headings and of the file."""
    return [match[1] for match in _ID.finditer(text)]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of closed blocks of code and of hidden text."""
    opened: re.Match[str] | None = None
    for edge in _EDGE.finditer(text):
        if edge[1].lower() == "begin":
            opened = opened or edge
        elif opened and opened[2].lower() == edge[2].lower():
            yield opened.start(), edge.end()
            opened = None


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[WrittenLink]:
    for match in pattern.finditer(text):
        yield _found(match.span(), match[1], match.start(1))


def _includes(text: str) -> Iterator[WrittenLink]:
    for match in _INCLUDE.finditer(text):
        group = 1 if match[1] else 2
        path = _SEARCH.split(match[group])[0]
        yield WrittenLink(*match.span(), "include", path, "file", match.start(group))


def _found(span: tuple[int, int], target: str, place: int) -> WrittenLink:
    target = target.replace("\\", "")
    if target.startswith("id:"):
        return WrittenLink(*span, "org", target[3:].partition("::")[0], "id")
    if prefix := _FILE.match(target):
        return WrittenLink(*span, "org", _with_fragment(target[prefix.end() :]), "file", place + prefix.end())
    if _PATH.match(target):
        return WrittenLink(*span, "org", _with_fragment(target), "file", place)
    if ":" in target.partition(" ")[0]:
        return WrittenLink(*span, "url", target)  # the target has another protocol
    return WrittenLink(*span, "org", "#" + target.removeprefix("#"), "file")  # the target is in the same file


def _with_fragment(target: str) -> str:
    path, search, place = target.partition("::")
    return f"{path}#{place}" if search else path
