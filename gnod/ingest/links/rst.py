"""Find the links in reStructuredText source, including the roles and directives of Sphinx."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from gnod.ingest.links.finding import addresses, in_turn, masked
from gnod.ingest.links.targets import Addressing, WrittenLink

_ROLE = re.compile(r":(?P<role>doc|ref|download|numref):`(?P<content>[^`\0]{1,1000})`")
_WITH_TEXT = re.compile(r"[^<>]*<(?P<target>[^<>]{1,1000})>\s*\Z")
_INSIDE = re.compile(r"[\w:`\\]")  # no phrase starts after one of these
_PHRASE = re.compile(r"`(?P<content>[^`\0]{1,1000})`__?(?!\w)")
# A pattern that begins with a literal is much faster: it finds the end of the word first.
_END_OF_WORD = re.compile(r"_(?=[\s.,;:!?)'\"\]]|\Z)")
_MOST_LETTERS = 62
_WORD = re.compile(rf"(?<![\w`:./|\\-])[A-Za-z0-9](?:[\w.+-]{{0,{_MOST_LETTERS - 2}}}[A-Za-z0-9])?\Z")
_TARGET = re.compile(
    r"^[ \t]*\.\.[ \t]+_(?:`(?P<quoted>[^`\n]{1,300})`|(?P<plain>(?:[^:\n\\]|\\.){1,300})):"
    r"[ \t]*(?P<address>\S[^\n]{0,2000})?$",
    re.M,
)
_DIRECTIVE = re.compile(
    r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]{1,100}\|[ \t]+)?(?P<name>include|literalinclude|image|figure)::"
    r"[ \t]+(?P<path>\S[^\n]{0,1000})$",
    re.M,
)
_TOCTREE = re.compile(
    r"^(?P<margin>[ \t]*)\.\.[ \t]+toctree::[^\n]*\n(?P<body>(?:(?P=margin)[ \t]+[^\n]*\n?|[ \t]*\n)*)", re.M
)
_ENTRY = re.compile(r"^[ \t]+(?!:)(?:(?P<shown>[^\n<>]+)<(?P<named>[^\n<>]+)>|(?P<path>\S[^\n]*?))[ \t]*$", re.M)
_LITERAL = re.compile(r"``(?:[^`]|`(?!`)){1,1000}``")
_CODE = re.compile(
    r"^(?P<margin>[ \t]*)(?:\.\.[ \t]+(?:code|code-block|sourcecode|parsed-literal|math|highlight|doctest)::[^\n]*"
    r"|(?!\.\.[ \t])[^\n]*::)[ \t]*\n(?P<body>(?:[ \t]*\n|(?P=margin)[ \t]+[^\n]*(?:\n|\Z))+)",
    re.M,
)
_ADDRESSINGS: dict[str, Addressing] = {"doc": "document", "ref": "label", "numref": "label", "download": "document"}
_NOWHERE: tuple[str, int] = ("", -1)
_TEXT_DIRECTIVES = frozenset({"include", "literalinclude"})


def find(text: str) -> Iterator[WrittenLink]:
    if "::" in text:
        text = masked(text, (match.span("body") for match in _CODE.finditer(text)))
    text = masked(text, (match.span() for match in _LITERAL.finditer(text)))
    targets = list(_TARGET.finditer(text))
    named = {_name(match): _address(match) for match in targets}
    text = masked(text, (match.span() for match in targets))
    references = partial(_references, named=named)
    yield from in_turn(text, _directives, _toctrees, _roles, references, addresses)


def labels(text: str) -> list[str]:
    """Return the names of places in the text. `:ref:` can use them in every document."""
    return [_name(match) for match in _TARGET.finditer(text) if not match["address"]]


def _name(match: re.Match[str]) -> str:
    return " ".join((match["quoted"] or match["plain"]).replace("\\", "").split()).casefold()


def _address(match: re.Match[str]) -> tuple[str, int]:
    """Return the address of a named target, or the target itself, and the position of the address in the text."""
    address = (match["address"] or "").strip()
    if address and not address.endswith("_"):
        return address, match.start("address")
    return f"#{_name(match)}", -1


def _directives(text: str) -> Iterator[WrittenLink]:
    for match in _DIRECTIVE.finditer(text):
        is_text = match["name"] in _TEXT_DIRECTIVES
        path = match["path"].strip()
        if path.startswith("<"):  # a file of the docutils installation
            continue
        kind = "include" if is_text else "image"
        yield WrittenLink(
            *match.span(), kind, path, "document" if path.startswith("/") else "file", match.start("path")
        )


def _toctrees(text: str) -> Iterator[WrittenLink]:
    for tree in _TOCTREE.finditer(text) if "toctree::" in text else ():
        for entry in _ENTRY.finditer(text, *tree.span("body")):
            group = "named" if entry["named"] else "path"
            target = entry[group].strip()
            if target != "self" and "*" not in target:
                place = text.index(target, entry.start(group))
                yield WrittenLink(*entry.span(), "toctree", target, "document", place)


def _roles(text: str) -> Iterator[WrittenLink]:
    for match in _ROLE.finditer(text):
        content = " ".join(match["content"].split())
        named = _WITH_TEXT.match(content)
        target = named["target"] if named else content
        place = text.rfind(target, *match.span("content"))
        yield WrittenLink(*match.span(), match["role"], target, _ADDRESSINGS[match["role"]], place)


def _references(text: str, named: dict[str, tuple[str, int]]) -> Iterator[WrittenLink]:
    for match in _PHRASE.finditer(text):
        if _INSIDE.match(text, max(match.start() - 1, 0), match.start()):
            continue
        content = " ".join(match["content"].split())
        if with_text := _WITH_TEXT.match(content):
            target: str | None = with_text["target"]
            place = text.rfind(with_text["target"], *match.span("content"))
            if target and target.endswith("_"):
                target, place = named.get(target[:-1].casefold(), _NOWHERE)
        else:
            target, place = named.get(content.casefold(), (f"#{content}", -1))  # the target may also be a heading
        if target:
            yield WrittenLink(*match.span(), "rst", target, place=place)
    for match in _END_OF_WORD.finditer(text) if named else ():
        end = match.start()
        word = _WORD.search(text, max(end - _MOST_LETTERS, 0), end)
        target, place = named.get(word[0].casefold(), _NOWHERE) if word else _NOWHERE
        if word and target:
            yield WrittenLink(word.start(), match.end(), "rst", target, place=place)
