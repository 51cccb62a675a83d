"""Prepares one model in a folder: locks it, checks the free space, and checks or writes the files.

The source is a download or a folder of this machine. A GGUF file is checked; for an encoder, its files are written.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gnod.errors import GnoError, ModelCorrupt, ModelRejected, StorageFailed
from gnod.models import encoder
from gnod.models.embedding_profiles import Profile
from gnod.models.files import MAGIC, NO_PIN, Pin, size_of
from gnod.models.run.gguf_header import read_header
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress

# This much disk space stays free, for the database and everything else.
MARGIN_BYTES = 100 * 1000 * 1000
POLL_S = 0.3
_HASH_BYTES = 1 << 22

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FREE_SPACE = "Free some space, or set GNO_CACHE_DIR to a folder on another disk"


class Staged(NamedTuple):
    """Checked files that can be installed, the model first; its hash is `sha256`. `pin`: for the downloaded files.
    `profile`: what the model's repository states."""

    paths: list[Path]
    sha256: str
    pin: Pin = NO_PIN
    profile: Profile | None = None


class Expected(NamedTuple):
    """The requirements for a download. `accept`: a SHA-256 to accept instead of a pinned one."""

    pin: Pin = NO_PIN
    accept: str = ""

    def check(self, name: str, path: str, found: str) -> None:
        """Raise ModelCorrupt if the file has a pinned SHA-256 and `found` is another one."""
        expected = self.pin.hashes.get(path, found)
        if found not in (expected, self.accept):
            all_files = f" (or `gnoctl models clear {name}` and pull it, for all of its files)"
            raise ModelCorrupt(
                f"{path} is not the file that is known for {name}: its SHA-256 is {found}, and {expected} was "
                "expected. Its author or an intermediary has replaced it. If you trust the new file, run "
                f"`gnoctl models pull --accept {found} {name}`{all_files if len(self.pin.hashes) > 1 else ''}",
                {"uri": name, "file": path, "sha256": found, "expected_sha256": expected},
            )


@contextmanager
def exclusive(folder: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Create and lock the folder. While another process holds it (and may remove it), call `on_wait` now and then."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("ab") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                on_wait()
                time.sleep(POLL_S)
        folder.mkdir(parents=True, exist_ok=True)
        yield


def check_space(folder: Path, needed: int) -> None:
    """Raise StorageFailed unless `needed` bytes fit."""
    free = shutil.disk_usage(folder).free
    if needed + MARGIN_BYTES > free:
        raise StorageFailed(
            f"not enough space in {folder}: {_megabytes(needed + MARGIN_BYTES)} are needed and {_megabytes(free)} are "
            f"free. {_FREE_SPACE}",
            {"needed_bytes": needed + MARGIN_BYTES, "free_bytes": free, "folder": str(folder)},
        )


def storage_error(error: OSError, folder: Path) -> GnoError:
    """Return the error to report for a disk error."""
    if error.errno not in _FULL:
        return StorageFailed(f"{error.filename or folder}: {error.strerror or error}", {"folder": str(folder)})
    text = f"the disk is full or the user's quota is used up in {folder}"
    return StorageFailed(f"{text}. {_FREE_SPACE}; what was fetched is kept", {"folder": str(folder)})


def _megabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 10**9 else f"{size / 1e6:,.0f} MB"


def staged(model: Path, folder: Path, name: str, report: OnProgress, pin: Pin = NO_PIN) -> Staged:
    """Return the GGUF file itself, or the files of an encoder, in `folder`. Raises ModelCorrupt, ModelRejected."""
    files, profile = [model], None
    if size_of(model, MAGIC) is None:
        from gnod.models.supply.encoders import repository  # the import takes 0.3 s

        if not repository.accepts(model):
            raise ModelRejected(
                f"{name} is not a model that gnod can use: neither GGUF, nor a folder with config.json and weights",
                {"uri": name},
            )
        report(FetchProgress("prepare", 0))
        with named(name):
            profile = repository.prepare(model, folder / "encoder", name=name)
        files = [folder / "encoder" / file for file in (encoder.MODEL, encoder.TOKENIZER, encoder.SETTINGS)]
    else:
        check_model(model, name)
    size = files[0].stat().st_size
    digest = sha256_of(files[0], lambda done: report(FetchProgress("check", done, size)))
    return Staged(files, digest, pin, profile)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Add the model's name to errors of its preparation."""
    try:
        yield
    except (ModelCorrupt, ModelRejected) as error:
        raise type(error)(f"{name} cannot be used: {error.message}", {"uri": name}) from None


def check_model(path: Path, name: str) -> None:
    """Raise ModelCorrupt unless `path` is a complete GGUF file, and ModelRejected for a part of a split model."""
    with path.open("rb") as file:
        start = file.read(512)
    if not start.startswith(MAGIC):
        raise ModelCorrupt(f"{name} is not a model: it is {describe(start)}", {"path": str(path)})
    size = path.stat().st_size
    try:
        header = read_header(path)
    except ModelCorrupt as error:
        raise ModelCorrupt(f"{name} is damaged or truncated", {"path": str(path)}) from error
    if header.needed_bytes > size:
        raise ModelCorrupt(
            f"{name} is truncated: it has {size:,} bytes and its tensors need {header.needed_bytes:,}",
            {"path": str(path), "bytes": size, "needed_bytes": header.needed_bytes},
        )
    if header.parts > 1:
        raise ModelRejected(
            f"{name} is one of {header.parts} parts of a model, which gnod does not join: choose one in a single file",
            {"path": str(path), "parts": header.parts},
        )


def describe(start: bytes) -> str:
    """Return a description of a file that is not a model, by its first bytes."""
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not start:
        return "empty"
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<script", b"<!--")):
        return "a web page (a login or error page: of the hub, of a proxy, or of this network)"
    if text.startswith((b'{"error', b"{'error")):
        return "an error message of the server"
    if start.startswith(b"version https://git-lfs"):
        return "a pointer of Git LFS, without the file itself"
    return "not a GGUF file"


def sha256_of(path: Path, progress: Callable[[int], None] = lambda _: None) -> str:
    """Return the hash in hex; `progress` receives the bytes done."""
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while data := file.read(_HASH_BYTES):
            digest.update(data)
            done += len(data)
            progress(done)
    return digest.hexdigest()
