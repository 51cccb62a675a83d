"""The order of the columns in the full-text table.

FTS5 writes two bytes more for each document of a word that is not in the first column, and nearly all are in the body.
In indexes of older versions, the path comes first. Everywhere else, weights and counts are in the order of `Terms`.
"""

from __future__ import annotations

import apsw

Order = tuple[int, int, int]

_BODY_FIRST: Order = (2, 1, 0)
_PATH_FIRST: Order = (0, 1, 2)


def order(connection: apsw.Connection) -> Order:
    """Return the places of path, title and body among the columns, or of the columns in `Terms`, which are the same."""
    first = connection.execute("SELECT name FROM pragma_table_info('documents_fts') WHERE cid = 0").get
    return _BODY_FIRST if first == "body" else _PATH_FIRST
