"""Wikilinks as in Obsidian: `[[Note]]`, `[[folder/Note#Heading|shown]]`, `[[Note#^block]]`, and embeds `![[…]]`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gnod.ingest.links.targets import WrittenLink

# In a table, the bar is written as `\|`.
_WIKILINK = re.compile(r"\[\[([^\[\]|\n\0]{1,1000}?)(?:\\?\|[^\[\]\n]{0,1000})?\]\]")


def find(text: str) -> Iterator[WrittenLink]:
    if "[[" not in text:
        return
    for match in _WIKILINK.finditer(text):
        start = match.start()
        is_embed = text[start - 1 : start] == "!"
        start -= is_embed
        if text[start - 1 : start] != "\\":
            target = match[1].strip()
            place = text.index(target, match.start(1))
            yield WrittenLink(start, match.end(), "embed" if is_embed else "wikilink", target, "name", place)
