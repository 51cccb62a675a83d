"""Where in a text is the place that the fragment of a link names: a heading, a block, an anchor? Pure."""

from __future__ import annotations

import difflib
import re

from gnod.ingest.text.outline import outline

_BLOCK = re.compile(r"(?:^|\s)\^([\w-]{1,100})[ \t]*$", re.M)
_ANCHOR = re.compile(
    r"<\w+\s(?:[^<>]{0,500}\s)?(?:id|name)\s*=\s*[\"']?([^\s\"'<>]{1,200})|\{#([\w:.-]{1,200})[^{}\n]{0,100}\}"
)
_LINK = re.compile(r"!?\[\[?([^\[\]\n]*)\](?:\]|\([^()\n]*\))?")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]+")


class LinkPlaces:
    """The places of a Markdown text that links can name."""

    def __init__(self, text: str) -> None:
        headings = outline(text).headings
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
        """Return the line of a place, from 1; None if there is no such place.

        In `#A#B`, as Obsidian writes a heading below another one, only B counts.
        """
        last = fragment.strip("#").rpartition("#")[2]
        if last.startswith("^"):
            start = self._blocks.get(last[1:])
        else:
            start = self._anchors.get(last, self._slugs.get(slug_of(last), 0 if last.lower() in ("", "top") else None))
        return None if start is None else self._text.count("\n", 0, start) + 1

    def suggestion(self, fragment: str) -> str | None:
        """Return the heading that is nearest in writing."""
        slugs = {slug_of(heading): heading for heading in self.headings}
        found = difflib.get_close_matches(slug_of(fragment.rpartition("#")[2]), list(slugs)[:1000], n=1, cutoff=0.6)
        return slugs[found[0]] if found else None


def slug_of(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading; Obsidian's form of it has the same.

    >>> slug_of("What's *new* in 2.0?"), slug_of("[Link](a.md) and `code`")
    ('whats-new-in-20', 'link-and-code')
    """
    text = _LINK.sub(r"\1", heading).strip().lower()
    return _NOT_IN_SLUG.sub("", text).replace(" ", "-")
