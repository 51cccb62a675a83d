"""XML: news feeds become Markdown; of everything else, the text is stored, and no parser expands its entities."""

from __future__ import annotations

import re

import msgspec

from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.markitdown_bridge import through_markitdown
from gnod.ingest.reading.result import ConversionFailed, Converted, unchanged
from gnod.ingest.reading.xml_text import xml_text

_FEED = re.compile(r"<(?:rss\b|(?:\w+:)?feed\b[^<>]*http://www\.w3\.org/2005/Atom)")
_ENTITY = re.compile(r"<!(?:ENTITY|DOCTYPE[^<>]*\[)")
_HEAD = 16 * 1024
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_CHARSET = re.compile(rb"\A\s*<\?xml[^>]*\sencoding\s*=\s*[\"']([\w.:-]+)[\"']")


def _read(content: FileContent) -> Converted:
    """Read XML. A feed is parsed only if it declares no entities."""
    text = content.text(_CHARSET)
    if _FEED.search(text, 0, _HEAD) and not _ENTITY.search(text, 0, _HEAD):
        try:
            # The text is UTF-8 by now, whatever its first line says.
            data = _DECLARATION.sub("", text, count=1).encode("utf-8", "replace")
            feed = through_markitdown("RssConverter", data, extension="xml")
            return msgspec.structs.replace(feed, mime="application/rss+xml")
        except (ConversionFailed, RecursionError):
            pass
    found = xml_text(text)
    return unchanged(found, converter="xml/1") if found is not text else unchanged(text)


XML = Converter(
    label="an XML text",
    mime="text/xml",
    # XHTML also has these.
    shared_extensions="xml rdf xsd xsl xslt wsdl opml plist gpx kml dita xliff rss atom",
    is_text=True,
    read=_read,
    location="line",
    remark="news feeds become Markdown, with headings and without lines",
)
