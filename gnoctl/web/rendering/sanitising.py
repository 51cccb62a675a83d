"""What of the HTML that a document made remains: nothing that runs, loads, or looks like a part of the page."""

from __future__ import annotations

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
    """Return `html` without all that is not allowed, its links resolved. What is embedded in another document has
    neither lines nor anchors."""

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
