"""XML: news feeds become Markdown, everything else stays the text it is, so no parser meets its entities."""

from __future__ import annotations

import re

from gnod.ingest.convert.bridge import through_markitdown
from gnod.ingest.convert.result import ConversionFailed, Converted

_FEED = re.compile(r"<(?:rss\b|(?:\w+:)?feed\b[^<>]*http://www\.w3\.org/2005/Atom)")
_ENTITY = re.compile(r"<!(?:ENTITY|DOCTYPE[^<>]*\[)")
_HEAD = 16 * 1024
_DECLARED = re.compile(r"\A\s*<\?xml[^>]*\?>")


def read_xml(text: str) -> Converted:
    """A feed with entities of its own is not parsed, however harmless the parser."""
    if _FEED.search(text, 0, _HEAD) and not _ENTITY.search(text, 0, _HEAD):
        try:
            # The text is UTF-8 by now, whatever its first line says.
            data = _DECLARED.sub("", text, count=1).encode("utf-8", "replace")
            feed = through_markitdown("RssConverter", data, extension="xml")
        except (ConversionFailed, RecursionError):
            pass
        else:
            return Converted(
                markdown=feed.markdown, mime="application/rss+xml", converter=feed.converter, title=feed.title
            )
    return Converted(markdown=text, mime="text/xml", converter="text/1")
