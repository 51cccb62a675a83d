"""How much each collection has, counted without reading its documents: for the status of an index of any size."""

from __future__ import annotations

from typing import NamedTuple

from gnod.store.connection import Connection

SELECT = (
    "SELECT c.name, n.documents, n.files, n.chunks FROM collections c JOIN ("
    " SELECT collection_id AS id, count(*) AS documents, count(*) - count(container) AS files, sum(chunks) AS chunks"
    " FROM documents INDEXED BY documents_counted WHERE active GROUP BY collection_id) n ON n.id = c.id"
)


class CollectionCounts(NamedTuple):
    """The numbers of a collection in the index. `documents` include those inside other files (archives, mailboxes);
    `files` do not. `chunks`: equal ones of several documents count each time."""

    documents: int = 0
    files: int = 0
    chunks: int = 0


def of_collections(connection: Connection) -> dict[str, CollectionCounts]:
    """Return the counts of each collection, by its name: from one index, so 200,000 documents take some 20 ms."""
    rows = connection.execute(SELECT)
    return {str(name): CollectionCounts(*numbers) for name, *numbers in rows}
