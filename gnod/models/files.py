"""The models on this machine: one folder for each in the cache, with the model's files and a record.

    models/some-model-q4-1a2b3c4d/model.gguf, model.json, readability.json
    models/some-encoder-5e6f7a8b/model.onnx, tokenizer.json, encoder.json, model.json, readability.json
    models/partial/some-model-q4-1a2b3c4d/…     unfinished downloads

The record is written last and removed first: a folder without one holds no model. Must not depend on the network.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gnod.config import model_uris
from gnod.config.model_uris import LocalFile, ModelUri
from gnod.errors import InvalidModelUri, StorageFailed
from gnod.models import encoder
from gnod.models.embedding_profiles import Profile

MAGIC = b"GGUF"
GGUF = "model.gguf"
RECORD = "model.json"
READABILITY = "readability.json"
PARTIAL = "partial"


class Pin(msgspec.Struct, frozen=True):
    """The requirements for later downloads of a model: the commit of its repository, and the SHA-256 of each downloaded
    file, by its path there."""

    revision: str = ""
    hashes: dict[str, str] = {}


NO_PIN = Pin()


class Installed(msgspec.Struct, frozen=True):
    """A model that can be loaded. `model.json` holds all fields except the path. `sha256` is empty for a `file:` model,
    which is used in place. `profile`: what its repository states."""

    uri: str
    path: Path
    bytes: int
    sha256: str
    fetched_at: float
    profile: Profile | None = None
    pin: Pin = NO_PIN


class ModelFiles:
    """The cache folder. Several daemons may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def partial_for(self, uri: str) -> Path:
        """Return the folder for preparing the model. Raises InvalidModelUri."""
        return self.folder / PARTIAL / model_uris.folder_name(model_uris.parse(uri))

    def readability_for(self, uri: str) -> Path:
        """Return the path of the model's measured readability. The file need not exist. Raises InvalidModelUri."""
        return self._folder(model_uris.parse(uri)) / READABILITY

    def find(self, uri: str) -> Installed | None:
        """Return the model if it is installed. Checks only its size and its first bytes. Raises InvalidModelUri."""
        parsed = model_uris.parse(uri)
        local = _local(parsed) if isinstance(parsed, LocalFile) else None
        return local or _installed(self._folder(parsed), str(parsed))

    def pin(self, uri: str) -> Pin:
        """Return the pin recorded at the download, even if the model is damaged now. Raises InvalidModelUri."""
        parsed = model_uris.parse(uri)
        record = _record(self._folder(parsed))
        return record.pin if record and record.uri == str(parsed) else NO_PIN

    def all(self) -> list[Installed]:
        """Return the installed models in the cache, ordered by folder name."""
        return [installed for folder in self._folders() if (installed := _installed(folder, None))]

    def install(
        self, uri: str, staged: Sequence[Path], sha256: str, pin: Pin = NO_PIN, profile: Profile | None = None
    ) -> Installed:
        """Move checked files into place and record them; the first one is the model. Processes that have older files
        open can still read them. Raises StorageFailed."""
        folder = self._folder(model_uris.parse(uri))
        path = folder / (GGUF if staged[0].suffix != encoder.ONNX else encoder.MODEL)
        name = str(model_uris.parse(uri))
        installed = Installed(name, path, staged[0].stat().st_size, sha256, time.time(), profile, pin)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.with_name(RECORD).unlink(missing_ok=True)
            for other in {GGUF, encoder.MODEL} - {path.name}:
                (folder / other).unlink(missing_ok=True)
            for file, name in zip(staged, [path.name, *(extra.name for extra in staged[1:])], strict=True):
                _flush(file)
                file.replace(folder / name)
            new = path.with_name(f"{RECORD}.new")
            record = {key: value for key, value in msgspec.structs.asdict(installed).items() if key != "path"}
            new.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
            new.replace(path.with_name(RECORD))
        except OSError as error:
            raise StorageFailed(f"cannot move the model into {folder}: {error.strerror or error}") from error
        return installed

    def remove(self, uri: str) -> int:
        """Remove the model and its unfinished download, but never a `file:` model; return the bytes freed. Raises
        StorageFailed."""
        parsed = model_uris.parse(uri)
        if isinstance(parsed, LocalFile) and _local(parsed):
            return 0
        return _remove(self._folder(parsed)) + _remove(self.partial_for(uri))

    def remove_all(self) -> int:
        """Empty the cache; return the bytes freed. Raises StorageFailed."""
        return sum(_remove(folder) for folder in [*self._folders(), self.folder / PARTIAL])

    def partial_bytes(self, uri: str) -> int:
        """Return the size of an unfinished download in bytes. Raises InvalidModelUri."""
        return _bytes_in(self.partial_for(uri))

    def total_bytes(self) -> int:
        """Return the size of the whole cache in bytes."""
        return _bytes_in(self.folder)

    def _folder(self, uri: ModelUri) -> Path:
        return self.folder / model_uris.folder_name(uri)

    def _folders(self) -> Iterator[Path]:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            yield from sorted(path for path in self.folder.iterdir() if path.is_dir() and path.name != PARTIAL)


def _installed(folder: Path, uri: str | None) -> Installed | None:
    """Return the model in `folder`; None if it is incomplete, or another model than `uri`."""
    found = _record(folder)
    if found is None or size_of(found.path, MAGIC if found.path.name == GGUF else b"") != found.bytes:
        return None
    is_right = found.uri == uri if uri else model_uris.folder_name(model_uris.parse(found.uri)) == folder.name
    return found if is_right else None


def _record(folder: Path) -> Installed | None:
    """Return the model in `folder`. Its file may be missing or damaged."""
    path = folder / encoder.MODEL
    try:
        record = msgspec.json.decode((folder / RECORD).read_bytes(), type=dict[str, Any])
        found = msgspec.convert({**record, "path": path if path.exists() else folder / GGUF}, Installed)
        return found if str(model_uris.parse(found.uri)) == found.uri else None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, InvalidModelUri):
        return None


def _local(uri: LocalFile) -> Installed | None:
    path = Path(uri.path)
    has_settings = path.suffix == encoder.ONNX and path.with_name(encoder.SETTINGS).exists()
    size = size_of(path, b"" if has_settings else MAGIC)
    with contextlib.suppress(OSError):
        return None if size is None else Installed(str(uri), path, size, "", path.stat().st_mtime)
    return None


def size_of(path: Path, begins: bytes) -> int | None:
    """Return the size of a regular file that begins with these bytes; None for any other."""
    try:
        # Do not block: opening a named pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        is_model = stat.S_ISREG(status.st_mode) and os.read(descriptor, len(begins)) == begins
        return status.st_size if is_model else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _flush(path: Path) -> None:
    """Write the content to disk before the name."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> int:
    size = _bytes_in(folder)
    try:
        (folder / RECORD).unlink(missing_ok=True)
        shutil.rmtree(folder)
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        raise StorageFailed(f"{folder} cannot be removed: {error.strerror or error}") from error
    return size


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                total += path.stat().st_size
    return total
