"""Name the model of a shared collection's vectors for readers, and find it on a reader's machine."""

from __future__ import annotations

import contextlib
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from gnod.config.model_uris import LocalFile, endpoint_of, parse
from gnod.configured.models import ModelService
from gnod.errors import InvalidModelUri

# Cache the digests of this many of the user's model files.
_DIGESTS = 16


class Model(NamedTuple):
    """The model whose vectors are published. `uri`: its address in the index. `name` and `hash` are for readers."""

    uri: str
    name: str
    hash: str | None


def published(models: ModelService, uri: str) -> Model:
    """Return the description of a model for readers, without a file path. Reads a model file of the user once."""
    parsed, installed = parse(uri), models.files.find(uri)
    name = f"file:{Path(parsed.path).name}" if isinstance(parsed, LocalFile) else uri
    if endpoint := endpoint_of(uri):
        name = endpoint.model if endpoint.socket else uri
    return Model(uri, name, (installed.sha256 or _digest(installed.path)) if installed else None)


def same(models: ModelService, uri: str, sha256: str | None) -> str | None:
    """Return the address of the model that embedded a collection, if it is on this machine: at the same address, or as
    a file of the user, which is read once."""
    with contextlib.suppress(InvalidModelUri):
        installed = models.find(uri)
        if installed and installed.sha256:
            return uri if sha256 in (None, installed.sha256) else None
    own = (use.uri for use in models.uses() if sha256 and use.role == "embed" and use.uri.startswith("file:"))
    return next((each for each in own if (found := models.find(each)) and sha256 == _digest(found.path)), None)


def _digest(path: Path) -> str | None:
    with contextlib.suppress(OSError):
        stat = path.stat()
        return _digest_of(path, stat.st_size, stat.st_mtime_ns)
    return None


@lru_cache(_DIGESTS)
def _digest_of(path: Path, _size: int, _mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
