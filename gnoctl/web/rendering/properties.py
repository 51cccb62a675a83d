"""The properties of a note, those of its frontmatter, as a folded table whose values lead to searches and documents.

In the values, links are the names of what they lead to: the daemon has read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from urllib.parse import quote

from gnoctl.web.rendering.links import PageLinks, is_external, uri_of

_MOST_VALUES = 100  # of one property
_MAX_CHARACTERS = 1_000  # of one value
_FIELD = re.compile(r"[^\W\d_][\w.-]{1,63}")  # a name that queries can have
_TAGS = ("tag", "tags")
_KEY = re.compile(r"""["']?(?P<name>[^:]{1,200}?)["']?\s*:""")
_INSIDE = ("", " ", "\t", "-", "#", "]", "}")  # how lines begin that are a part of the one above, or a comment


def table(metadata: Mapping[str, object], lines: Sequence[str], numbers: Sequence[int], links: PageLinks) -> str:
    """Return safe HTML. `lines`: those of the frontmatter, `numbers`: theirs in the source. The table has its own
    direction, because the first letter of the text decides that of the note."""
    addresses = _addresses(links)
    rows = [_row(name, value, numbers[_line(name, lines)], addresses) for name, value in metadata.items()]
    rows += [
        f'<tr data-line="{numbers[at]}"><td colspan="2"><code>{escape(lines[at])}</code></td></tr>'
        for at in _unread(metadata, lines)
    ]
    count = "1 property" if len(metadata) == 1 else f"{len(metadata)} properties"
    return (
        f'<details class="properties" dir="ltr"><summary data-line="{numbers[0]}">{count}</summary>'
        f"<table><tbody>{''.join(rows)}</tbody></table></details>"
    )


def _line(name: str, lines: Sequence[str]) -> int:
    """Return the place of the line that a property begins in."""
    begin = re.compile(rf"""\s*["']?{re.escape(name)}["']?\s*[:=]""")
    return next((at for at, line in enumerate(lines) if begin.match(line)), 0)


def _unread(metadata: Mapping[str, object], lines: Sequence[str]) -> list[int]:
    """Return the places of lines of YAML that are not valid, and so not in the metadata."""
    if not lines[0].startswith("---"):
        return []
    names = {name.lower() for name in metadata}
    begins = ((at, _KEY.match(line)) for at, line in enumerate(lines[1:-1], 1) if line[:1] not in _INSIDE)
    return [at for at, key in begins if key is None or key["name"].strip().lower() not in names]


def _row(name: str, value: object, line: int, addresses: Mapping[str, str]) -> str:
    shown = ", ".join(islice((_value(name, plain_text(each), addresses) for each in _flat(value)), _MOST_VALUES))
    return f'<tr data-line="{line}"><th scope="row">{escape(name)}</th><td dir="auto">{shown}</td></tr>'


def _addresses(links: PageLinks) -> dict[str, str]:
    """Return the addresses of the documents that properties link to, by their names."""
    found = {}
    for target, link in links.names.items():
        if link.kind == "property" and (address := links.address(uri_of(link) or "")):
            found[target.partition("#")[0].rpartition("/")[2]] = address
    return found


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, list):
        for each in value:
            yield from _flat(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (f"{key}: {plain_text(one)}" for one in _flat(each))
    elif value is not None:
        yield value


def plain_text(value: object) -> str:
    """Return a value as a text.

    >>> plain_text(["Books", True, 7]), plain_text(None)
    ('Books, true, 7', '')
    """
    single = (str(each).lower() if isinstance(each, bool) else str(each) for each in _flat(value))
    return ", ".join(islice(single, _MOST_VALUES))[:_MAX_CHARACTERS]


def _value(name: str, text: str, addresses: Mapping[str, str]) -> str:
    address = text if is_external(text) and " " not in text else addresses.get(text)
    if address is None:
        return _search(name, text, escape(text)) or escape(text)
    target = ' target="_blank"' if is_external(address) else ""
    link = f'<a href="{escape(address)}"{target} rel="noopener noreferrer">{escape(text)}</a>'
    return f"{link} {_search(name, text, '⌕')}"


def _search(name: str, value: str, shown: str) -> str:
    """Return a link to the documents with this value; "" if no query can ask for it."""
    query = f'{name}:"{value}"'
    if name.lower() in _TAGS:
        address = f"tag={quote(value.lstrip('#'), safe='')}"
    elif _FIELD.fullmatch(name) and value.strip() and '"' not in value and "\n" not in value and len(query) <= 300:
        address = f"q={quote(query, safe='')}"
    else:
        return ""
    title = escape(f"Documents with {name}: {value}")
    return f'<a class="filter" href="/search?{address}" title="{title}" aria-label="{title}">{shown}</a>'
