"""Wire types of `index.…`: sync, embedding, tuning, status, backup. Subscriptions are in `subscription`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gnod.protocol.base import Freshness, Params, Result
from gnod.protocol.collections import AttachedInfo, PublicationInfo
from gnod.protocol.search import Reference

FilePath = Annotated[str, Meta(min_length=1, max_length=4096)]


class IndexInitResult(Result, frozen=True, kw_only=True):
    """`has_preset`: the config file names a preset of models."""

    config_file: str
    config_created: bool
    data_dir: str
    cache_dir: str
    database: str
    socket: str
    has_preset: bool = False


class IndexSyncParams(Params, frozen=True):
    """`collections`: all if empty. `update`: first run each collection's update command."""

    collections: list[str] = []
    update: bool = False


class CollectionSync(Result, frozen=True, kw_only=True):
    """What a sync did to one collection, in files. `skipped`: too large, binary, or without a converter."""

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


class IndexEmbedParams(Params, frozen=True, kw_only=True):
    """Progress counts chunks. The work continues if the client disconnects."""


class EmbeddingStatus(Result, frozen=True, kw_only=True):
    """`state`: idle, embedding, paused, waiting or failing; `reason` says why. `pending`, `done` (in this run) and
    `failed` count chunks; `chunks_per_s` is null while it is unknown."""

    state: str
    reason: str | None = None
    model: str | None = None
    pending: int
    done: int
    failed: int
    chunks_per_s: float | None = None


class IndexEmbedResult(EmbeddingStatus, frozen=True, kw_only=True):
    took_ms: float


class OcrStatus(Result, frozen=True, kw_only=True):
    """Recognition of pages and pictures without text. `state`: idle, working, paused or waiting; `reason` says why.
    `pending` and `failed` count pages; `left_s`: how long the pending ones take, null while it is unknown."""

    state: str
    reason: str | None = None
    pending: int
    failed: int
    left_s: float | None = None


class InferenceStatus(Result, frozen=True, kw_only=True):
    """The process that runs the models. `state`: off, starting, idle, busy or restarting. `models`: files in its
    memory. `crashes`: since the daemon started. `vectors_bytes`: memory that the daemon uses for vectors."""

    state: str
    pid: int | None = None
    resident_bytes: int
    models: list[str] = []
    crashes: int = 0
    last_crash: str | None = None
    vectors_bytes: int = 0


class IndexStatusParams(Params, frozen=True, kw_only=True):
    """`errors`: list the files that failed. `verify`: compare all folders with the index; without it, those that have
    more than 20,000 files together are left out, the largest first."""

    errors: bool = False
    verify: bool = False


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
    """`verified`: the folder was walked for this request. `on_disk`: files that should be indexed; `pending`: those
    that differ from the index; `excluded`: files that the rules leave out (files in an excluded folder are not counted:
    the daemon does not enter it). Without the walk `on_disk` and `excluded` are null, and `pending` are the changes
    that were noticed and not indexed yet. `watch`: how changes are noticed: events, polling (a walk every few seconds)
    or off; `watch_reason`: why not by events, or why changes are not indexed. `last_sync`: the last sync of any scope;
    `last_reconcile`: the last complete comparison with the disk since the daemon started.

    `embedded` of the `chunks` (an estimate while very many are pending) have a vector of `model`, which serves vector
    search now; `unembeddable` chunks failed. `next_model` takes over when all its vectors exist. `unused_model`: of a
    server that the config does not name any more; its vectors are kept, and answer no query. `egress`: how far its
    texts may travel to model servers."""

    name: str
    path: str
    available: bool
    reason: str | None = None
    verified: bool = True
    on_disk: int | None
    indexed: int
    pending: int
    failed: int
    failed_by_kind: dict[str, int] = {}
    skipped: int = 0
    excluded: int | None
    watch: str
    watch_reason: str | None = None
    last_event: str | None = None
    last_sync: str | None = None
    last_reconcile: str | None = None
    chunks: int = 0
    embedded: int = 0
    unembeddable: int = 0
    model: str | None = None
    next_model: str | None = None
    unused_model: str | None = None
    egress: str = "local"


class EndpointStatus(Result, frozen=True, kw_only=True):
    """A model server that the config names. `scope`: where it is (local, lan, any); null: unknown. `addresses`: of its
    name. `allowed` and `left_out`: the collections, and `memories`, that name it, by whether their texts may reach it.
    `key`: environment, keyring or null. `problem`: why nobody can use it. `last_sent`: when it last got something."""

    uri: str
    roles: list[str]
    scope: str | None = None
    addresses: list[str] = []
    allowed: list[str]
    left_out: list[str]
    key: str | None = None
    problem: str | None = None
    last_sent: str | None = None


class PostingsStatus(Result, frozen=True, kw_only=True):
    """The files with which keyword searches in a large index are fast. `documents`: those that they hold; searches read
    the others from the database. `bytes` on disk."""

    documents: int
    bytes: int


