"""Does a text have the place that the fragment of a link names: a heading, a block, an anchor? Pure."""

from __future__ import annotations

import difflib
import re

from gnod.ingest.outline import outline

_BLOCK = re.compile(r"(?:^|\s)\^([\w-]{1,100})[ \t]*$", re.M)
_ANCHOR = re.compile(
    r"<\w+\s(?:[^<>]{0,500}\s)?(?:id|name)\s*=\s*[\"']?([^\s\"'<>]{1,200})|\{#([\w:.-]{1,200})[^{}\n]{0,100}\}"
)
_LINK = re.compile(r"!?\[\[?([^\[\]\n]*)\](?:\]|\([^()\n]*\))?")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]+")


class Places:
    """The places of a Markdown text that links can name."""

    def __init__(self, text: str) -> None:
        self.headings = [each.text for each in outline(text).headings]
        self._blocks = frozenset(_BLOCK.findall(text))
        self._anchors = frozenset(first or second for first, second in _ANCHOR.findall(text))
        self._slugs: set[str] = set()
        for heading in self.headings:
            slug = base = slug_of(heading)
            number = 0
            while slug in self._slugs and number < len(self.headings):
                number += 1
                slug = f"{base}-{number}"  # as GitHub numbers headings with equal text
            self._slugs.add(slug)

    def has(self, fragment: str) -> bool:
        """Tell whether there is such a place. Of `#A#B`, as Obsidian writes a heading below another one, B counts."""
        last = fragment.strip("#").rpartition("#")[2]
        if last.startswith("^"):
            return last[1:] in self._blocks
        return last in self._anchors or slug_of(last) in self._slugs or last.lower() in ("", "top")

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
