"""Translates reStructuredText, with the directives and roles of Sphinx, to Markdown."""

from __future__ import annotations

import re

from gnod.ingest.formats.markups.line_by_line import Translation, indent, markup
from gnod.ingest.text.inline_fields import Stated, joined

_EXPLICIT = re.compile(r"\s*\.\.(?:\s+|$)")
_TARGET = re.compile(r"_|\[(?=[^\]]*\]\s*$)")
_SUBSTITUTION = re.compile(r"\|([^|]+)\|\s+([\w-]+)::\s*(.*)")
_DIRECTIVE = re.compile(r"([\w:.+-]+)\s?::(?:\s+(.*)|$)")
_NOTE = re.compile(r"\[[^\]]+\]\s")
_OPTION = re.compile(r"\s*:([\w -]+):(?:\s+(.*)|$)")
_FIELD = re.compile(r"(\s*):([^:`\n]{1,80}):(?:\s+(.*)|\s*$)")
_RULE = re.compile(r"([!-/:-@\[-`{-~])\1*\s*$")
_BORDER = re.compile(r"\s*(?:\+[-=+]+\+|=+(?:\s+=+)+|-+(?:\s+-+)+)\s*$")

_CODE_DIRECTIVES = """
    code code-block doctest graphviz ipython math mermaid parsed-literal plantuml productionlist prompt sourcecode
    testcode testoutput uml
"""
_DIRECTIVES_WITHOUT_TEXT = """
    autosummary contents currentmodule default-domain default-role highlight image include index literalinclude meta
    module plot program raw role section-numbering sectnum tabularcolumns target-notes testcleanup testsetup toctree
"""
_CODE = frozenset(_CODE_DIRECTIVES.split())
_WITHOUT_TEXT = frozenset(_DIRECTIVES_WITHOUT_TEXT.split())
_WITHOUT_ARGUMENT = frozenset(["figure", "only", "container", "class", "rst-class", "cssclass", "grid", "ifconfig"])
_NOTES = ["attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning"]
_LABELS = {
    **{name: f"**{name.capitalize()}:**" for name in _NOTES},
    "seealso": "**See also:**",
    "todo": "**To do:**",
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}
_SHOWN_OPTIONS = frozenset({"alt", "caption"})
_FIELDS_WITHOUT_TEXT = frozenset({"orphan", "tocdepth", "nocomments", "nosearch"})

# Each alternative ends at the next mark or has a limit, which bounds backtracking.
_INLINE = re.compile(
    r"``(?P<literal>[^`]+(?:`[^`]+)*)``"
    r"|:[\w+:.-]{1,60}:`(?P<role>[^`]+)`"
    r"|`(?P<text>[^`<>]*)<(?P<url>[^`<>]+)>`__?"
    r"|`(?P<phrase>[^`]+)`__?"
    r"|(?<![\w`/.])(?P<word>[A-Za-z0-9][\w.-]{0,60}[A-Za-z0-9]|[A-Za-z0-9])__?(?=[\s.,;:!?)'\"]|$)"
    r"|\|(?P<substitution>[^|\s][^|\n]*)\||(?P<escape>\\\s)"
)


