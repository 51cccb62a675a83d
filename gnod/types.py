"""Small value types that every layer shares, the client too. They know no storage and no wire."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from gnod.errors import InvalidName, InvalidReference

SCHEME = "gno://"

COLLECTION_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")

# What a shell, a terminal or a Markdown link would misread; letters of any script stay readable.
_URI_UNSAFE = re.compile(r"[\x00-\x20\x7f%#?\"<>\\^`{|}]")


def check_collection_name(name: str) -> None:
    """Raise InvalidName, with a corrected proposal where there is one."""
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
    """Return the `gno://` address of a document; `path` is relative to the collection, with slashes.

    >>> format_uri("notes", "a b/ü.md")
    'gno://notes/a%20b/ü.md'
    """
    return f"{SCHEME}{collection}/{_URI_UNSAFE.sub(lambda m: quote(m[0]), path)}"


def parse_uri(uri: str) -> tuple[str, str]:
    """Return (collection, path) of a `gno://` address; the path may be empty. Raises InvalidReference.

    >>> parse_uri("gno://notes/a%20b/ü.md")
    ('notes', 'a b/ü.md')
    """
    if not uri.startswith(SCHEME):
        raise InvalidReference(f"{uri!r} is not a gno:// address")
    collection, _, path = uri[len(SCHEME) :].partition("/")
    if not COLLECTION_NAME.match(collection):
        raise InvalidReference(f"{uri!r} names no collection: expected gno://collection/path")
    return collection, unquote(path)


class Span(NamedTuple):
    """A half-open range of characters."""

    start: int
    end: int
