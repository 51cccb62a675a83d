"""Read and write archives of `gnoctl backup`; list the files that a restore leaves beside the databases."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from tests.machine import Machine

Members = dict[str, bytes]

# The version field of a database from before the first release.
BEFORE_RELEASE = (
    "UPDATE schema_meta SET key = iif(key = 'version', 'schema_version', 'other'), value = '22'"
    " WHERE key IN ('version', 'fingerprint')"
)


def members(archive: Path) -> Members:
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def pack(archive: Path, parts: Members, **changed: object) -> Path:
    """Write an archive with a manifest that matches its parts, except for the fields in `changed`."""
    manifest = {
        "format": 1,
        "version": "0.1.0",
        "schema": 6,
        "index": "default",
        "made": "2026-01-01T00:00:00+00:00",
        "documents": 1,
        "parts": {name: member(data) for name, data in parts.items()},
        **changed,
    }
    with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in {**parts, "manifest.json": json.dumps(manifest).encode()}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return archive


def member(data: bytes) -> dict[str, object]:
    return {"bytes": len(data), "sha256": sha256(data).hexdigest()}


def database(data: bytes) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(data)
    return connection


def changed(data: bytes, *statements: str) -> bytes:
    """Return the database after executing these statements in it."""
    with closing(database(data)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        return connection.serialize()


def leftovers(machine: Machine) -> list[str]:
    found = [path.name for folder in (machine.folder, machine.database.parent) for path in folder.iterdir()]
    return [name for name in found if "partial" in name or "staging" in name]


def kept(machine: Machine) -> list[Path]:
    return sorted(
        path for path in machine.database.parent.glob("*.before-restore-*") if not path.name.endswith(("-wal", "-shm"))
    )
