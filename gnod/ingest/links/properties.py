"""Find the links (`up:`, `related:`, wikilinks in any value) and names (`aliases:`, `id:`) in a note's frontmatter."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gnod.ingest.links.finding import addresses
from gnod.ingest.links.markdown import wikilinks
from gnod.ingest.links.targets import WrittenLink
from gnod.ingest.text import metadata as values
from gnod.ingest.text.metadata import Metadata
from gnod.store.documents.described import aliases

_LINKS = frozenset({"up", "down", "parent", "related", "see-also", "prev", "previous", "next"})
_MOST = 1000


def find(text: str, metadata: Metadata, end: int) -> Iterator[WrittenLink]:
    """Yield the links of the block `text[:end]`, in the order of the values."""
    at = 0
    for name, value in metadata.items():
        for target in _targets(value, is_link=name.lower() in _LINKS):
            is_wiki = target.place >= 0
            before, after = (r"(?<=\[\[)", "") if is_wiki else (r"(?<![\w/])", r"(?![\w/]|\s*:)")
            written = re.compile(before + re.escape(target.target) + after)
            # YAML may fold lines, and does not preserve the order.
            match = written.search(text, at, end) or written.search(text, 0, end)
            start, at = match.span() if match else (0, min(len(target.target), end))
            yield target._replace(start=start, end=at, place=start if match else -1)


def names(metadata: Metadata) -> list[str]:
    """Return the distinct aliases and the id of a note."""
    id_ = values.text(metadata, "id")
    return list(dict.fromkeys((*aliases(metadata), *([id_] if id_ else []))))


def _targets(value: object, *, is_link: bool) -> Iterator[WrittenLink]:
    for each in _flat(value):
        if not isinstance(each, str):
            continue
        wiki = list(wikilinks(each))
        yield from (found._replace(kind="property") for found in wiki)
        if not wiki:
            found_urls = list(addresses(each))
            yield from found_urls
            if is_link and not found_urls and each.strip():
                yield WrittenLink(0, 0, "property", each.strip(), "name")


def _flat(value: object) -> Iterator[object]:
    if target := values.bare_link(value):
        yield f"[[{target}]]"
    elif isinstance(value, list):
        for each in value[:_MOST]:
            yield from _flat(each)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value
