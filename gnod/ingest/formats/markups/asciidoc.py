"""Translates AsciiDoc to Markdown."""

from __future__ import annotations

import re
import string

from gnod.ingest.formats.markups.line_by_line import Translation, markup
from gnod.ingest.text.inline_fields import value_of

_HEADING = re.compile(r"(={1,6})\s+(\S.*)")
_ATTRIBUTE = re.compile(r":!?([\w][\w-]*)!?:(?:\s+(.*)|\s*$)")
_BLOCK_ATTRIBUTES = re.compile(r"\[(?:\[.*\]|.*)\]\s*$")
_ADMONITION = re.compile(r"\[(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\b")
_SOURCE = re.compile(r"\[(?:source)?[%\w]*,\s*([\w+#-]+)|\[source")
_MACRO = re.compile(r"(?:include|ifn?def|endif|ifeval|toc|video|audio|image)::[^\[\n]*\[(.*)\]\s*$")
_VERBATIM = re.compile(r"(-{4,}|\.{4,}|`{3,}\w*|\+{4,}|/{4,})\s*$")
_WORD = re.compile(r"[a-zA-Z0-9]+\Z")
_CONTAINER = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--|[|,:!]={3,}|\+|'{3,}|<{3,})\s*$")
_BLOCK_TITLE = re.compile(r"\.([^\s.].*)")
_UNDERLINE = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}

# Each alternative ends at the next mark or has a limit, which bounds backtracking.
_INLINE = re.compile(
    r"`(?P<literal>[^`\n]+)`"
    r"|(?:\blink:|\bxref:|\bmailto:)(?P<target>[^\s\[\]<>]{1,500})\[(?P<label>[^\]]*)\]"
    r"|(?P<url>\bhttps?://[^\s\[\]<>]{1,500})\[(?P<title>[^\]]*)\]"
    r"|<<(?P<id>[^<>,\n]{1,200})(?:,(?P<reference>[^<>]{1,500}))?>>"
    r"|\b(?:image|icon):[^\s\[\]:]{0,500}\[(?P<alt>[^\]]*)\]"
    r"|\b(?:kbd|btn|footnote|pass|menu|stem):[\w,>-]{0,60}\[(?P<shown>[^\]]*)\]"
    r"|\[\[[\w,. -]{1,200}\]\]|\[[.#][\w.#-]{1,100}\](?=[#*_`])"
    r"|\{(?P<attribute>[\w-]{1,60})\}"
)
_PROGRAM_ATTRIBUTES = {"nbsp": " ", "empty": "", "sp": " ", "plus": "+", "asterisk": "*", "vbar": "|", "tilde": "~"}
_STATED_NAMES = "author authors category categories created date description keywords lang status tags type updated"
_STATED = {name: name for name in _STATED_NAMES.split()} | {"revdate": "date", "page-tags": "tags"}
_LONGEST_VALUE = 200  # a longer value could make a small file large


class _AsciidocReader:
    def __init__(self, translation: Translation) -> None:
        self._to = translation
        self._source = translation.source
        self._values = dict(_PROGRAM_ATTRIBUTES)
        self._language = ""

    def read(self) -> None:
        at = 0
        while at < len(self._source):
            at = self._next(at)
        self._to.translate_inline(_INLINE, self._without_marks)

    def _next(self, at: int) -> int:
        """Translate the line or block that begins here; return the line after it."""
        line = self._source[at].rstrip()
        if level := self._underlined(at):
            self._to.prose(at, f"{'#' * level} {line.strip()}")
            return at + 2
        if delimiter := _VERBATIM.match(line):
            return self._verbatim(at, delimiter[1])
        if not line or line.startswith("//") or _CONTAINER.match(line):
            return at + 1
        if attribute := _ATTRIBUTE.match(line):
            return self._attribute(at, attribute[1], attribute[2] or "")
        if _BLOCK_ATTRIBUTES.match(line):
            self._attributes(at, line)
        elif heading := _HEADING.match(line):
            self._to.prose(at, f"{'#' * len(heading[1])} {heading[2]}")
        elif macro := _MACRO.match(line):
            self._to.lines[at] = _first(macro[1]) if line.startswith("image") else ""
        elif title := _BLOCK_TITLE.match(line):
            self._to.prose(at, f"**{title[1]}**")
        else:
            self._to.prose(at, line)
        return at + 1

    def _underlined(self, at: int) -> int:
        """Return the level of a title that is underlined over about its length; 0 for other lines."""
        title = self._source[at].rstrip()
        below = self._source[at + 1].rstrip() if at + 1 < len(self._source) else ""
        before = self._source[at - 1].strip() if at else ""
        if len(below) < 3 or below.strip(below[0]) or below[0] not in _UNDERLINE:
            return 0
        is_title = (
            title[:1].isalnum() and not (before and not before.endswith("]")) and abs(len(title) - len(below)) <= 2
        )
        return _UNDERLINE[below[0]] if is_title else 0

    def _verbatim(self, at: int, delimiter: str) -> int:
        """Read a listing, a comment, or content for other formats to its closing line, or to the end."""
        closing = delimiter.rstrip(string.ascii_letters)
        places = range(at + 1, len(self._source))
        end = next((place for place in places if self._source[place].rstrip() == closing), len(self._source))
        if delimiter[0] not in "/+":
            language = delimiter.lstrip("`") if delimiter[0] == "`" else self._language
            self._to.lines[at] = self._to.fence + language
            for place in range(at + 1, end):
                self._to.lines[place] = "" if _MACRO.match(self._source[place]) else self._source[place]
            if end < len(self._source):
                self._to.lines[end] = self._to.fence
        self._language = ""
        return end + 1

    def _attribute(self, at: int, name: str, value: str) -> int:
        end = at + 1
        while end < len(self._source) and self._source[end - 1].rstrip().endswith(" \\"):
            end += 1
        if end == at + 1 and len(value) <= _LONGEST_VALUE:
            self._values.setdefault(name, value)
        if name in _STATED and value:
            self._to.metadata.setdefault(_STATED[name], value_of(value))
        return end

    def _attributes(self, at: int, line: str) -> None:
        if admonition := _ADMONITION.match(line):
            self._to.lines[at] = f"**{admonition[1].capitalize()}:**"
        if source := _SOURCE.match(line):
            self._language = source[1] or ""

    def _without_marks(self, found: re.Match[str]) -> str:
        if found["literal"] is not None:
            return found[0]
        if found["target"]:
            label = _first(found["label"])
            return label or found["target"] if found[0].startswith("xref") else _link(label, found["target"])
        if found["url"]:
            return _link(_first(found["title"]), found["url"])
        if found["id"]:
            return found["reference"] or found["id"]
        if found["attribute"]:
            return self._values.get(found["attribute"], found[0])
        if found["shown"]:
            return f" ({found['shown']})" if found[0].startswith("footnote") else found["shown"]
        return _first(found["alt"]) if found["alt"] and found[0].startswith("image") else ""


def _first(attributes: str) -> str:
    """Return the text in the brackets of a macro. The text ends at a caret or at the first named attribute."""
    if attributes.startswith('"'):
        return attributes[1:].partition('"')[0]
    if "=" in attributes.partition(",")[0]:
        return ""
    return re.split(r"\^|,\s*\w+\s*=", attributes, maxsplit=1)[0].strip()


def _link(label: str, target: str) -> str:
    return f"[{label}]({target})" if label else target


ASCIIDOC = markup(
    "an AsciiDoc text", "text/asciidoc", "adoc asciidoc", "asciidoc/1", lambda to: _AsciidocReader(to).read()
)
