"""The properties of a note, those of its frontmatter, as a folded table whose values lead to searches and documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from urllib.parse import quote

from gnoctl.web.rendering.links import PageLinks, is_external, uri_of

_MOST_VALUES = 100  # of one property
_MAX_CHARACTERS = 1_000  # of one value
_WIKILINK = re.compile(r"!?\[\[([^\[\]|\n]{1,1000}?)(?:\|([^\[\]\n]{1,1000}))?\]\]")
_FIELD = re.compile(r"[^\W\d_][\w.-]{1,63}")  # a name that queries can have
_TAGS = ("tag", "tags")


def table(metadata: Mapping[str, object], lines: Sequence[str], numbers: Sequence[int], links: PageLinks) -> str:
    """Return safe HTML. `lines`: those of the frontmatter, `numbers`: theirs in the source."""
    rows = [_row(name, value, numbers[_line(name, lines)], links) for name, value in metadata.items()]
    count = "1 property" if len(rows) == 1 else f"{len(rows)} properties"
    return (
        f'<details class="properties"><summary data-line="{numbers[0]}">{count}</summary>'
        f"<table><tbody>{''.join(rows)}</tbody></table></details>"
    )


def _line(name: str, lines: Sequence[str]) -> int:
    """Return the place of the line that a property begins in."""
    begin = re.compile(rf"""\s*["']?{re.escape(name)}["']?\s*[:=]""")
    return next((at for at, line in enumerate(lines) if begin.match(line)), 0)


def _row(name: str, value: object, line: int, links: PageLinks) -> str:
    shown = ", ".join(islice((_value(name, each, links) for each in _flat(value)), _MOST_VALUES))
    return f'<tr data-line="{line}"><th scope="row">{escape(name)}</th><td>{shown}</td></tr>'


def _flat(value: object) -> Iterator[object]:
    """Yield the single values. YAML reads `[[Note]]` without quotation marks as a list in a list."""
    match value:
        case [[str(name)]]:
            yield f"[[{name}]]"
        case list():
            for each in value:
                yield from _flat(each)
        case dict():
            for key, each in value.items():
                yield from (f"{key}: {_text(one)}" for one in _flat(each))
        case None:
            pass
        case _:
            yield value


def plain_text(value: object) -> str:
    """Return a value as a text: of links what they show.

    >>> plain_text(["[[Books|my books]]", True]), plain_text(None)
    ('my books, true', '')
    """
    return ", ".join(_WIKILINK.sub(lambda match: match[2] or match[1], _text(each)) for each in _flat(value))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)[:_MAX_CHARACTERS]


def _value(name: str, value: object, links: PageLinks) -> str:
    text = _text(value)
    shown = linked(text, links)
    if shown is None:
        return _search(name, text, escape(text))
    return f"{shown} {_search(name, text, '⌕')}"


def linked(text: str, links: PageLinks) -> str | None:
    """Return the links in a value as safe HTML; None: it has none."""
    if is_external(text) and " " not in text.strip():
        address = escape(links.address(text) or "")
        return f'<a href="{address}" target="_blank" rel="noopener noreferrer">{escape(text)}</a>'
    if not _WIKILINK.search(text):
        return None
    out, at = [], 0
    for match in _WIKILINK.finditer(text):
        out += [escape(text[at : match.start()]), _wikilink(match, links)]
        at = match.end()
    return "".join([*out, escape(text[at:])])


def _wikilink(match: re.Match[str], links: PageLinks) -> str:
    shown = escape((match[2] or match[1]).strip())
    known = links.names.get(match[1].strip())
    address = links.address(uri_of(known) or "") if known else None
    return f'<a href="{escape(address)}">{shown}</a>' if address else f'<span class="unresolved">{shown}</span>'


def _search(name: str, value: str, shown: str) -> str:
    """Return a link to the documents with this value, if a query can ask for it."""
    if name.lower() in _TAGS:
        address = f"tag={quote(value.lstrip('#'), safe='')}"
    elif _FIELD.fullmatch(name) and value.strip() and '"' not in value and "\n" not in value and len(value) <= 200:
        query = f'{name}:"{value}"'
        address = f"q={quote(query, safe='')}"
    else:
        return "" if shown == "⌕" else shown
    title = escape(f"Documents with {name}: {value}")
    label = f' aria-label="{title}"' if shown == "⌕" else ""
    return f'<a class="filter" href="/search?{address}" title="{title}"{label}>{shown}</a>'
