"""Addresses of shared collections: `milvus://host:19530/team/handbook`. Pure; opens no connections."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from gnod.errors import InvalidAddress
from gnod.types import COLLECTION_NAME

PORT = 19530
FORM = "milvus://host:19530/database/collection"

_SCHEMES = {"milvus": False, "milvus+tls": True}
_DATABASE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_HOST = re.compile(r"[A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?")
_MOST_CHARACTERS = 512


class SharedAddress(NamedTuple):
    """`host` has no brackets. `is_encrypted`: over TLS."""

    host: str
    port: int
    database: str
    collection: str
    is_encrypted: bool

    def __str__(self) -> str:
        scheme = "milvus+tls" if self.is_encrypted else "milvus"
        return f"{scheme}://{in_brackets(self.host)}:{self.port}/{self.database}/{self.collection}"


def parse(text: str, collection: str | None = None) -> SharedAddress:
    """Return the address in `text`. `collection`: the name to use if the address has none. Raises InvalidAddress.

    >>> str(parse("milvus+tls://milvus.example/team", "handbook"))
    'milvus+tls://milvus.example:19530/team/handbook'
    >>> parse("milvus://[::1]:1/team/handbook").host
    '::1'
    """
    try:
        parts = urlsplit(text if len(text) <= _MOST_CHARACTERS else "")
        host, port = parts.hostname or "", PORT if parts.port is None else parts.port
    except ValueError:
        raise _invalid(text, "the host or the port is not valid") from None
    if parts.scheme not in _SCHEMES or text != text.strip() or parts.query or parts.fragment:
        raise _invalid(text, "milvus+tls:// is the encrypted form")
    if parts.username is not None or parts.password is not None:
        raise _invalid("…", "an address must not contain a token: store it in the keyring or the environment")
    database, _, name = parts.path.strip("/").partition("/")
    name = name or collection or ""
    if not _HOST.fullmatch(host) or not port:
        raise _invalid(text, "the host or the port is not valid")
    if not _DATABASE.fullmatch(database):
        raise _invalid(text, "a database has letters, digits and '_', and begins with a letter")
    if not COLLECTION_NAME.match(name):
        raise _invalid(text, "a collection has lower-case letters, digits, '-' and '_', at most 64")
    return SharedAddress(host, port, database, name, _SCHEMES[parts.scheme])


def in_brackets(host: str) -> str:
    """Return a host in the form for an address."""
    return f"[{host}]" if ":" in host else host


def _invalid(text: str, why: str) -> InvalidAddress:
    return InvalidAddress(f"{text!r} is not the address of a shared collection: expected {FORM}; {why}")
