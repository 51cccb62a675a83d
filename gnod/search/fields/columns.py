"""Rows: the values that documents have in chosen fields, instead of passages. Must not know how rows are printed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from gnod.errors import InvalidParams
from gnod.search.fields import facets, frontmatter, registry
from gnod.store.connection import Connection, by_id
from gnod.store.tables import documents, tags
from gnod.store.tables.documents import DocumentRow


class DocumentValues(NamedTuple):
    """`values`: those that the document has, by the names of the columns."""

    docid: str
    uri: str
    values: dict[str, object]


def _day(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(seconds).date().isoformat()
    except (OverflowError, ValueError, OSError):  # a file's time may have any value
        return None


_OF_FILE: Mapping[str, Callable[[DocumentRow], object]] = {
    "docid": lambda document: document.docid,
    "uri": lambda document: document.uri,
    "source": lambda document: document.source,
    "mime": lambda document: document.mime,
    "title": lambda document: document.title,
    "path": lambda document: document.path,
    "lang": lambda document: document.language,
    "ext": lambda document: facets.extension(document.path),
    "folder": lambda document: f"{document.collection}/{document.path}".rpartition("/")[0],
    "collection": lambda document: document.collection,
    "date": lambda document: _day(document.dated),
    "modified": lambda document: _day(document.mtime_ns / 1e9),
    "size": lambda document: document.size,
}
_STATED = {field.name: field.stated for field in registry.FIELDS if field.stated}
_BUILT_IN = ("tag", *_OF_FILE, *_STATED)


def rows(connection: Connection, ids: Sequence[int], names: Sequence[str]) -> list[DocumentValues]:
    """Return a row for each document, in order. Raises InvalidParams for a column that no document has."""
    _check(connection, names)
    found = _rows(connection, ids, names) if ids else {}
    return [found[id_] for id_ in ids if id_ in found]


@by_id
def _rows(connection: Connection, ids: Collection[int], names: Sequence[str]) -> dict[int, DocumentValues]:
    found = documents.by_ids(connection, ids)
    return {id_: DocumentValues(each.docid, each.uri, _values(connection, each, names)) for id_, each in found.items()}


def _values(connection: Connection, document: DocumentRow, names: Sequence[str]) -> dict[str, object]:
    metadata = msgspec.json.decode(document.metadata, type=dict[str, object])
    own = {name.lower(): value for name, value in reversed(metadata.items())}
    values = {name: _value(connection, document, own, _canonical(name)) for name in names}
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def _value(connection: Connection, document: DocumentRow, own: Mapping[str, object], name: str) -> object:
    if name == "tag":
        return tags.of(connection, document.id)
    if name in _OF_FILE:
        return _OF_FILE[name](document)
    return next((own[each] for each in _STATED.get(name, (name,)) if each in own), None)


def _canonical(name: str) -> str:
    field = registry.BY_NAME.get(name.lower())
    return field.name if field and field.name in _BUILT_IN else name.lower()


def _check(connection: Connection, names: Sequence[str]) -> None:
    for name in names:
        if _canonical(name) not in _BUILT_IN and name.lower() not in (known := frontmatter.spellings(connection)):
            close = difflib.get_close_matches(name.lower(), [*_BUILT_IN, *known], n=1)
            advice = f"did you mean {close[0]}?" if close else f"use {', '.join(_BUILT_IN)}, or a field of documents"
            raise InvalidParams(f"no document has a column {name!r}: {advice}")
