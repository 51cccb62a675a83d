"""Find tags and properties in the text of a note. Pure; must not depend on the frontmatter.

Tags have the syntax of Obsidian (https://help.obsidian.md/tags), or `#[[two words]]` as in Logseq. Properties are
`key:: value` on a separate line or list item (Logseq, Dataview), and `[key:: value]` or `(key:: value)` inside a line
(Dataview).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from gnod.ingest.text.metadata import Metadata, each_once, without_links

# The maximum number of tags, and of values.
_MOST = 1000
_LONGEST_LINE = 5000
# A tag ends at punctuation, but not at `_`, `-` and `/`, nor at the joiners inside Persian words and emoji.
_PUNCTUATION = (
    r"\s\0!-,.:-@\[-^`{-~«»¿¡\u2000-\u200b\u200e-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3e\uff40\uff5b-\uff65"
)
# The first alternatives match text with a `#` that does not begin a tag: wikilinks, HTML tags, definitions of links.
_TAG = re.compile(
    r"(?<!#)\[\[[^\[\]\n]{0,1000}\]\]|<[a-z/][^<>\n]{0,1000}>|^ {0,3}\[[^\[\]\n]{1,1000}\]:[ \t]+\S+"
    rf"|(?<!\S)#(?:\[\[(?P<phrase>[^\[\]\n]{{1,200}})\]\]|(?P<tag>[^{_PUNCTUATION}]{{1,200}}))",
    re.IGNORECASE | re.MULTILINE,
)
_KEY = r"(?P<mark>[*_~]{0,3})(?P<key>[^\W\d_](?:[^\s\0!-,.:-@\[-^`{-~]|[ ](?=[^ ])){0,48})(?P=mark)::"
_LINE = re.compile(rf"(?:> ?)*(?P<block>[ \t]*(?:[-*+] +|\d{{1,9}}[.)] +)?(?:\[[ xX]\] +)?){_KEY}[ \t]+(?P<value>\S.*)")
_BRACKETED = tuple(
    re.compile(
        rf"{opening}{_KEY}[ \t]+(?P<value>(?:[^\[\]()\n]|\[\[[^\[\]\n]{{1,500}}\]\]|{inner}){{1,1000}}){closing}"
    )
    for opening, inner, closing in ((r"\[", r"[()]", r"\]"), (r"\(", r"[\[\]]", r"\)"))
)
_MOST_WORDS = 4
# Programs write these properties for internal use.
_OF_PROGRAM = re.compile(r"(?:id|custom_id|collapsed|background-color|heading|logseq\..*|card-.*)\Z")
_TAGS_ONLY = re.compile(r"#[^\s,#]+(?:[\s,]+#[^\s,#]+)*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{0,8}[1-9]|\.0)?", re.ASCII)
_TRUTH = {"true": True, "false": False}


class Stated(NamedTuple):
    """A value as written. `is_of_block`: it belongs to a part of the document, such as a list item."""

    name: str
    value: str
    is_of_block: bool = False


class InlineFields(NamedTuple):
    """`properties`: the result of `joined`."""

    tags: list[str]
    properties: Metadata


NONE = InlineFields([], {})


def find(text: str) -> InlineFields:
    """Return the tags and properties of a canonical text, without its frontmatter and with NUL in place of code."""
    return InlineFields(each_once(islice(_tags(text), _MOST)), joined(_properties(text)))


def _tags(text: str) -> Iterator[str]:
    for match in _TAG.finditer(text) if "#" in text else ():
        tag = match["phrase"] or match["tag"]
        if tag and (name := tag.strip("/-_")) and not name.isdigit():
            yield tag


def _properties(text: str) -> Iterator[Stated]:
    at = text.find(":: ")
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = len(text) if end < 0 else end
        if end - start <= _LONGEST_LINE:
            yield from _stated(text[start:end])
        at = text.find(":: ", end)


def _stated(line: str) -> Iterator[Stated]:
    if whole := _LINE.fullmatch(line):
        yield Stated(whole["key"], whole["value"], bool(whole["block"]))
    else:
        for bracketed in _BRACKETED:
            yield from (Stated(each["key"], each["value"], True) for each in bracketed.finditer(line))


def joined(stated: Iterable[Stated]) -> Metadata:
    """Return the values by name. Several values, or a value in a block, become a list, so that for example the creation
    date of a task does not become the date of its document."""
    found: dict[str, list[object]] = {}
    of_document: set[str] = set()
    for key, written, is_of_block in islice(stated, _MOST):
        words = key.split()
        name = "-".join(words)
        if written.strip() and len(words) <= _MOST_WORDS and not _OF_PROGRAM.match(name):
            value = value_of(written.strip())
            found.setdefault(name, []).extend(value if isinstance(value, list) else [value])
            if not is_of_block:
                of_document.add(name)
    return {name: values[0] if len(values) == 1 and name in of_document else values for name, values in found.items()}


def value_of(text: str) -> object:
    """Return the value of a text: a boolean, a number, names of tags or links, or the text itself."""
    if text in _TRUTH:
        return _TRUTH[text]
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    if _TAGS_ONLY.fullmatch(text):
        return each_once(re.split(r"[\s,]+", text))
    return without_links(text)
