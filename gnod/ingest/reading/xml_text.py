"""Extract the text of XML line by line. It does not use a parser, so that nothing expands entities.

It omits names of elements. It keeps attributes with words, because some formats store text there.
"""

from __future__ import annotations

import html
import re

# Each alternative ends at the next mark or at the end, and matches in one way only, so that none is slow.
_MARK = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[(?P<data>.*?)(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    r"|<!DOCTYPE[^<>\[]*+(?:\[.*?(?:\]\s*>|\Z)|>|\Z)"
    r"|</?(?P<name>[^\s<>/\"'=]++)(?P<attributes>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>",
    re.S,
)
_ATTRIBUTE = re.compile(r"([\w:.-]{1,60})\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)')")
_WORDS = re.compile(r"[^\W\d_]{2,40}\s{1,9}[^\W\d_]{2}")
_REFERENCE = re.compile(r"&#?\w{1,40};")
_OUTLINE = ("text", "title", "description", "_note", "xmlUrl", "htmlUrl", "url")
_LEAST_SHARE = 0.1


def xml_text(xml: str) -> str:
    """Return the text with as many lines as the XML. Return the XML itself if it is nearly all names and attributes."""
    lines = (line.strip() for line in _MARK.sub(_replaced, xml).split("\n"))
    text = _REFERENCE.sub(_character, "\n".join(lines))
    return text if len(text.replace("\n", "")) > _LEAST_SHARE * len(xml) else xml


def _replaced(found: re.Match[str]) -> str:
    if found["data"] is not None:
        return found["data"]
    text = _attributes(found["name"], found["attributes"]) if found["name"] else ""
    return " " + text + "\n" * (found[0].count("\n") - text.count("\n"))


def _attributes(name: str, attributes: str) -> str:
    values = {key: double or single for key, double, single in _ATTRIBUTE.findall(attributes)}
    if name == "outline":  # an element of OPML
        shown = [values[key] for key in _OUTLINE if values.get(key)]
        return f"- {', '.join(dict.fromkeys(shown))} " if shown else ""
    shown = [value for value in values.values() if "://" not in value and _WORDS.search(value)]
    return "".join(f"{value} " for value in shown)


def _character(found: re.Match[str]) -> str:
    character = html.unescape(found[0])
    return " " if character in "\r\n" else character
