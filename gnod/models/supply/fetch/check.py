"""Check that a model's file is complete: compare GGUF's header with the length of the file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from gnod.errors import ModelCorrupt, ModelRejected
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


def require_hash(path: Path, name: str, expected: str, accept: str = "") -> str:
    """Return the file's SHA-256. Raises ModelCorrupt unless it is the expected one, if any, or that to `accept`."""
    found = sha256_of(path)
    if expected and found not in (expected, accept):
        raise ModelCorrupt(
            f"{name} is not the file that gnod knows: its SHA-256 is {found}, and {expected} was expected. It is "
            "damaged, or its author replaced it: if you trust the new one, run "
            f"`gnoctl models pull --accept {found} {name}`",
            {"uri": name, "sha256": found, "expected_sha256": expected},
        )
    return found


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
    if start.startswith((b"ggml", b"ggjt", b"lmgg", b"tjgg")):
        return "a model in a format that llama.cpp dropped in 2023: use a GGUF file"
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