class IndexStatusResult(Result, frozen=True, kw_only=True):
    """`errors`: the first files that failed, at most 1,000; `errors_left_out` counts the others. Each collection counts
    its failures by kind."""

    index: str
    database: str
    database_bytes: int
    postings: PostingsStatus | None = None
    documents: int
    chunks: int
    languages: dict[str, int]
    collections: list[CollectionStatus]
    attached: list[AttachedInfo] = []
    published: list[PublicationInfo] = []
    freshness: Freshness
    syncing: bool
    embedding: EmbeddingStatus
    ocr: OcrStatus | None = None
    inference: InferenceStatus
    endpoints: list[EndpointStatus] = []
    config_file: str
    config_warnings: list[str] = []
    config_error: str | None = None
    storage_problems: list[str] = []
    storage_notes: list[str] = []
    restored_at: str | None = None
    errors: list[IngestError] | None = None
    errors_left_out: int = 0


class EgressEntry(Result, frozen=True, kw_only=True):
    """What was sent to an address, in requests and bytes. `role`: embed, rerank, expand or answer, of a model server;
    search or publish, of the server of a shared collection. `collection`: whose texts, or queries over it;
    `(memories)`, `(checks)` of doctor, or `(bench)`; null: all together, where a request for several counts once."""

    address: str
    role: str
    collection: str | None = None
    requests: int
    bytes: int
    first_at: str
    last_at: str


class IndexEgressResult(Result, frozen=True, kw_only=True):
    """`journal`: the file that has these counts, and no text."""

    entries: list[EgressEntry]
    journal: str


class IndexActivityParams(Params, frozen=True, kw_only=True):
    """The last `hours`, in buckets of `bucket_minutes`; at most 1,000 buckets are returned."""

    hours: Annotated[int, Meta(ge=1, le=744)] = 24
    bucket_minutes: Annotated[int, Meta(ge=5, le=1440)] = 60


class ActivityBucket(Result, frozen=True, kw_only=True):
    """Files from `start` on, each at its last change only. `failed` also counts those that are tried again."""

    start: str
    indexed: int
    removed: int
    failed: int


class IndexActivityResult(Result, frozen=True, kw_only=True):
    """In order; the last bucket is under way."""

    buckets: list[ActivityBucket]


class IndexWhyParams(Params, frozen=True):
    """`path`: absolute, or any reference that `document.get` takes."""

    path: Reference


class WhyCollection(Result, frozen=True, kw_only=True):
    """What one collection knows about the path. `verdict`: indexed, stale, pending, failed, skipped, excluded, deleted
    or missing; `reason` explains it."""

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


class IndexBackupParams(Params, frozen=True, kw_only=True):
    """`path`: absolute, on the daemon's machine. `force`: replace an existing backup. Progress counts bytes."""

    path: FilePath
    force: bool = False


class IndexBackupResult(Result, frozen=True, kw_only=True):
    """`memory_bytes`: the size of the encrypted memories in it; 0: there are none."""

    path: str
    bytes: int
    documents: int
    memory_bytes: int = 0
    took_ms: float


class IndexRestoreParams(Params, frozen=True, kw_only=True):
    """`path`: absolute. `config`: replace the config file; `memories`: replace the memories. A config file or memories
    that do not exist are restored in any case. The daemon replaces the index after it has answered: it closes all
    connections and answers new ones from the restored index, whose `index.status` has the same `restored_at`.
    Progress counts bytes."""

    path: FilePath
    config: bool = False
    memories: bool = False


class IndexRestoreResult(Result, frozen=True, kw_only=True):
    """`made`, `version`, `index`: when, by which gnod and from which index the backup was made. `config`: "restored",
    "kept" (a different one exists), "same" or "none" (the backup has none). `memories`: "restored", "kept" (others
    exist) or "none". `kept`: where the old index, config and memories are now."""

    restored_at: str
    documents: int
    made: str
    version: str
    index: str
    config: str
    memories: str = "none"
    kept: list[str]
    took_ms: float


class IndexTuneParams(Params, frozen=True, kw_only=True):
    """`collections`: all if empty. `action`: `tune` learns from them, `show` returns what was learned, `reset` forgets
    it. Progress counts documents, chunks and questions."""

    collections: list[str] = []
    action: Literal["tune", "show", "reset"] = "tune"


class CollectionPrior(Result, frozen=True, kw_only=True):
    """What was learned of a collection from `questions` that its own documents ask. `vector_odds`: the factor for the
    odds of vectors against keywords in hybrid search; 1: as for any collection. nDCG@10 over the questions: of keyword
    search, of vector search, and of both fused without the factor (`before`) and with it (`after`). `gain`: the 99 %
    confidence interval of the best other factor's gain. `measured_at`: null: not measured, or reset."""

    name: str
    vector_odds: float = 1.0
    model: str | None = None
    questions: int = 0
    keyword: float | None = None
    vector: float | None = None
    before: float | None = None
    after: float | None = None
    gain: tuple[float, float] | None = None
    measured_at: str | None = None


class IndexTuneResult(Result, frozen=True, kw_only=True):
    collections: list[CollectionPrior]
    took_ms: float
