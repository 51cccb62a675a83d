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
    """`collections`: empty for all. `update`: first run the update command of each collection."""

    collections: list[str] = []
    update: bool = False


class CollectionSync(Result, frozen=True, kw_only=True):
    """The result of a sync for one collection; the counts are numbers of files. `skipped` counts files that are too
    large, binary, or have no converter.
    """

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
    """The progress of embedding.

    - `state`: idle, embedding, paused, waiting or failing; `reason` says why.
    - `pending`, `done`, `failed`: the number of chunks. `done` counts the chunks of this run.
    - `chunks_per_s`: null while it is unknown.
    """

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
    """The progress of text recognition in scanned pages and pictures.

    - `state`: idle, working, paused or waiting; `reason` says why.
    - `pending`, `failed`: the number of pages.
    - `left_s`: the estimated time for the pending pages; null while it is unknown.
    """

    state: str
    reason: str | None = None
    pending: int
    failed: int
    left_s: float | None = None


class InferenceStatus(Result, frozen=True, kw_only=True):
    """The process that runs the models.

    - `state`: off, starting, idle, busy or restarting.
    - `models`: the model files in its memory.
    - `crashes`: the number of crashes since the daemon started.
    - `vectors_bytes`: the memory that the daemon uses for vectors.
    """

    state: str
    pid: int | None = None
    resident_bytes: int
    models: list[str] = []
    crashes: int = 0
    last_crash: str | None = None
    vectors_bytes: int = 0


class IndexStatusParams(Params, frozen=True, kw_only=True):
    """Sets how thorough the status is.

    - `errors`: list the files that failed.
    - `verify`: compare all folders with the index. If false, the daemon leaves out the largest folders until the others
      together have at most 20,000 files.
    """

    errors: bool = False
    verify: bool = False


class IngestError(Result, frozen=True, kw_only=True):
    """A file that gnod does not read, or an unread part of a file.

    - `stage`: read, convert or prepare. For a partly read document: `part`, or `member` for a file inside it.
    """

    collection: str
    path: str
    stage: str
    kind: str
    message: str
    first_at: str
    last_at: str
    count: int
    acknowledged: bool = False


class IndexSkippedParams(Params, frozen=True, kw_only=True):
    """`collection`: null for all collections."""

    collection: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    offset: Annotated[int, Meta(ge=0, le=2**53)] = 0


class IndexSkippedResult(Result, frozen=True, kw_only=True):
    """The files that are not documents, and the unread parts of others, sorted by collection, kind and path. `total`:
    their number without the limit."""

    files: list[IngestError]
    total: int


class IndexAcknowledgeParams(Params, frozen=True, kw_only=True):
    """`collections`, `kinds`: the collections and the kinds of failures; empty for all. If a file changes and fails
    again, answers mention it again."""

    collections: list[str] = []
    kinds: Annotated[list[str], Meta(max_length=100)] = []


class IndexRetryParams(IndexAcknowledgeParams, frozen=True, kw_only=True):
    """The daemon answers after it has read the files."""


class IndexRetryResult(Result, frozen=True, kw_only=True):
    """`files`: how many files were read again. `index.status` lists the files that failed again."""

    files: int


class IndexAcknowledgeResult(Result, frozen=True, kw_only=True):
    """`files`: the number of newly acknowledged failures."""

    files: int


class CollectionStatus(Result, frozen=True, kw_only=True):
    """The state of one collection.

    - `verified`: the daemon walked the folder for this request. If it did not, `on_disk`, `excluded` and `hidden` are
      null, and `pending` counts the changes that it has noticed and not indexed yet.
    - `on_disk`: the number of files that should be indexed.
    - `pending`: how many of these files differ from the index.
    - `excluded`: the number of files that the rules leave out. The daemon does not enter an excluded folder, so the
      files inside are not counted.
    - `hidden`: the number of files and folders that are left out because they are hidden.
    - `acknowledged`: how many of the failures the user has acknowledged. Answers do not mention them.
    - `skipped_by_kind`: why files are not documents: needs_ocr, unsupported (an unknown kind), binary, empty,
      too_large, not_downloaded (they are in a cloud).
    - `partial_by_kind`: how many documents lack a part: needs_ocr, corrupt, too_large, too_long, bad_head (lines of the
      frontmatter), members (files inside them). A document counts once for each kind.
    - `watch`: how changes are noticed: events, polling (regular walks) or off.
    - `watch_reason`: why `watch` is not "events", or why changes are not indexed.
    - `last_sync`: the time of the last sync of any scope.
    - `last_reconcile`: the time of the last complete comparison with the disk since the daemon started.
    - `chunks`: the number of chunks. It is an estimate while very many are pending.
    - `wordless`: how many chunks are not embedded because they have hardly any words (numbers, encoded data). Keyword
      search finds them.
    - `embedded`: how many chunks have a vector of `model`.
    - `in_brief`: the number of documents whose beginning, at least, is embedded; it is embedded first. `in_full`: the
      number of documents whose whole text is embedded. Both are estimates while very many chunks are pending.
    - `unembeddable`: how many chunks failed.
    - `model`: the current model of vector search.
    - `next_model`: the model that takes over when all its vectors exist.
    - `unused_model`: a model of a server that the config no longer names. Its vectors are kept, but not searched.
    - `egress`: how far its texts may travel to model servers.
    """

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
    acknowledged: int = 0
    skipped: int = 0
    skipped_by_kind: dict[str, int] = {}
    partial_by_kind: dict[str, int] = {}
    excluded: int | None
    hidden: int | None = None
    watch: str
    watch_reason: str | None = None
    last_event: str | None = None
    last_sync: str | None = None
    last_reconcile: str | None = None
    chunks: int = 0
    wordless: int = 0
    embedded: int = 0
    in_brief: int = 0
    in_full: int = 0
    unembeddable: int = 0
    model: str | None = None
    next_model: str | None = None
    unused_model: str | None = None
    egress: str = "local"


