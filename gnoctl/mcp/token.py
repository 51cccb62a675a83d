"""The secret that agents show to the bridge at its address: in a file that only its owner can read, and kept, because
agents have it in their settings."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from gnod.paths import IndexPaths
from gnod.private import private_file, private_folder

_SECRET_BYTES = 32
_MOST_BYTES = 1024


def token_of(places: IndexPaths) -> str:
    """Return the secret of an index; the first call makes it. Raises OSError, or Refused for another user's file."""
    path = file_of(places)
    private_folder(path.parent)
    with os.fdopen(private_file(path, os.O_RDWR | os.O_CREAT), "r+", encoding="ascii", errors="replace") as file:
        if len(token := file.read(_MOST_BYTES).strip()) >= _SECRET_BYTES:
            return token
        file.seek(0)
        file.truncate()
        file.write(token := secrets.token_urlsafe(_SECRET_BYTES))
        return token


def file_of(places: IndexPaths) -> Path:
    return places.data_dir / f"mcp-{places.index}.token"
