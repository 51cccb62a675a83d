"""Functions that reader processes run in tests."""

from __future__ import annotations

import os

from gnod.errors import QuerySyntaxError
from gnod.store.connection import Connection

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def count(connection: Connection, text: str) -> dict[str, object]:
    found = connection.execute("SELECT count(*) FROM contexts").get
    return {"pid": os.getpid(), "text": text, "count": found}


def crash(connection: Connection, daemon: int) -> dict[str, object]:
    if os.getpid() != daemon:
        os._exit(9)
    return count(connection, "survived")


def leave(_: Connection) -> None:
    """Return no result, so that the daemon prepares the arguments."""


def fail(_: Connection) -> None:
    raise QuerySyntaxError("not like this")


def endless(connection: Connection) -> object:
    return connection.execute(ENDLESS).get
