"""Write an index of an old version as SQL text: how the fixtures beside this file were made.

Run once for each version, with the code that wrote it; a fixture is never made again, since that code is the past:

    git worktree add /tmp/old COMMIT
    cd /tmp/old && PYTHONPATH=/tmp/old python …/tests/store/schemas/make.py 3 …/tests/store/schemas

    version 1: d70405d    version 2: 08b46d2    version 3: 44bf9e5    version 6: 3309784
    versions 7 to 22: the commit that brought each

Versions 4, 5 and 6 came in one commit (075cb79): no code ever wrote an index of version 4 or 5. Theirs are made by the
code of version 6 (`make.py 4 …`), from the fixture of version 3.

Folders are written as @NOTES@, so that a test can put its own there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw

HERE = Path(__file__).parent
PLACEHOLDER = "@NOTES@"
MODEL = "hf:example/small-model"
SHADOWS = ("_config", "_content", "_data", "_docsize", "_idx")


def main(version: int, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="gnod-") as name:
        folder = Path(name)
        if version in (4, 5):
            path, notes = migrated(folder, version, target)
        else:
            path, notes = indexed(folder)
            shutil.copy(folder / "config" / "index.yml", target / f"v{version}.yml")
            config = (target / f"v{version}.yml").read_text()
            (target / f"v{version}.yml").write_text(config.replace(notes, PLACEHOLDER))
        connection = apsw.Connection(str(path))
        found = connection.execute("SELECT value FROM schema_meta WHERE key = 'schema_version'").get
        assert found == str(version), found
        text = "\n".join(dump(connection)) + "\n"
        (target / f"v{version}.sql").write_text(text.replace(notes, PLACEHOLDER))


def indexed(folder: Path) -> tuple[Path, str]:
    """Index the notes as a user of that version did, and add what a language model would have made."""
    notes = folder / "notes"
    shutil.copytree(HERE / "notes", notes)
    for path in notes.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    places = {
        "GNO_CONFIG_DIR": folder / "config",
        "GNO_DATA_DIR": folder / "data",
        "GNO_CACHE_DIR": folder / "cache",
        "GNO_SOCKET": folder / "s.sock",
        "HOME": folder,
    }
    environment = os.environ | {name: str(path) for name, path in places.items()}

    def gnoctl(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "gnoctl", *words], env=environment, check=True)

    gnoctl("init", str(notes), "--name", "notes")
    gnoctl("context", "add", "notes:", "what the fixtures are about")
    gnoctl("index")
    gnoctl("daemon", "stop")
    path = folder / "data" / "index-default.sqlite"
    add_model_output(path)
    return path, str(notes)


def add_model_output(path: Path) -> None:
    """Vectors of all texts but one, which failed; a cached answer; embedding is paused."""
    try:
        import numpy as np

        from gnod.store.health import runtime_flags
        from gnod.store.vectors import vectors
    except ImportError:  # version 1 knew no models
        return
    from gnod.store.database import Connection, Database

    def work(connection: Connection) -> None:
        chunks = sorted(vectors.pending(connection, MODEL, ["notes"], 1000))
        made = {
            chunk.embed_hash: [vectors.Piece(np.eye(4, dtype=np.float32)[number % 4])]
            for number, chunk in enumerate(chunks[1:])
        }
        vectors.put(connection, MODEL, made)
        vectors.note_failed(connection, MODEL, chunks[0].embed_hash, "the model gave no vector")
        vectors.serve(connection, "notes", MODEL)
        runtime_flags.pause_embedding(connection)
        try:
            from gnod.store import llm_cache
        except ImportError:
            return
        llm_cache.put(connection, "key", "kept words", 1_700_000_000.0)

    database = Database(path)
    database.submit_write(work).result()
    database.close()


def migrated(folder: Path, version: int, target: Path) -> tuple[Path, str]:
    from gnod.store import migrations

    path = folder / "index.sqlite"
    connection = apsw.Connection(str(path))
    connection.execute((target / "v3.sql").read_text())
    migrations.SCHEMA_VERSION = version
    migrations.migrate(connection, path)
    connection.close()
    return path, PLACEHOLDER


def dump(connection: apsw.Connection) -> Iterator[str]:
    """Yield statements that make the database anew, row for row. The tables of sqlite-vec that older versions kept are
    left out; those that FTS5 keeps for itself are made by it, and filled."""
    for pragma in ("application_id", "user_version"):
        yield f"PRAGMA {pragma} = {connection.pragma(pragma)};"
    yield "BEGIN;"
    schema = [
        (kind, name, sql)
        for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY rowid")
        if not name.startswith("vec_")
    ]
    virtual = [name for kind, name, sql in schema if sql and sql.startswith("CREATE VIRTUAL")]
    shadows = {name + shadow for name in virtual for shadow in SHADOWS}
    tables = [name for kind, name, _ in schema if kind == "table" and name not in virtual]
    for kind, name, sql in schema:
        if kind == "table" and name not in shadows and not name.startswith("sqlite_"):
            yield sql + ";"
    if "sqlite_stat1" in tables:
        yield "ANALYZE sqlite_schema;"
    for name in tables:
        if name in shadows or name.startswith("sqlite_"):
            yield f"DELETE FROM {name};"
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info ({name})")]
        order = ", ".join(f'"{column}"' for column in columns)
        for row in connection.execute(f"SELECT {order} FROM {name} ORDER BY {order}"):
            yield f"INSERT INTO {name} ({order}) VALUES ({', '.join(map(apsw.format_sql_value, row))});"
    for kind, _, sql in schema:
        if sql and kind != "table":
            yield sql + ";"
    yield "COMMIT;"


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]).resolve())
