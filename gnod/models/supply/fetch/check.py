"""Check that a model's file is complete: compare GGUF's header with the length of the file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.files import NO_PIN, Pin
from gnod.models.run.gguf_header import MAGIC, read_header

_HASH_BYTES = 1 << 22


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


class Expected(NamedTuple):
    """What a download must be. `accept`: a SHA-256 to accept instead of a pinned one."""

    pin: Pin = NO_PIN
    accept: str = ""

    def check(self, name: str, path: str, found: str) -> None:
        """Raise ModelCorrupt for another SHA-256 of the file than the pinned one, if there is one."""
        expected = self.pin.hashes.get(path, found)
        if found not in (expected, self.accept):
            all_files = f" (or `gnoctl models clear {name}` and pull it, for all of its files)"
            raise ModelCorrupt(
                f"{path} is not the file that is known for {name}: its SHA-256 is {found}, and {expected} was "
                "expected. Its author, or somebody on the way, has replaced it. If you trust the new file, run "
                f"`gnoctl models pull --accept {found} {name}`{all_files if len(self.pin.hashes) > 1 else ''}",
                {"uri": name, "file": path, "sha256": found, "expected_sha256": expected},
            )


def describe(start: bytes) -> str:
    """Return what a file is that is not a model, by its first bytes."""
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