class _RstReader:
    """Translates the lines in one pass. `_stated`: the fields above all text (docinfo). `_shifts`: for each directive
    around the line, its indentation and how far its content moves to the left, because Markdown reads deep indentation
    as code."""

    def __init__(self, translation: Translation) -> None:
        self._to = translation
        self._source = translation.source
        self._levels: list[tuple[str, bool]] = []
        self._shifts: list[tuple[int, int]] = []
        self._substitutions: dict[str, str] = {}
        self._is_head = True
        self._stated: list[Stated] = []

    def read(self) -> None:
        at = 0
        while at < len(self._source):
            line = self._source[at]
            if not line.strip():
                at += 1
                continue
            while self._shifts and indent(line) <= self._shifts[-1][0]:
                self._shifts.pop()
            at = self._explicit(at) if _EXPLICIT.match(line) else self._heading(at) or self._text(at)
        self._to.translate_inline(_INLINE, self._without_marks)
        self._to.metadata |= joined(self._stated)

    def _explicit(self, at: int) -> int:
        """Read a directive, comment, target, footnote or substitution."""
        rest = self._source[at].strip()[2:].strip()
        if found := _SUBSTITUTION.match(rest):
            if found[2] == "replace":
                self._substitutions[found[1]] = found[3]
            return self._block_end(at)
        if _NOTE.match(rest):
            self._to.prose(at, rest)
            return at + 1
        found = _DIRECTIVE.match(rest)
        if found and not _TARGET.match(rest):
            return self._directive(at, found[1].rpartition(":")[2].lower(), found[2] or "")
        return self._block_end(at) if rest else at + 1

    def _directive(self, at: int, name: str, argument: str) -> int:
        body = self._options(at + 1, indent(self._source[at]))
        if name in _WITHOUT_TEXT:
            return self._block_end(at)
        if name in _CODE:
            end = self._block_end(at)
            self._to.code(body, end)
            if name == "math" and argument:
                self._to.lines[at] = argument
            return end
        label = _LABELS.get(name, "")
        shown = "" if name in _WITHOUT_ARGUMENT else f"**{argument}**" if name in ("rubric", "admonition") else argument
        self._to.prose(at, f"{label} {shown}".strip())
        first = next((line for line in self._source[body : body + 20] if line.strip()), "")
        margin = indent(self._source[at])
        if indent(first) > margin:
            self._shifts.append((margin, indent(first) - margin))
        return body

    def _options(self, at: int, margin: int) -> int:
        """Leave out the options of a directive, except options with text; return the line after them."""
        while at < len(self._source) and indent(self._source[at]) > margin:
            found = _OPTION.match(self._source[at])
            if not found:
                break
            if found[1] in _SHOWN_OPTIONS:
                self._to.prose(at, found[2] or "")
            at += 1
        return at

    def _heading(self, at: int) -> int | None:
        """Read a title with its underline, or between two lines; return the line after it."""
        before = self._line(at - 1) if at else ""
        if before.strip() and not _EXPLICIT.match(before):
            return None
        over = self._rule(at)
        title = self._line(at + 1) if over else self._source[at]
        under = self._rule(at + 2 if over else at + 1)
        if over and not title.strip():
            return at + 1  # a transition
        if not under or (over and over != under) or _RULE.match(title) or (title[:1].isspace() and not over):
            return None
        if len(under) < len(title.rstrip()) and len(under) < 4:
            return None
        style = (under[0], bool(over))
        if style not in self._levels:
            self._levels.append(style)
        place = at + 1 if over else at
        self._to.prose(place, f"{'#' * min(self._levels.index(style) + 1, 6)} {title.strip()}")
        return place + 2

    def _text(self, at: int) -> int:
        """Read a line of text, and the literal block after a paragraph that ends with two colons."""
        line = self._source[at]
        self._is_head = self._is_head and _FIELD.match(line) is not None
        if line.lstrip().startswith(">>> "):
            end = at
            while self._line(end).strip():
                end += 1
            self._to.code(at, end)
            return end
        self._to.prose(at, self._plain(line))
        if not line.rstrip().endswith("::") or self._line(at + 1).strip():
            return at + 1
        self._to.lines[at] = self._to.lines[at].rstrip(": ") + (":" if line.strip() != "::" else "")
        end = self._block_end(at)
        self._to.code(at + 1, end)
        return end

    def _plain(self, line: str) -> str:
        shift = sum(by for _, by in self._shifts)
        line = line[min(shift, indent(line)) :].rstrip()
        if _BORDER.match(line) or _RULE.match(line):
            return ""
        if field := _FIELD.match(line):
            name = field[2].strip()
            if self._is_head:
                self._stated.append(Stated(name.lower(), field[3] or ""))
            return "" if name in _FIELDS_WITHOUT_TEXT else f"{field[1]}{name}: {field[3] or ''}".rstrip()
        return line

    def _rule(self, at: int) -> str:
        """Return the line if it consists of one repeated mark; otherwise ""."""
        line = self._line(at)
        return line.rstrip() if len(line.rstrip()) > 1 and _RULE.match(line) and line.strip() != "::" else ""

    def _line(self, at: int) -> str:
        return self._source[at] if at < len(self._source) else ""

    def _block_end(self, at: int) -> int:
        """Return the line after the lines that are indented deeper than this one."""
        margin = indent(self._source[at])
        end = at + 1
        for place in range(at + 1, len(self._source)):
            if self._source[place].strip():
                if indent(self._source[place]) <= margin:
                    break
                end = place + 1
        return end

    def _without_marks(self, found: re.Match[str]) -> str:
        if found["literal"]:
            return f"`{found['literal']}`"
        if found["role"]:
            return _role_text(found["role"])
        if found["url"]:
            return f"[{found['text'].strip()}]({found['url']})" if found["text"].strip() else found["url"]
        if found["phrase"]:
            return found["phrase"] if found[0].endswith("_") else found[0]
        if found["substitution"]:
            return self._substitutions.get(found["substitution"], found[0])
        return found["word"] or ""


def _role_text(content: str) -> str:
    """Return the text of `text <target>`, or the last part of `~package.module.Name`."""
    title, bracket, _ = content.rpartition("<")
    if bracket and title.strip() and content.rstrip().endswith(">"):
        return title.rstrip()
    return content.rpartition(".")[2] if content.startswith("~") else content.removeprefix("!")


RST = markup("a reStructuredText", "text/x-rst", "rst rest", "rst/1", lambda to: _RstReader(to).read())
