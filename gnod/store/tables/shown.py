"""What a result shows of its documents, for all of them in one statement. Must not depend on passages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from gnod.store.connection import Connection
from gnod.store.packing import size, unpack

# Longer texts are read one at a time, because a thousand of them would not fit into memory.
SHORT_BYTES = 32 << 10
_NO_TAGS = "[]"


class Columns(NamedTuple):
    """What a hit shows of its document: fields of the same names on the wire."""

    tags: Sequence[str] = ()


class Shown(NamedTuple):
    """`text` is None where it is long. `is_code`: it has definitions."""

    columns: Columns
    is_code: bool
    text: str | None


def of(connection: Connection, ids: Collection[int]) -> dict[int, Shown]:
    # Texts are unpacked here. As a column of the view `content`, each one would also cost a call by SQLite.
    rows = connection.execute(
        "SELECT d.id,"
        " (SELECT json_group_array(written) FROM"
        " (SELECT written FROM tags WHERE document_id = d.id AND is_own ORDER BY tag)),"
        " EXISTS (SELECT 1 FROM definitions WHERE document_id = d.id), m.packed, m.markdown"
        " FROM json_each(?) wanted CROSS JOIN documents d ON d.id = wanted.value"
        " LEFT JOIN mirrors m ON m.mirror_hash = d.mirror_hash",
        (msgspec.json.encode(list(ids)).decode(),),
    )
    return {
        id_: Shown(Columns(_tags(tags)), bool(is_code), _short(connection, packed, text))
        for id_, tags, is_code, packed, text in rows
    }


def _short(connection: Connection, packed: bytes | None, text: str | None) -> str | None:
    if packed is not None:
        return unpack(connection, packed) if size(packed) <= SHORT_BYTES else None
    return text if text is not None and len(text) <= SHORT_BYTES else None


def _tags(written: str) -> list[str]:
    return [] if written == _NO_TAGS else msgspec.json.decode(written, type=list[str])
