"""Tags and properties in the text of a note. Pure; must not know the frontmatter.

Tags are those of Obsidian (https://help.obsidian.md/tags), and `#[[two words]]` of Logseq. Properties are `key:: value`
in a line of its own, also of a list (Logseq, Dataview), and `[key:: value]` or `(key:: value)` inside one (Dataview).
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
# A tag ends at punctuation, but not at `_`, `-` and `/`, nor at the joiners inside of Persian words and of emoji.
_PUNCTUATION = (
    r"\s\0!-,.:-@\[-^`{-~«»¿¡\u2000-\u200b\u200e-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3e\uff40\uff5b-\uff65"
)
# The first alternatives are what has a `#` that begins no tag: wikilinks, tags of HTML, definitions of links.
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
# Programs write these for themselves.
_OF_PROGRAM = re.compile(r"(?:id|custom_id|collapsed|background-color|heading|logseq\..*|card-.*)\Z")
_TAGS_ONLY = re.compile(r"#[^\s,#]+(?:[\s,]+#[^\s,#]+)*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{0,8}[1-9]|\.0)?", re.ASCII)
_TRUTH = {"true": True, "false": False}


class Stated(NamedTuple):
    """A value as it is written. `is_of_block`: it belongs to a part of the document, such as an item of a list."""

    name: str
    value: str
    is_of_block: bool = False


class InlineFields(NamedTuple):
    """`properties`: see `joined`."""

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
    """Return the values of names. A name with several values, or with one in a block, has a list of them: so a
    task that was created at some time does not date its document."""
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
    """Return the value that a text is: a truth, a number, names of tags or links, else itself."""
    if text in _TRUTH:
        return _TRUTH[text]
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    if _TAGS_ONLY.fullmatch(text):
        return each_once(re.split(r"[\s,]+", text))
    return without_links(text)
