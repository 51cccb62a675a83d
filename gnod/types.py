"""Small value types that all layers and the client share. They must not depend on storage or the wire types."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal, NamedTuple, get_args
from urllib.parse import quote, unquote

from gnod.errors import InvalidName, InvalidReference

SCHEME = "gno://"

COLLECTION_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")

MAX_LINE = 2**62

FusionMethod = Literal["convex", "rrf"]
"""How fusion combines the results of both retrievers: by score, which is the default, or by rank."""
FUSION_METHODS: tuple[FusionMethod, ...] = get_args(FusionMethod)

# Characters that a shell, a terminal or a Markdown link would misread, or that are invisible: terminal and text
# direction controls, line separators, zero-width characters. Letters of any script stay readable.
_URI_UNSAFE = re.compile(
    r"[\x00-\x20\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
    r"%#?\"<>\\^`{|}]"
)


def check_collection_name(name: str) -> None:
    """Raise InvalidName if a name is not valid, with a corrected name if there is one."""
    if COLLECTION_NAME.match(name):
        return
    proposal = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:64]
    hint = f"; '{proposal}' would do" if proposal else ""
    raise InvalidName(
        f"collection name {name!r} is not valid: lower-case letters, digits, '-' and '_', at most 64, "
        f"starting with a letter or digit{hint}",
        {"name": name},
    )


def format_uri(collection: str, path: str) -> str:
    """Return the `gno://` address of a document. `path` is relative to the collection, with slashes.

    >>> format_uri("notes", "a b/ü.md")
    'gno://notes/a%20b/ü.md'
    """
    return f"{SCHEME}{collection}/{_URI_UNSAFE.sub(lambda m: quote(m[0]), path)}"


def parse_uri(uri: str) -> tuple[str, str]:
    """Return (collection, path) of a `gno://` address. The path may be empty. Raises InvalidReference.

    >>> parse_uri("gno://notes/a%20b/ü.md")
    ('notes', 'a b/ü.md')
    """
    if not uri.startswith(SCHEME):
        raise InvalidReference(f"{uri!r} is not a gno:// address")
    collection, _, path = uri[len(SCHEME) :].partition("/")
    if not COLLECTION_NAME.match(collection):
        raise InvalidReference(f"{uri!r} does not name a collection: expected gno://collection/path")
    return collection, unquote(path)


# Places where canonical text has fewer lines than its file: (first line, lines lost so far), ascending.
LineMap = list[tuple[int, int]]


def source_line(line_map: LineMap, line: int) -> int:
    """Return the line of the file for a line of its canonical text; both from 1.

    >>> source_line([(3, 2)], 2), source_line([(3, 2)], 3)
    (2, 5)
    """
    at = bisect_right(line_map, (line, MAX_LINE)) - 1
    return line + (line_map[at][1] if at >= 0 else 0)


# The end of the name of a converter that translates a markup line by line. The file itself can then be shown as well.
KEEPS_LINES = "+lines"


def is_translated(converter: str) -> bool:
    """Return whether the converter translates a markup line by line."""
    return converter.endswith(KEEPS_LINES)


def is_markdown(converter: str) -> bool:
    """Return whether a converter makes Markdown. Other converters do not change the text.

    >>> is_markdown("markdown/1"), is_markdown("docx/1"), is_markdown("code/2")
    (True, True, False)
    """
    return converter.partition("/")[0] not in ("code", "pdf", "text", "xml")


def has_own_lines(converter: str) -> bool:
    """Return whether the lines of a converter's text are lines of the file.

    >>> has_own_lines("markdown/1"), has_own_lines("org/1+lines"), has_own_lines("pdf/3")
    (True, True, False)
    """
    return is_translated(converter) or converter.partition("/")[0] in ("markdown", "text", "code")


def canonical_line(line_map: LineMap, line: int) -> int:
    """Return the line of the canonical text for a line of the file; for a lost line, the next line.

    >>> canonical_line([(3, 2)], 2), canonical_line([(3, 2)], 4), canonical_line([(3, 2)], 5)
    (2, 3, 3)
    """
    lost = 0
    for first, now_lost in line_map:
        if line < first + now_lost:
            return min(line - lost, first)
        lost = now_lost
    return line - lost


class UnavailableModel(NamedTuple):
    """Stands in for a model that cannot be used. `reason` names the command or setting that makes it usable."""

    reason: str


def estimated_tokens(text: str) -> int:
    """Return an upper estimate of the number of tokens of `text`."""
    plain = len(text.encode("ascii", "ignore"))
    latin = sum(1 for character in text if "\x7f" < character < "\u0250") if plain < len(text) else 0
    return int(plain / 3 + latin + (len(text) - plain - latin) * 1.5) + 1
