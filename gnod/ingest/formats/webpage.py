"""Converts web pages and XML.

markitdown converts pages; those that would take too long or recurse too deeply become plain text. News feeds become
Markdown. From other XML, only the text is stored, and entities are not expanded.
"""

from __future__ import annotations

import html
import re

import msgspec

from gnod.ingest.formats.visible_html import page_text, visible
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.markitdown_bridge import through_markitdown
from gnod.ingest.reading.result import ConversionFailed, Converted, unchanged
from gnod.ingest.reading.versions import versioned
from gnod.ingest.reading.xml_text import xml_text

# markitdown reads 1 MB/s and needs 50 times the page in memory.
_FULL_LIMIT = 8_000_000
_HEAD = 64 * 1024
# The possessive and atomic groups prevent backtracking, which could take exponential time.
_HTML = re.compile(rb"\A\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--(?>.*?-->)\s*)*)<(?:!doctype\s+html|html)\b", re.I | re.S)
CHARSET = re.compile(rb"<meta[^<>]+charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_TITLE = re.compile(r"<title[^<>]*>([^<]*)</title", re.I)
_TAG = re.compile(r"<(?:link|meta)\b[^<>]{0,2000}>", re.I)
_NAMES_ADDRESS = re.compile(r"canonical|og:url", re.I)
_ADDRESS = re.compile(r"""\b(?:href|content)\s*=\s*["']?(https?://[^"'\s>]+)""", re.I)
_WIKIPEDIA = re.compile(r"https?://[a-z-]{2,12}\.(?:m\.)?wikipedia\.org/", re.I)
_SEARCH_PAGE = "https://www.bing.com/search?q="
_FEED = re.compile(r"<(?:rss\b|(?:\w+:)?feed\b[^<>]*http://www\.w3\.org/2005/Atom)")
_ENTITY = re.compile(r"<!(?:ENTITY|DOCTYPE[^<>]*\[)")
_FEED_HEAD = 16 * 1024
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_XML_CHARSET = re.compile(rb"\A\s*<\?xml[^>]*\sencoding\s*=\s*[\"']([\w.:-]+)[\"']")


def _read(content: FileContent) -> Converted:
    """Read a page; as plain text if markitdown fails."""
    text = visible(content.text(CHARSET))
    if len(text) > _FULL_LIMIT:
        return _plain(text)
    try:
        page = _structured(text)
    except (RecursionError, ConversionFailed):
        return _plain(text)
    return page if page.markdown.strip() else _plain(text)


def _structured(text: str) -> Converted:
    """Convert a page with markitdown, which has special converters for sites with much text around the content."""
    url = _address(text)
    data = text.encode("utf-8", "replace")
    if 'id="mw-content-text"' in text and _WIKIPEDIA.match(url):
        return through_markitdown("WikipediaConverter", data, extension="html", url=url)
    if 'class="b_algo"' in text and url.startswith(_SEARCH_PAGE):
        return through_markitdown("BingSerpConverter", data, extension="html", url=url)
    return through_markitdown("HtmlConverter", data, extension="html")


def _address(text: str) -> str:
    for tag in _TAG.finditer(text, 0, _HEAD):
        if _NAMES_ADDRESS.search(tag[0]) and (found := _ADDRESS.search(tag[0])):
            return html.unescape(found[1])
    return ""


def _plain(text: str) -> Converted:
    found = _TITLE.search(text, 0, _HEAD)
    title = " ".join(html.unescape(found[1]).split()) if found else None
    return Converted(markdown=page_text(text), converter=versioned("html-text"), title=title or None)


def _read_xml(content: FileContent) -> Converted:
    """Read XML. A feed is parsed only if it declares no entities."""
    text = content.text(_XML_CHARSET)
    if _FEED.search(text, 0, _FEED_HEAD) and not _ENTITY.search(text, 0, _FEED_HEAD):
        try:
            # The text is UTF-8 now, even if the declaration names another encoding.
            data = _DECLARATION.sub("", text, count=1).encode("utf-8", "replace")
            feed = through_markitdown("RssConverter", data, extension="xml")
            return msgspec.structs.replace(feed, mime="application/rss+xml")
        except (ConversionFailed, RecursionError):
            pass
    found = xml_text(text)
    return unchanged(found, converter="xml/1") if found is not text else unchanged(text)


HTML = Converter(
    label="a web page",
    mime="text/html",
    extensions="html htm xhtml shtml",
    is_text=True,
    resembles=lambda content: bool(_HTML.match(content.head)),
    read=_read,
    headings=True,
)
XML = Converter(
    label="an XML text",
    mime="text/xml",
    # XHTML files can also have these.
    shared_extensions="xml rdf xsd xsl xslt wsdl opml plist gpx kml dita xliff rss atom",
    is_text=True,
    read=_read_xml,
    location="line",
    remark="news feeds become Markdown, with headings and without line numbers",
)
