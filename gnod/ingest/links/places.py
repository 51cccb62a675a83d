"""Find the heading, block or anchor in a text that the fragment of a link names. Pure."""

from __future__ import annotations

import difflib
import re

from gnod.ingest.text.outline import outline, paths

_BLOCK = re.compile(r"(?:^|\s)\^([\w-]{1,100})[ \t]*$", re.M)
_ANCHOR = re.compile(
    r"<\w+\s(?:[^<>]{0,500}\s)?(?:id|name)\s*=\s*[\"']?([^\s\"'<>]{1,200})|\{#([\w:.-]{1,200})[^{}\n]{0,100}\}"
)
_LINK = re.compile(r"!?\[\[?([^\[\]\n]*)\](?:\]|\([^()\n]*\))?")
_BELOW = re.compile(r"#|\s>\s")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]+")


class LinkPlaces:
    """The places of a Markdown text that links can name."""

    def __init__(self, text: str) -> None:
        self._outline = headings = outline(text).headings
        self.headings = [each.text for each in headings]
        self._text = text
        self._blocks = {match[1]: match.start(1) for match in reversed([*_BLOCK.finditer(text)])}
        self._anchors = {match[1] or match[2]: match.start() for match in reversed([*_ANCHOR.finditer(text)])}
        self._slugs: dict[str, int] = {}
        for heading in headings:
            slug = base = slug_of(heading.text)
            number = 0
            while slug in self._slugs and number < len(headings):
                number += 1
                slug = f"{base}-{number}"  # GitHub numbers headings with equal text like this
            self._slugs[slug] = heading.start

    def has(self, fragment: str) -> bool:
        return self.line_of(fragment) is not None

    def line_of(self, fragment: str) -> int | None:
        """Return the line of a place, from 1; None if the text does not have the place."""
        lines = self.lines_of(fragment)
        return lines and lines[0]

    def lines_of(self, fragment: str) -> tuple[int, int | None] | None:
        """Return the first line of a place and, for a heading, the last line of its section."""
        if (start := self._start_of(fragment)) is None:
            return None
        levels = {each.start: each.level for each in self._outline}
        if (level := levels.get(start)) is None:
            return self._line(start), None
        end = next((at for at, other in levels.items() if at > start and other <= level), None)
        return self._line(start), self._text.count("\n") if end is None else self._line(end) - 1

    def _line(self, start: int) -> int:
        return self._text.count("\n", 0, start) + 1

    def _start_of(self, fragment: str) -> int | None:
        """Return the start of a place. `A#B` (as in Obsidian) and `A > B` (as in hits) name the heading B below A; if
        A has no such heading, any heading B counts."""
        *above, last = [*filter(None, _BELOW.split(fragment))] or [""]
        if last.startswith("^"):
            return self._blocks.get(last[1:])
        if above and (start := self._below(above, last)) is not None:
            return start
        known = self._slugs.get(slug_of(fragment), self._slugs.get(slug_of(last)))
        return self._anchors.get(last, 0 if known is None and last.lower() in ("", "top") else known)

    def _below(self, above: list[str], name: str) -> int | None:
        slugs = [*map(slug_of, above), slug_of(name)]
        for path in paths(self._outline):
            if [slug_of(each.text) for each in path][-len(slugs) :] == slugs:
                return path[-1].start
        return None

    def suggestion(self, fragment: str) -> str | None:
        """Return the heading with the most similar spelling."""
        slugs = {slug_of(heading): heading for heading in self.headings}
        last = slug_of(_BELOW.split(fragment)[-1])
        found = difflib.get_close_matches(last, list(slugs)[:1000], n=1, cutoff=0.6)
        return slugs[found[0]] if found else None


def slug_of(heading: str) -> str:
    """Return GitHub's anchor for a heading. Obsidian's form of the heading gives the same anchor.

    >>> slug_of("What's *new* in 2.0?"), slug_of("[Link](a.md) and `code`")
    ('whats-new-in-20', 'link-and-code')
    """
    text = _LINK.sub(r"\1", heading).strip().lower()
    return _NOT_IN_SLUG.sub("", text).replace(" ", "-")
