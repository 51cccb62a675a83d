"""The jobs of converter workers and their outcomes. Plain data that crosses a process boundary as msgpack."""

from __future__ import annotations

import msgspec

from gnod.store.documents.records import FileStat, Prepared


class FileJob(msgspec.Struct, frozen=True, kw_only=True, tag="file"):
    """Read, hash, convert and prepare one file.

    `path` is absolute; `relative_path` is relative to the root, with slashes. When the file's hash is
    `known_source_hash`, the outcome is `Unchanged`.
    """

    path: str
    relative_path: str
    language: str | None = None
    known_source_hash: str | None = None
    max_bytes: int
    max_characters: int


class TextJob(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """Prepare a Markdown text that is already in memory (evaluation)."""

    text: str
    relative_path: str
    title: str | None = None
    language: str | None = None


class Unchanged(msgspec.Struct, frozen=True, kw_only=True, tag="unchanged"):
    source_hash: str
    stat: FileStat


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag="failure"):
    """Why a file is not indexed.

    `stage`: read, convert, prepare. `kind` is a stable word. Skipped files: too_large, binary, unsupported, empty.
    Faults: vanished, unreadable, not_a_file, unstable, encrypted, corrupt, too_long, timeout, memory, refused (blocked
    by the sandbox), crashed, failed.
    """

    stage: str
    kind: str
    message: str
    stat: FileStat | None = None


Job = FileJob | TextJob
Outcome = Prepared | Unchanged | Failure
