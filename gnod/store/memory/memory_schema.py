"""Define the schema of the database of memories, whose content is sealed, and its migrations.

The following data are not encrypted: the type of a memory, when it was stored and changed, the length of its body, the
numbers of its vectors and topics, which memory supersedes it, and which model made the vectors.

A release never changes a migration of an earlier release. It adds one, with a new number, to SCHEMA.
gnod/store/schema.py runs the migrations.
"""

from __future__ import annotations

import apsw

from gnod.store import schema
from gnod.store.faults import MEMORIES

_TABLES = """
    -- One row: the record of the key (gnod.memory.key.keys), as msgpack.
    CREATE TABLE keys (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        record BLOB NOT NULL
    ) STRICT;

    CREATE TABLE namespaces (
        id INTEGER PRIMARY KEY,
        lookup BLOB NOT NULL UNIQUE,
        sealed_name BLOB NOT NULL,
        created_ms INTEGER NOT NULL
    ) STRICT;

    -- Ids are never reused, because a vector that was left behind must not find another memory. `fingerprint`: a keyed
    -- hash of the text. It is the same in each namespace, and unique in it. `body`: text and topics, sealed. At most
    -- one other memory supersedes a memory; that one may supersede several.
    CREATE TABLE memories (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        namespace_id INTEGER NOT NULL REFERENCES namespaces (id),
        kind TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        fingerprint BLOB NOT NULL,
        body BLOB NOT NULL,
        superseded_by INTEGER REFERENCES memories (id) ON DELETE SET NULL,
        UNIQUE (namespace_id, fingerprint)
    ) STRICT;
    CREATE INDEX memories_superseded_by ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

    CREATE TABLE memory_topics (
        lookup BLOB NOT NULL,
        memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        PRIMARY KEY (lookup, memory_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX memory_topics_of ON memory_topics (memory_id);

    CREATE TABLE memory_models (
        id INTEGER PRIMARY KEY,
        uri TEXT NOT NULL UNIQUE
    ) STRICT;

    CREATE TABLE memory_vectors (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        model_id INTEGER NOT NULL REFERENCES memory_models (id),
        sealed BLOB NOT NULL
    ) STRICT;
    CREATE INDEX memory_vectors_of ON memory_vectors (memory_id, model_id);
"""


def m001_first_release(connection: apsw.Connection) -> None:
    connection.execute(_TABLES)


SCHEMA = schema.Schema(MEMORIES, _TABLES, (m001_first_release,))
