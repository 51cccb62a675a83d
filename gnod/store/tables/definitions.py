"""Store the definitions of source code: functions, classes, methods. Each has one row, replaced with the document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from gnod.store.connection import Connection
from gnod.store.tables.records import StoredDefinition


class DefinitionSite(NamedTuple):
    """A definition and its document."""

    document_id: int
    definition: StoredDefinition


def put(connection: Connection, document_id: int, definitions: Iterable[StoredDefinition]) -> None:
    """Store the definitions of a document, which has none yet."""
    connection.executemany(
        "INSERT INTO definitions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (document_id, seq, *msgspec.structs.astuple(definition), definition.name.casefold())
            for seq, definition in enumerate(definitions)
        ),
    )


def remove(connection: Connection, document_id: int) -> None:
    connection.execute("DELETE FROM definitions WHERE document_id = ?", (document_id,))


def around(connection: Connection, document_id: int, line: int) -> StoredDefinition | None:
    """Return the innermost definition that contains a line of the canonical text. Comments above it belong to it."""
    where = "document_id = ?1 AND first_line <= ?2 AND end_line >= ?2 ORDER BY end_line - first_line, seq DESC LIMIT 1"
    return next((place.definition for place in _select(connection, where, (document_id, line))), None)


def of_document(connection: Connection, document_id: int, limit: int) -> list[StoredDefinition]:
    """Return the definitions of a document in order, or none if there are more than `limit`."""
    found = all_of(connection, document_id, limit + 1)
    return found if len(found) <= limit else []


def all_of(connection: Connection, document_id: int, limit: int = -1) -> list[StoredDefinition]:
    rows = _select(connection, "document_id = ? ORDER BY seq LIMIT ?", (document_id, limit))
    return [place.definition for place in rows]


def named(connection: Connection, name: str, part: str, limit: int) -> list[DefinitionSite]:
    """Return definitions with this name, then some whose name contains `part`. Pass both in lower case."""
    exact = list(_select(connection, "folded = ? LIMIT ?", (name, limit)))
    # The index on names is much smaller than the table.
    longer = (
        "(document_id, seq) IN (SELECT document_id, seq FROM definitions INDEXED BY definitions_by_name"
        " WHERE instr(folded, ?) > 0 AND folded <> ? LIMIT ?)"
    )
    return exact + list(_select(connection, longer, (part, name, limit)))


def _select(connection: Connection, where: str, values: tuple[object, ...]) -> Iterator[DefinitionSite]:
    rows = connection.execute(
        f"SELECT document_id, start, end, first_line, line, end_line, kind, name, path FROM definitions WHERE {where}",
        values,
    )
    return (DefinitionSite(document_id, StoredDefinition(*fields)) for document_id, *fields in rows)
