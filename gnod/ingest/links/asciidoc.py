"""Find the links in AsciiDoc source text: `link:`, `xref:`, `<<…>>`, `include::`, `image:` and addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gnod.ingest.links.finding import addresses, in_turn, masked
from gnod.ingest.links.targets import Addressing, WrittenLink

_LINE = re.compile(r"^(?P<fence>-{4,}|\.{4,}|/{4,}|\+{4,}|```\w*)[ \t]*$|^//(?!/)[^\n]*$", re.M)
_LITERAL = re.compile(r"(?<![\w`+])(?:`\+[^\n`]{1,500}\+`|\+\+\+[^\n+]{1,500}\+\+\+)")
_MACRO = re.compile(
    r"(?<![\w\\])(?P<name>link|xref|include|image|video|audio)(?P<colons>::?)"
    r"(?:\+\+(?P<passed>[^\s\[\]+]{1,1000})\+\+|(?P<target>[^\s\[\]\0:][^\n\[\]\0]{0,1000}?))\[[^\[\]\n]{0,2000}\]"
)
_CROSS = re.compile(r"(?<!\\)<<(?P<target>[^<>,\n\0]{1,1000})(?:,[^<>\n]{0,1000})?>>")
_EXTENSION = re.compile(r"\.\w{1,10}\Z")
_SPACES_IN_TARGET = frozenset({"include", "image"})


def find(text: str) -> Iterator[WrittenLink]:
    text = masked(text, _not_text(text))
    if "`+" in text or "+++" in text:
        text = masked(text, (match.span() for match in _LITERAL.finditer(text)))
    yield from in_turn(text, _macros, _cross_references, _without_brackets)


def _not_text(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of comments and of blocks of code between two equal lines, without includes in the code."""
    opened: re.Match[str] | None = None
    for match in _LINE.finditer(text):
        fence = match["fence"]
        if opened is None:
            if fence:
                opened = match
            else:
                yield match.span()
        elif fence and fence[:3] == opened["fence"][:3] and len(fence) <= len(opened["fence"]):
            yield from _without_includes(text, opened.start(), match.end())
            opened = None


_INCLUDE_LINE = re.compile(r"^include::[^\n]*$", re.M)


def _without_includes(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _INCLUDE_LINE.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def _macros(text: str) -> Iterator[WrittenLink]:
    for match in _MACRO.finditer(text):
        name, group = match["name"], "passed" if match["passed"] else "target"
        target, place = match[group].strip(), match.start(group)
        if " " in target and name not in _SPACES_IN_TARGET:
            continue
        if "{" in target:  # only the processor knows the value of this attribute
            continue
        kind = {"link": "asciidoc", "xref": "reference"}.get(name, "include" if name == "include" else "image")
        if name == "xref":
            yield _reference(match.span(), target, place, "resource")
        else:
            yield WrittenLink(*match.span(), kind, target, "url" if name == "link" else "file", place)


def _cross_references(text: str) -> Iterator[WrittenLink]:
    for match in _CROSS.finditer(text):
        if "{" not in match["target"]:
            yield _reference(match.span(), match["target"].strip(), match.start("target"))


def _reference(span: tuple[int, int], target: str, place: int, addressing: Addressing = "file") -> WrittenLink:
    """Read a target. Without an extension and `#`, it is a place in the same file. The extension before `#` is
    optional."""
    path, sharp, heading = target.partition("#")
    if not sharp and not _EXTENSION.search(path):
        return WrittenLink(*span, "reference", f"#{path}", "file")
    if path and not _EXTENSION.search(path):
        path += ".adoc"
    return WrittenLink(*span, "reference", f"{path}#{heading}" if heading else path, addressing, place)


def _without_brackets(text: str) -> Iterator[WrittenLink]:
    for found in addresses(text):
        # In `https://example.org[shown]`, the address ends at the bracket.
        target = found.target.partition("[")[0]
        yield found._replace(end=found.start + len(target), target=target)
