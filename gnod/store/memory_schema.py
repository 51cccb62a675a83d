"""The schema of the database of memories, whose content is sealed.

Not encrypted are the type of a memory, when it was stored and changed, the length of its body, how many vectors and
topics it has, which memory supersedes it, and which model made the vectors.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from gnod.store import schema
from gnod.store.health.faults import MEMORIES


def m001_first_schema(connection: apsw.Connection) -> None:
    connection.execute(
        """
        CREATE TABLE keys (
            -- One row: the record of the key (gnod.memory.keys), as msgpack.
            id INTEGER PRIMARY KEY CHECK (id = 1),
            record BLOB NOT NULL
        ) STRICT;

        CREATE TABLE namespaces (
            id INTEGER PRIMARY KEY,
            lookup BLOB NOT NULL UNIQUE,
            sealed_name BLOB NOT NULL,
            created_ms INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE memories (
            -- Never used twice: a vector that was left behind must not find another memory.
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            namespace_id INTEGER NOT NULL REFERENCES namespaces (id),
            kind TEXT NOT NULL,
            created_ms INTEGER NOT NULL,
            updated_ms INTEGER NOT NULL,
            -- Keyed hash of the text: the same in each namespace, and there only once.
            fingerprint BLOB NOT NULL,
            -- Text and topics, sealed.
            body BLOB NOT NULL,
            UNIQUE (namespace_id, fingerprint)
        ) STRICT;

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
    )


def m002_superseded(connection: apsw.Connection) -> None:
    # A memory is superseded by at most one other, which may supersede several.
    connection.execute(
        """
        ALTER TABLE memories ADD COLUMN superseded_by INTEGER REFERENCES memories (id) ON DELETE SET NULL;
        CREATE INDEX memories_superseded_by ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
        """
    )


MIGRATIONS = (m001_first_schema, m002_superseded)


def migrate(connection: apsw.Connection, path: Path) -> None:
    """Upgrade the schema. Raises as `refuse_newer` does."""
    schema.run(connection, MIGRATIONS, refuse_newer(connection, path))


def refuse_newer(connection: apsw.Connection, path: Path) -> int:
    """Return the version of the schema. Raises NewerDatabase, and DatabaseCorrupt for an invalid version."""
    return schema.refuse_newer(connection, path, MEMORIES, len(MIGRATIONS))


SCHEMA = schema.Schema(MEMORIES, migrate, refuse_newer)
