"""The properties in the frontmatter of a note, as a folded table whose values link to searches and documents.

In the values, the daemon has already replaced links by the names of their targets.
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
_INSIDE = ("", " ", "\t", "-", "#", "]", "}")  # the beginnings of lines that continue the one above, and of comments


def table(metadata: Mapping[str, object], lines: Sequence[str], numbers: Sequence[int], links: PageLinks) -> str:
    """Return safe HTML. `lines`: the lines of the frontmatter, `numbers`: their numbers in the source. The table has
    its own text direction, because the first letter of the text decides the direction of the note."""
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
    """Return the index of the line where a property begins."""
    begin = re.compile(rf"""\s*["']?{re.escape(name)}["']?\s*[:=]""")
    return next((at for at, line in enumerate(lines) if begin.match(line)), 0)


def _unread(metadata: Mapping[str, object], lines: Sequence[str]) -> list[int]:
    """Return the indices of invalid YAML lines, which are not in the metadata."""
    if not lines[0].startswith("---"):
        return []
    names = {name.lower() for name in metadata}
    begins = ((at, _KEY.match(line)) for at, line in enumerate(lines[1:-1], 1) if line[:1] not in _INSIDE)
    return [at for at, key in begins if key is None or key["name"].strip().lower() not in names]


def _row(name: str, value: object, line: int, addresses: Mapping[str, str]) -> str:
    shown = ", ".join(islice((_value(name, plain_text(each), addresses) for each in _flat(value)), _MOST_VALUES))
    return f'<tr data-line="{line}"><th scope="row">{escape(name)}</th><td dir="auto">{shown}</td></tr>'


def _addresses(links: PageLinks) -> dict[str, str]:
    """Return the addresses of the documents that the properties link to, by name."""
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
    """Return a value as text.

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
    """Return a link to the documents with this value; "" if no query can find them."""
    query = f'{name}:"{value}"'
    if name.lower() in _TAGS:
        address = f"tag={quote(value.lstrip('#'), safe='')}"
    elif _FIELD.fullmatch(name) and value.strip() and '"' not in value and "\n" not in value and len(query) <= 300:
        address = f"q={quote(query, safe='')}"
    else:
        return ""
    title = escape(f"Documents with {name}: {value}")
    return f'<a class="filter" href="/search?{address}" title="{title}" aria-label="{title}">{shown}</a>'
