"""What each method answers. Clients decode them tolerantly: fields they do not know are ignored."""

from __future__ import annotations

import msgspec

from gnod.protocol.params import ProgressToken


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all results."""


class Freshness(Result, frozen=True, kw_only=True):
    """Whether the index equals the disk, as far as the daemon knows.

    `pending`: files known to differ and not yet ingested. `failed`: files that could not be read or
    converted. `unwatched`: collections whose later changes the daemon does not see by itself. `unavailable`:
    collections whose folder is not there.
    """

    current: bool
    pending: int = 0
    failed: int = 0
    unwatched: list[str] = []
    unavailable: list[str] = []


class Hit(Result, frozen=True, kw_only=True):
    """One document found.

    `score` is in [0, 1], normalised per query and not comparable across queries. `line` to
    `end_line` (from 1) hold the matched words, and `snippet` begins in `snippet_line`: the file's own lines where it is
    text, else those of its Markdown. `marks` are half-open character ranges of the matched words inside `snippet`.
    `source` is the absolute path of the file. `text` is the whole document, when `full` was asked for.
    """

    rank: int
    score: float
    docid: str
    uri: str
    collection: str
    path: str
    source: str
    title: str
    line: int
    end_line: int
    snippet: str
    snippet_line: int = 1
    marks: list[tuple[int, int]] = []
    language: str | None = None
    mime: str
    modified: str
    tags: list[str] = []
    context: str | None = None
    text: str | None = None
    explain: dict[str, float] | None = None


class SearchResult(Result, frozen=True, kw_only=True):
    """`total`: documents that matched before `limit` and `min_score`."""

    query: str
    mode: str
    hits: list[Hit]
    total: int
    took_ms: float
    freshness: Freshness
    explain: dict[str, object] | None = None


class DocumentEntry(Result, frozen=True, kw_only=True):
    docid: str
    uri: str
    collection: str
    path: str
    source: str
    title: str
    mime: str
    language: str | None = None
    size: int
    modified: str


class DocumentText(DocumentEntry, frozen=True, kw_only=True):
    """The canonical Markdown, or the asked lines of it. `stale`: the file differs from what was indexed.

    Line numbers are the file's own where it is text. Canonical text has no two blank lines in a row: `line_map` tells
    where it lost lines, as (line of the canonical text, lines lost up to there); it is empty for most documents.
    """

    text: str
    start_line: int
    end_line: int
    total_lines: int
    line_map: list[tuple[int, int]] = []
    truncated: bool = False
    stale: bool = False
    tags: list[str] = []
    metadata: dict[str, object] = {}
    converter: str
    context: str | None = None


class SkippedReference(Result, frozen=True, kw_only=True):
    ref: str
    reason: str


class DocumentMultiGetResult(Result, frozen=True, kw_only=True):
    documents: list[DocumentText]
    skipped: list[SkippedReference]


class DocumentListResult(Result, frozen=True, kw_only=True):
    documents: list[DocumentEntry]
    total: int


class CollectionInfo(Result, frozen=True, kw_only=True):
    name: str
    path: str
    pattern: str
    include: list[str]
    exclude: list[str]
    gitignore: bool
    language: str | None = None
    update_command: str | None = None
    documents: int


class CollectionAddResult(Result, frozen=True, kw_only=True):
    collection: CollectionInfo
    config_file: str


class CollectionRemoveResult(Result, frozen=True, kw_only=True):
    name: str
    removed_documents: int


class CollectionRenameResult(Result, frozen=True, kw_only=True):
    name: str
    new_name: str
    renamed_contexts: int


class CollectionListResult(Result, frozen=True, kw_only=True):
    collections: list[CollectionInfo]


class ContextInfo(Result, frozen=True, kw_only=True):
    scope: str
    text: str


class ContextAddResult(Result, frozen=True, kw_only=True):
    context: ContextInfo


class ContextListResult(Result, frozen=True, kw_only=True):
    contexts: list[ContextInfo]


class ContextRemoveResult(Result, frozen=True, kw_only=True):
    removed: list[ContextInfo]


class CollectionSync(Result, frozen=True, kw_only=True):
    """What one sync did to one collection, in files. `skipped`: too large, binary, or no converter for it."""

    name: str
    available: bool
    seen: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    skipped: int = 0
    took_ms: float = 0.0
    reason: str | None = None


class IndexSyncResult(Result, frozen=True, kw_only=True):
    collections: list[CollectionSync]
    took_ms: float


class IngestError(Result, frozen=True, kw_only=True):
    collection: str
    path: str
    stage: str
    kind: str
    message: str
    first_at: str
    last_at: str
    count: int


class CollectionStatus(Result, frozen=True, kw_only=True):
    """`on_disk` counts the files that ought to be indexed, by a walk made for this answer; `pending` those of
    them that differ from the index. `excluded` counts files that the rules leave out (files in an excluded
    folder are not counted: the folder is not entered)."""

    name: str
    path: str
    available: bool
    reason: str | None = None
    on_disk: int
    indexed: int
    pending: int
    failed: int
    failed_by_kind: dict[str, int] = {}
    skipped: int = 0
    excluded: int
    watch: str
    watch_reason: str | None = None
    last_sync: str | None = None


class IndexStatusResult(Result, frozen=True, kw_only=True):
    index: str
    database: str
    database_bytes: int
    documents: int
    chunks: int
    languages: dict[str, int]
    collections: list[CollectionStatus]
    freshness: Freshness
    syncing: bool
    config_file: str
    config_warnings: list[str] = []
    config_error: str | None = None
    errors: list[IngestError] | None = None


class WhyCollection(Result, frozen=True, kw_only=True):
    """One collection's view of the path. `verdict`: indexed, stale, pending, failed, skipped, excluded,
    deleted or missing; `reason` says why in words."""

    collection: str
    path: str
    verdict: str
    reason: str
    uri: str | None = None
    docid: str | None = None
    title: str | None = None
    converter: str | None = None
    language: str | None = None
    chunks: int = 0
    indexed_at: str | None = None
    error: IngestError | None = None


class IndexWhyResult(Result, frozen=True, kw_only=True):
    path: str
    exists: bool
    collections: list[WhyCollection]
    reason: str


class IndexCleanupResult(Result, frozen=True, kw_only=True):
    removed_documents: int
    removed_contents: int
    freed_bytes: int
    database_bytes: int


class IndexInitResult(Result, frozen=True, kw_only=True):
    config_file: str
    config_created: bool
    data_dir: str
    cache_dir: str
    database: str
    socket: str


class WorkerStatus(Result, frozen=True, kw_only=True):
    pid: int
    state: str
    resident_bytes: int
    jobs: int


class DaemonStatusResult(Result, frozen=True, kw_only=True):
    version: str
    pid: int
    index: str
    socket: str
    log_file: str
    uptime_s: float
    resident_bytes: int
    connections: int
    requests: int
    workers: list[WorkerStatus]
    sqlite_version: str


class DaemonShutdownResult(Result, frozen=True, kw_only=True):
    stopping: bool


class Check(Result, frozen=True, kw_only=True):
    """`status`: ok, warning or error. `remedy`: the command or the step that mends it."""

    name: str
    status: str
    message: str
    remedy: str | None = None


class DoctorResult(Result, frozen=True, kw_only=True):
    healthy: bool
    checks: list[Check]


class ProgressValue(Result, frozen=True, kw_only=True):
    """The `value` of `$/progress`: `done` of `total` in `stage`; `total` is None while it is not known."""

    stage: str
    done: int
    total: int | None = None
    label: str | None = None


class ProgressParams(Result, frozen=True, kw_only=True):
    token: ProgressToken
    value: ProgressValue