class EndpointStatus(Result, frozen=True, kw_only=True):
    """A model server that the config names.

    - `scope`: where it is (local, lan, any); null if that is unknown.
    - `addresses`: the network addresses of its host name.
    - `allowed`, `left_out`: the collections (or `memories`) that name it. Texts of the former may be sent to it, texts
      of the latter may not.
    - `key`: the place of its key: environment, keyring or null.
    - `problem`: why it cannot be used.
    - `last_sent`: when gnod last sent something to it.
    """

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
    """The files that make keyword search fast.

    `documents`: the number of documents in these files; searches read the others from the database. `bytes`: their size
    on disk.
    """

    documents: int
    bytes: int


class IndexStatusResult(Result, frozen=True, kw_only=True):
    """`errors`: the first 1,000 failed files. `errors_left_out`: the number of the others. Each collection counts
    its failures by kind. `downloads_due_s`: models whose download has failed, and the time until the daemon tries
    again.
    """

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
    downloads_due_s: dict[str, float] = {}
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
    """The requests and bytes that gnod sent to an address.

    - `role`: the purpose. For a model server: embed, rerank, expand or answer. For the server of a shared collection:
      search or publish.
    - `collection`: the collection whose texts were sent, or that was searched; or `(memories)`, `(checks)` of doctor,
      or `(bench)`. Null marks the total, which counts a request for several collections once.
    """

    address: str
    role: str
    collection: str | None = None
    requests: int
    bytes: int
    first_at: str
    last_at: str


class IndexEgressResult(Result, frozen=True, kw_only=True):
    """`journal`: the file that stores these counts. It contains no text."""

    entries: list[EgressEntry]
    journal: str


class IndexActivityParams(Params, frozen=True, kw_only=True):
    """Selects the last `hours`, in buckets of `bucket_minutes`. The result has at most 1,000 buckets."""

    hours: Annotated[int, Meta(ge=1, le=744)] = 24
    bucket_minutes: Annotated[int, Meta(ge=5, le=1440)] = 60


class ActivityBucket(Result, frozen=True, kw_only=True):
    """The number of files that changed in the bucket that begins at `start`. A file counts only in the bucket of its
    last change. `failed` includes files that the daemon will try again.
    """

    start: str
    indexed: int
    removed: int
    failed: int


class IndexActivityResult(Result, frozen=True, kw_only=True):
    """`buckets`: the oldest first. The last one is not complete yet."""

    buckets: list[ActivityBucket]


class IndexWhyParams(Params, frozen=True):
    """`path`: an absolute path, or any reference that `document.get` accepts."""

    path: Reference


class WhyCollection(Result, frozen=True, kw_only=True):
    """The state of the path in one collection. `verdict`: indexed, stale, pending, failed, skipped, excluded, deleted
    or missing. `reason` explains it.
    """

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
    """`path`: an absolute path on the daemon's machine. `force`: replace an existing backup. Progress counts bytes."""

    path: FilePath
    force: bool = False


class IndexBackupResult(Result, frozen=True, kw_only=True):
    """`memory_bytes`: the size of the encrypted memories in the backup; 0 if it has none."""

    path: str
    bytes: int
    documents: int
    memory_bytes: int = 0
    took_ms: float


class IndexRestoreParams(Params, frozen=True, kw_only=True):
    """The daemon answers first and then replaces the index: it closes all connections, and serves new ones from the
    restored index. Then `index.status` has the same `restored_at` as this result. Progress counts bytes.

    - `path`: the backup; an absolute path.
    - `config`: replace the config file. A missing one is always restored.
    - `memories`: replace the memories. Missing ones are always restored.
    """

    path: FilePath
    config: bool = False
    memories: bool = False


class IndexRestoreResult(Result, frozen=True, kw_only=True):
    """The result of a restore.

    - `made`, `version`, `index`: the time, the version of gnod and the index of the backup.
    - `config`: "restored", "kept" (a different one exists), "same" or "none" (the backup has none).
    - `memories`: "restored", "kept" (others exist) or "none".
    - `kept`: the present paths of the old index, config and memories.
    """

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
    """Progress counts documents, chunks and questions.

    - `collections`: empty for all.
    - `action`: `tune` learns from the collections, `show` returns the learned values, `reset` deletes them.
    """

    collections: list[str] = []
    action: Literal["tune", "show", "reset"] = "tune"


class CollectionPrior(Result, frozen=True, kw_only=True):
    """The values that gnod has learned for a collection from questions that its own documents answer.

    - `vector_odds`: the factor for the odds of vectors against keywords in hybrid search. The default is 1.
    - `questions`: the number of questions.
    - `keyword`, `vector`: nDCG@10 of keyword search and of vector search over the questions.
    - `before`, `after`: nDCG@10 of hybrid search without the factor, and with it.
    - `measured_at`: null if nothing was measured, or the values were reset.
    """

    name: str
    vector_odds: float = 1.0
    model: str | None = None
    questions: int = 0
    keyword: float | None = None
    vector: float | None = None
    before: float | None = None
    after: float | None = None
    measured_at: str | None = None


class IndexTuneResult(Result, frozen=True, kw_only=True):
    collections: list[CollectionPrior]
    took_ms: float
