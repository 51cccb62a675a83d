"""The published content of a document, without its vectors: what a reader needs to store it in its own index.

Terms are left out: whoever has the same version of the analyser makes the same ones. So is what only the machine with
the files can use: inodes, scans that are still to be read, and messages about files.

A reader gets payloads from a machine that it does not control. `decode` checks types, sizes and offsets.
"""

from __future__ import annotations

import re
import sys
from pathlib import PurePosixPath

import msgspec

from gnod.errors import EngineFailed
from gnod.store.tables.records import Chunk, FileStat, Link, PreparedDocument, StoredDefinition, Terms

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError, compress
else:
    from backports.zstd import ZstdDecompressor, ZstdError, compress

# Larger than the longest text that is indexed by default, with its chunks and links.
_MOST_BYTES = 512 << 20
_LEVEL = 3
_SHA256 = re.compile("[0-9a-f]{64}")
NO_TERMS = Terms("", "", "")


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """`prepared` has no terms. `path` is relative to the collection, `container` as in `writing.put`."""

    path: str
    prepared: PreparedDocument
    container: str | None = None


def encode(payload: Payload) -> bytes:
    """Return the bytes to publish; the same for the same document."""
    prepared = payload.prepared
    shared = msgspec.structs.replace(
        prepared,
        terms=NO_TERMS,
        scans=None,
        unread=[],
        stat=FileStat(prepared.stat.size, prepared.stat.mtime_ns, 0) if prepared.stat else None,
    )
    return compress(msgspec.msgpack.encode(msgspec.structs.replace(payload, prepared=shared)), _LEVEL)


def decode(data: bytes) -> Payload:
    """Raises EngineFailed for what no publisher sends."""
    try:
        decompressor = ZstdDecompressor()
        plain = decompressor.decompress(data, max_length=_MOST_BYTES)
        if not decompressor.eof:
            raise ValueError("it is too long, or cut off")
        payload = msgspec.msgpack.decode(plain, type=Payload)
        _check(payload)
    except (ZstdError, msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, ValueError) as error:
        raise EngineFailed(f"a document of a shared collection is damaged: {error}") from error
    return payload


def _check(payload: Payload) -> None:
    for path in (payload.path, payload.container):
        if path is not None and not _is_relative(path):
            raise ValueError("its path leads out of the collection")
    prepared = payload.prepared
    end = len(prepared.markdown)
    if not all(_SHA256.fullmatch(each) for each in (prepared.mirror_hash, *(c.embed_hash for c in prepared.chunks))):
        raise ValueError("a hash is not one of SHA-256")
    spans: list[Chunk | StoredDefinition | Link] = [*prepared.chunks, *prepared.definitions, *prepared.links]
    if any(not 0 <= span.start <= span.end <= end for span in spans):
        raise ValueError("a range is not within its text")


def _is_relative(path: str) -> bool:
    return bool(path) and not path.startswith("/") and "\0" not in path and ".." not in PurePosixPath(path).parts
