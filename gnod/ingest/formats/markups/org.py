"""Translates Org mode to Markdown."""

from __future__ import annotations

import re

from gnod.ingest.formats.markups.line_by_line import CODE_INDENT, Translation, markup
from gnod.ingest.text.inline_fields import Stated, joined
from gnod.ingest.text.metadata import each_once

_HEADING = re.compile(r"(\*{1,20})\s+(\S.*)")
_PRIORITY = re.compile(r"\[#\w\]\s*")
_TAGS = re.compile(r":(?:[\w@#%]+:)+")
_KEYWORD = re.compile(r"\s*#\+(\w+)(?:\[[^\]]*\])?:\s*(.*)")
_BEGIN = re.compile(r"\s*#\+begin_(\w+)\s*([\w+-]*)", re.I)
_DRAWER = re.compile(r"\s*:([\w-]+):\s*$")
_HIDDEN_DRAWERS = frozenset({"properties", "logbook", "clock"})
_CODE = frozenset({"src", "example"})
_HIDDEN_BLOCKS = frozenset({"comment", "export"})
_SHOWN_KEYWORDS = frozenset({"caption", "subtitle"})
_RULE = re.compile(r"\s*\|[-+|]+\s*$|\s*-{5,}\s*$")
_ALIAS = re.compile(r'"([^"]+)"|(\S+)')
_PROPERTY = re.compile(r"\s*:([\w-]+)\+?:\s+(\S.*)")
_TIME = re.compile(r"[<\[](\d{4}-\d\d-\d\d)(?: [^\s\d<>\[\]]{1,9})?(?: (\d\d?:\d\d))?[^<>\[\]\n]{0,40}[>\]]")
# Keywords with metadata of the file. Other keywords set options.
_STATED_NAMES = """
    author category created date description email keywords language modified published status type updated
"""
_STATED_KEYWORDS = frozenset(_STATED_NAMES.split())

# Each alternative ends at the next mark, which bounds backtracking.
_INLINE = re.compile(
    r"\[\[(?P<target>[^\[\]]+)\](?:\[(?P<text>[^\[\]]+)\])?\]"
    r"|(?<![\w=])=(?P<verbatim>[^\s=](?:[^=\n]*[^\s=])?)=(?![\w=])|(?<![\w~])~(?P<code>[^\s~](?:[^~\n]*[^\s~])?)~(?![\w~])"
    r"|<<<?[^<>\n]{1,100}>>>?"
)


class _OrgReader:
    def __init__(self, translation: Translation) -> None:
        self._to = translation
        self._source = translation.source
        self._states = {"TODO", "DONE"}
        self._absent: set[str] = set()
        self._has_title = False
        self._tags: list[str] = []
        self._stated: list[Stated] = []
        self._is_below_heading = False

    def read(self) -> None:
        keywords = [(at, found) for at, line in enumerate(self._source) if (found := _KEYWORD.match(line))]
        for at, found in keywords:
            self._keyword(at, found[1].lower(), found[2].strip())
        at = 0
        while at < len(self._source):
            at = self._next(at)
        self._to.translate_inline(_INLINE, _without_marks)
        self._to.metadata |= joined(self._stated)
        if tags := each_once(self._tags):
            self._to.metadata["tags"] = tags

    def _keyword(self, at: int, name: str, value: str) -> None:
        if name == "title" and value and not self._has_title:
            self._to.prose(at, f"# {value}")
            self._has_title = True
        elif name in _SHOWN_KEYWORDS:
            self._to.prose(at, value)
        elif name in ("todo", "seq_todo", "typ_todo"):
            self._states |= {word.partition("(")[0] for word in value.split() if word != "|"}
        elif name == "filetags":
            self._tags += re.split(r"[:\s]+", value)
        elif name == "property":
            self._property(*value.partition(" ")[::2])
        elif name in _STATED_KEYWORDS:
            self._property(name, value)

    def _property(self, name: str, written: str) -> None:
        """Record a value of the file, or of one of its headings. A name may have several values."""
        if name.lower() == "roam_aliases":
            self._stated += [Stated("aliases", quoted or plain) for quoted, plain in _ALIAS.findall(written)]
        else:
            bare = _TIME.sub(lambda found: " ".join(filter(None, found.groups())), written)
            self._stated.append(Stated(name.lower(), _INLINE.sub(_without_marks, bare), self._is_below_heading))

    def _next(self, at: int) -> int:
        """Translate the line or block that begins here; return the line after it."""
        line = self._source[at].rstrip()
        if begin := _BEGIN.match(line):
            return self._block(at, begin[1].lower(), begin[2])
        if drawer := _DRAWER.match(line):
            return self._drawer(at, drawer[1].lower())
        bare = line.lstrip()
        if heading := _HEADING.match(line):
            self._to.prose(at, self._heading(len(heading[1]), heading[2]))
        elif bare.startswith(": ") or bare == ":":
            self._to.lines[at] = CODE_INDENT + bare[2:]
        elif bare and not bare.startswith(("#+", "# ")) and bare != "#" and not _RULE.match(line):
            self._to.prose(at, line)
        return at + 1

    def _heading(self, level: int, text: str) -> str:
        self._is_below_heading = True
        before, _, last = text.rpartition(" ")
        if _TAGS.fullmatch(last):
            text = before
            self._tags += last.split(":")
        state, _, rest = text.partition(" ")
        text = rest if state in self._states or state == "COMMENT" else text
        return f"{'#' * min(level + self._has_title, 6)} {_PRIORITY.sub('', text, count=1).strip()}"

    def _block(self, at: int, kind: str, language: str) -> int:
        """Read a block to its end. The lines of quotes, verses and other blocks are prose."""
        end = self._find(at, rf"\s*#\+end_{kind}\s*$")
        if end is None or kind not in _CODE | _HIDDEN_BLOCKS:
            return at + 1
        if kind in _CODE:
            self._to.lines[at] = self._to.fence + (language if kind == "src" else "")
            self._to.lines[at + 1 : end] = self._source[at + 1 : end]
            self._to.lines[end] = self._to.fence
        return end + 1

    def _drawer(self, at: int, name: str) -> int:
        if name not in _HIDDEN_DRAWERS:
            return at + 1
        end = self._find(at, r"\s*:end:\s*$|\*+\s")
        if end is None:
            return at + 1
        if name == "properties":
            for found in filter(None, map(_PROPERTY.match, self._source[at + 1 : end])):
                self._property(found[1], found[2])
        return end + (self._source[end][:1] != "*")

    def _find(self, at: int, pattern: str) -> int | None:
        """Return the next line that matches. A pattern that was not found is not searched again."""
        if pattern in self._absent:
            return None
        expression = re.compile(pattern, re.I)
        for place in range(at + 1, len(self._source)):
            if expression.match(self._source[place]):
                return place
        self._absent.add(pattern)
        return None


def _without_marks(found: re.Match[str]) -> str:
    if target := found["target"]:
        is_address = "://" in target or target.startswith("mailto:")
        return f"[{found['text']}]({target})" if found["text"] and is_address else found["text"] or target
    code = found["verbatim"] or found["code"]
    return f"`{code}`" if code else ""


ORG = markup("an Org text", "text/org", "org", "org/1", lambda to: _OrgReader(to).read())
