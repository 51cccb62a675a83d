"""Extracts the visible part of a web page, as source or as plain text. Hidden elements are left out. Navigation moves
behind the text, and ruby readings move behind the paragraph, so that they do not split words."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

from gnod.ingest.reading.cpu_time import CpuTimeExceeded, limit_cpu_time

_LIMIT_S = 15.0
_ANY_TAG = re.compile(r"<[^<>]*>?")
_CONCERNED = re.compile(r"<(?:ruby|nav|template|noscript|dialog)\b|\bhidden\b|display\s*:\s*none", re.I)
_HIDDEN_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.I)
_HIDDEN = frozenset({"template", "noscript", "rp"})
_READINGS = frozenset({"rt", "rtc"})
# The end tags of these may be missing: the next element of the kind, or the end of the parent, ends them.
_UNCLOSED = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "option", "rt", "rp", "rtc"})
_ENDS = frozenset({"ruby", "ul", "ol", "dl", "table", "select", "div", "section", "body"})
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_BLOCK = re.compile(
    r"address|article|aside|blockquote|br|d[dlt]|div|figcaption|footer|form|h[1-6r]|header|li|main|nav|[ou]l|option"
    r"|p|pre|section|table|t[dhr]|title|body"
)


def visible(source: str) -> str:
    """Return the source of the visible elements, in reading order."""
    if not _CONCERNED.search(source):
        return source
    return _parsed(_VisibleSource(), source) or source


def page_text(source: str) -> str:
    """Return the visible text of a page, one line for each block. Pages with unclosed tags can exceed the time limit;
    then return all text between tags."""
    text = _parsed(_VisibleText(), source)
    lines = html.unescape(_ANY_TAG.sub(" ", source) if text is None else text).split("\n")
    return "\n".join(line for line in (" ".join(line.split()) for line in lines) if line)


def _parsed(parser: _VisibleSource, source: str) -> str | None:
    """Return the result of a parser; None if it takes too long."""
    try:
        with limit_cpu_time(_LIMIT_S):
            parser.feed(source)
            parser.close()
    except CpuTimeExceeded:
        return None
    return parser.result()


class _VisibleSource(HTMLParser):
    """Copies a page. It leaves out or moves one element at a time, with its content: `_inside` is its tag, and `_open`
    counts the open elements with this tag."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self._text: list[str] = []
        self._navigation: list[str] = []
        self._readings: list[str] = []
        self._into: list[str] | None = self._text
        self._inside = ""
        self._open = 0

    def result(self) -> str:
        self._put_readings()
        page = "".join(self._text)
        end = page.rfind("</body>")
        end = len(page) if end < 0 else end
        return page[:end] + "".join(self._navigation) + page[end:]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._inside:
            self._start_inside(tag)
        elif tag not in _VOID and (tag in _HIDDEN or _is_hidden(tag, dict(attrs))):
            self._put(" " if _BLOCK.fullmatch(tag) else "", tag)
            self._begin(tag, None)
            return
        elif tag in _READINGS:
            self._begin(tag, self._readings)
            return
        elif tag == "nav":
            self._begin(tag, self._navigation)
        if self._into is self._readings:
            return
        self._put(self.get_starttag_text() or "", tag)

    def _start_inside(self, tag: str) -> None:
        if tag != self._inside:
            if self._inside in ("rt", "rp") and tag in ("rt", "rp", "rb"):
                self._end()
                self.handle_starttag(tag, [])
            return
        if tag in _UNCLOSED:
            self._end()
        else:
            self._open += 1

    def handle_endtag(self, tag: str) -> None:
        if self._inside and tag == self._inside:
            self._open -= 1
            if not self._open:
                was_navigation = self._into is self._navigation
                if was_navigation:
                    self._put(f"</{tag}>", tag)
                self._end()
                return
        elif self._inside in _UNCLOSED and tag in _ENDS:
            self._end()
        if self._into is not self._readings:
            self._put(f"</{tag}>", tag)

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into.append(data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")

    def _begin(self, tag: str, into: list[str] | None) -> None:
        if into is self._readings and self._readings:
            self._readings.append(" ")
        self._inside, self._open, self._into = tag, 1, into

    def _end(self) -> None:
        self._inside, self._open, self._into = "", 0, self._text

    def _put(self, markup: str, tag: str) -> None:
        if self._into is self._text and _BLOCK.fullmatch(tag):
            self._put_readings()
        self.handle_data(self.written(markup, tag))

    def written(self, markup: str, tag: str) -> str:
        """Return the text that replaces a tag in the result."""
        del tag
        return markup

    def _put_readings(self) -> None:
        readings = "".join(self._readings).split()
        if readings:
            self._text.append(f"（{' '.join(readings)}）")
        self._readings.clear()


class _VisibleText(_VisibleSource):
    def handle_data(self, data: str) -> None:
        if self.cdata_elem not in ("script", "style"):
            super().handle_data(data)

    def written(self, markup: str, tag: str) -> str:
        return "\n" if markup and _BLOCK.fullmatch(tag) else ""


def _is_hidden(tag: str, attributes: dict[str, str | None]) -> bool:
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    if tag == "dialog" and "open" not in attributes:
        return True
    return _HIDDEN_STYLE.search(attributes.get("style") or "") is not None
