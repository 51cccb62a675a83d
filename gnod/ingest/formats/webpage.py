"""Web pages: through markitdown, or as plain text where that would take too long or recurse too deeply."""

from __future__ import annotations

import html
import re

from gnod.ingest.formats.visible_html import page_text, visible
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.markitdown_bridge import through_markitdown
from gnod.ingest.reading.result import ConversionFailed, Converted
from gnod.ingest.reading.versions import versioned

# markitdown reads 1 MB/s and needs 50 times the page in memory.
_FULL_LIMIT = 8_000_000
_HEAD = 64 * 1024
# Possessive and atomic groups: each beginning is tried in only one way, so that none takes exponential time.
_HTML = re.compile(rb"\A\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--(?>.*?-->)\s*)*)<(?:!doctype\s+html|html)\b", re.I | re.S)
CHARSET = re.compile(rb"<meta[^<>]+charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_TITLE = re.compile(r"<title[^<>]*>([^<]*)</title", re.I)
_TAG = re.compile(r"<(?:link|meta)\b[^<>]{0,2000}>", re.I)
_NAMES_ADDRESS = re.compile(r"canonical|og:url", re.I)
_ADDRESS = re.compile(r"""\b(?:href|content)\s*=\s*["']?(https?://[^"'\s>]+)""", re.I)
_WIKIPEDIA = re.compile(r"https?://[a-z-]{2,12}\.(?:m\.)?wikipedia\.org/", re.I)
_SEARCH_PAGE = "https://www.bing.com/search?q="


def _read(content: FileContent) -> Converted:
    """Read a page. If markitdown fails, the text is still found."""
    text = visible(content.text(CHARSET))
    if len(text) > _FULL_LIMIT:
        return _plain(text)
    try:
        page = _structured(text)
    except (RecursionError, ConversionFailed):
        return _plain(text)
    return page if page.markdown.strip() else _plain(text)


def _structured(text: str) -> Converted:
    """Some sites surround the text with much else; for these, markitdown has converters of their own."""
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


HTML = Converter(
    label="a web page",
    mime="text/html",
    extensions="html htm xhtml shtml",
    is_text=True,
    resembles=lambda content: bool(_HTML.match(content.head)),
    read=_read,
    headings=True,
)
