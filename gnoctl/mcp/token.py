"""The address of the bridge over HTTP, and the secret that agents send to it. The secret is in a file that only its
owner can read, and is kept, because agents have it in their settings. Must not import `mcp`, which takes a second."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from gnoctl.loopback import HOST
from gnod.paths import IndexPaths
from gnod.private import private_file, private_folder

PATH = "/mcp"
_SECRET_BYTES = 32
_MOST_BYTES = 1024


def address(port: int) -> str:
    return f"http://{HOST}:{port}{PATH}"


def token_of(places: IndexPaths) -> str:
    """Return the secret of an index; the first call creates it. Raises OSError, or Refused for another user's file."""
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
