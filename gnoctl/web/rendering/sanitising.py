"""Sanitise the HTML of a document: nothing remains that runs, loads, or looks like a part of the page.

Mathematics and embedded notes are already safe, but would be removed, so a mark represents each of these inserts. No
document can write a mark, because it contains a random number.
"""

from __future__ import annotations

import re
import secrets
from html import escape

import nh3

from gnoctl.web.rendering.code import CLASSES
from gnoctl.web.rendering.links import ANCHOR, PageLinks
from gnoctl.web.rendering.vault_syntax import CLASSES as SYNTAX_CLASSES

_TAG_NAMES = (
    "a abbr b blockquote br caption cite code dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i "
    "img ins kbd li mark ol p pre q s samp section small span strong sub summary sup table tbody td tfoot th thead tr "
    "u ul var"
)
_TAGS = set(_TAG_NAMES.split())
_NAMES_WITHOUT_CONTENT = "iframe math noembed noframes noscript object script style svg template textarea title"
_WITHOUT_CONTENT = set(_NAMES_WITHOUT_CONTENT.split())
_ATTRIBUTES = {
    "*": {"class", "data-line", "id"},
    "a": {"href", "target", "title"},
    "abbr": {"title"},
    "details": {"open"},
    "img": {"alt", "height", "loading", "src", "title", "width"},
    "ol": {"start"},
    "span": {"title"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
}
_NUMBERS = frozenset(["colspan", "data-line", "height", "rowspan", "start", "width"])
_CLASS_NAMES = "center code cut footnotes footnote-ref line place remote right text tool unresolved"
_CLASSES = CLASSES | SYNTAX_CLASSES | set(_CLASS_NAMES.split())


def sanitised(html: str, links: PageLinks, *, is_embedded: bool = False) -> str:
    """Return `html` with only what is allowed, and with its links resolved. Embedded notes have neither line numbers
    nor anchors."""

    def kept(_tag: str, name: str, value: str) -> str | None:
        if is_embedded and name in ("data-line", "id"):
            return None
        if name in _NUMBERS:
            return value if value.isascii() and value.isdigit() and len(value) < 10 else None
        match name:
            case "class":
                return " ".join(each for each in value.split() if each in _CLASSES) or None
            case "id":
                return ANCHOR + value.removeprefix(ANCHOR)
            case "href":
                return links.address(value)
            case "src":
                return links.picture(value)
            case "loading":
                return "lazy"
            case "target":
                return value if value == "_blank" else None
        return value

    return nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags=_WITHOUT_CONTENT,
        attributes=_ATTRIBUTES,
        attribute_filter=kept,
        url_schemes={"http", "https", "mailto", "gno", "tag"},
        link_rel="noopener noreferrer",
    )


_MAX_FORMULA = 2_000  # characters
_MAX_FORMULAS = 1_000  # of one part of a document
_MAX_EMBEDDED = 1_000_000  # characters of HTML
_NAMES_OF_MATHML = (
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mmultiscripts "
    "mprescripts none mtable mtr mtd mlabeledtr mstyle mpadded mphantom menclose merror"
)
_MATHML_ATTRIBUTES = {
    "*": {"displaystyle", "mathvariant", "scriptlevel"},
    "math": {"display"},
    "mfrac": {"linethickness"},
    "mo": {"fence", "form", "largeop", "lspace", "maxsize", "minsize", "movablelimits", "rspace", "stretchy"},
    "mover": {"accent"},
    "mspace": {"depth", "height", "linebreak", "width"},
    "mtable": {"columnalign", "columnlines", "rowlines", "rowspacing", "columnspacing"},
    "mtd": {"columnalign", "columnspan", "rowspan"},
    "munder": {"accentunder"},
}


class Inserts:
    def __init__(self) -> None:
        self._secret = secrets.token_hex(12)
        self._parts: list[str] = []
        self._formulas = 0
        self._room = _MAX_EMBEDDED

    def put(self, html: str) -> str:
        """Return the mark that represents this safe HTML."""
        self._parts.append(html)
        return f"{self._secret}-{len(self._parts) - 1}-"

    def has_room_for(self, html: str) -> bool:
        """Return whether a box may be shown: each of many embeds shows the whole text again."""
        self._room -= len(html)
        return self._room >= 0

    def math(self, formula: str, *, is_block: bool) -> str:
        """Return the mark of a LaTeX formula as MathML. A formula that cannot be read appears as written."""
        self._formulas += 1
        made = _mathml(formula, is_block=is_block) if self._formulas <= _MAX_FORMULAS else None
        return f"<code>{escape(formula)}</code>" if made is None else self.put(made)

    def inserted(self, html: str) -> str:
        """Return sanitised HTML with the parts in place of their marks."""
        return re.sub(rf"{self._secret}-(\d+)-", lambda match: self._parts[int(match[1])], html)


def _mathml(formula: str, *, is_block: bool) -> str | None:
    from latex2mathml.converter import convert  # few documents have formulas

    if len(formula) > _MAX_FORMULA:
        return None
    try:
        made = convert(formula.strip(), display="block" if is_block else "inline")
    except Exception:  # it raises many kinds of errors for unknown input
        return None
    return nh3.clean(made, tags=set(_NAMES_OF_MATHML.split()), attributes=_MATHML_ATTRIBUTES, link_rel=None)
