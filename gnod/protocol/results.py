"""What each method answers. Clients decode them tolerantly: fields they do not know are ignored."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from gnod.protocol.params import ProgressToken


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all results."""


class Freshness(Result, frozen=True, kw_only=True):
    """Whether the index equals the disk, as far as the daemon knows.

    `pending`: files that have changed, or may have, and were not taken in yet; a collection that is to be compared as a
    whole counts as one until that has begun. `failed`: files that could not be read or converted. `unwatched`:
    collections whose later changes the daemon does not see by itself, or only after some seconds (polling).
    `unavailable`: collections whose folder is not there. `unembedded`: chunks that have no vector yet; `current` is
    false for it only in the answers of searches that need vectors.
    """

    current: bool
    pending: int = 0
    failed: int = 0
    unwatched: list[str] = []
    unavailable: list[str] = []
    unembedded: int = 0


class Hit(Result, frozen=True, kw_only=True):
    """One document found.

    `score` is in [0, 1], normalised per query and not comparable across queries. `line` to
    `end_line` (from 1) hold the matched words, and `snippet` begins in `snippet_line`: the file's own lines where it is
    text, else those of its Markdown. `marks` are half-open character ranges of the matched words inside `snippet`.
    Found by meaning, all of them lie in the passage that is nearest; where it has none of the words, they are its
    beginning. `source` is the absolute path of the file. `text` is the whole document, when `full` was asked for.
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
    """`mode`: lexical, vector, query or similar; `query` of similar is the document's address. `total`: documents that
    matched before `limit` and `min_score`. By meaning every document matches a little: there it counts the hits, and of
    `search.query` the documents that were compared. `by_words_only`: why `search.query` found nothing by meaning, where
    it should have."""

    query: str
    mode: str
    hits: list[Hit]
    total: int
    took_ms: float
    freshness: Freshness
    by_words_only: str | None = None
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
    folder are not counted: the folder is not entered). `watch`: how changes are noticed: by events, polling (walks
    every few seconds) or off; `watch_reason` says why not by events, or why they are not taken in. `last_sync`: of
    anything; `last_reconcile`: when everything was compared with the disk, since the daemon's start.

    `embedded` of the `chunks` (those with the same text count once) have a vector of `model`, which answers searches by
    meaning; `unembeddable` ones it failed at. `next_model` is to take over when it has embedded all of them."""

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
    last_event: str | None = None
    last_sync: str | None = None
    last_reconcile: str | None = None
    chunks: int = 0
    embedded: int = 0
    unembeddable: int = 0
    model: str | None = None
    next_model: str | None = None


class EmbeddingStatus(Result, frozen=True, kw_only=True):
    """The embedding of chunks. `state`: idle, embedding, paused, waiting or failing; `reason` says why. `pending`,
    `done` (of this run) and `failed` count chunks; `chunks_per_s` is None while it is not known."""

    state: str
    reason: str | None = None
    model: str | None = None
    pending: int
    done: int
    failed: int
    chunks_per_s: float | None = None


class InferenceStatus(Result, frozen=True, kw_only=True):
    """The process that runs the models. `state`: off, starting, idle, busy or restarting. `models` are the files that
    it has in memory. `crashes` since the daemon's start. `vectors_bytes` is what the daemon itself keeps for searches
    by meaning."""

    state: str
    pid: int | None = None
    resident_bytes: int
    models: list[str] = []
    crashes: int = 0
    last_crash: str | None = None
    vectors_bytes: int = 0


class IndexEmbedResult(EmbeddingStatus, frozen=True, kw_only=True):
    took_ms: float


class IndexStatusResult(Result, frozen=True, kw_only=True):
    """`errors` lists the first files that failed, at most a thousand; `errors_left_out` counts the others. Each
    collection has how many failed by kind."""

    index: str
    database: str
    database_bytes: int
    documents: int
    chunks: int
    languages: dict[str, int]
    collections: list[CollectionStatus]
    freshness: Freshness
    syncing: bool
    embedding: EmbeddingStatus
    inference: InferenceStatus
    config_file: str
    config_warnings: list[str] = []
    config_error: str | None = None
    storage_problems: list[str] = []
    storage_notes: list[str] = []
    restored_at: str | None = None
    errors: list[IngestError] | None = None
    errors_left_out: int = 0


class SubscribedCollection(Result, frozen=True, kw_only=True):
    """A collection as the daemon knows it, without a walk. `documents` and `failed` count files; `watch` is as in
    `index.status`."""

    name: str
    path: str
    documents: int
    failed: int
    available: bool
    watch: str
    watch_reason: str | None = None


class SubscribedState(Result, frozen=True, kw_only=True):
    collections: list[SubscribedCollection]
    freshness: Freshness
    embedding: EmbeddingStatus


class IndexSubscribeResult(Result, frozen=True, kw_only=True):
    """`state` is the present one; `index.changed` then tells what changed after `clock`. `reset`: what the client knows
    is of no use (it asked for everything, or for changes that are no longer kept): everything that there is follows."""

    subscription: int
    clock: int
    reset: bool
    state: SubscribedState


class IndexUnsubscribeResult(Result, frozen=True, kw_only=True):
    subscription: int


class ChangedPath(Result, frozen=True, kw_only=True):
    uri: str
    collection: str
    path: str


class ChangedDocument(ChangedPath, frozen=True, kw_only=True):
    docid: str
    title: str


class ChangedFailure(ChangedPath, frozen=True, kw_only=True):
    """`docid`: of the version that is found still; None when none is."""

    kind: str
    message: str
    docid: str | None = None


class IndexChanged(Result, frozen=True, kw_only=True):
    """The parameters of `index.changed`: what became of the paths that changed, each in one list and once. `clock`:
    what to resume from after it; larger each time, unless `reset` is set: then all that was told before is void, and
    everything that there is follows. `more`: the next one comes at once. Where all lists are empty, `freshness` or
    `embedding` changed."""

    subscription: int
    clock: int
    reset: bool = False
    more: bool = False
    indexed: list[ChangedDocument] = []
    removed: list[ChangedPath] = []
    failed: list[ChangedFailure] = []
    freshness: Freshness
    embedding: EmbeddingStatus


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


class IndexBackupResult(Result, frozen=True, kw_only=True):
    """`memory_bytes`: how much of it are memories, encrypted; 0: there are none."""

    path: str
    bytes: int
    documents: int
    memory_bytes: int = 0
    took_ms: float


class IndexRestoreResult(Result, frozen=True, kw_only=True):
    """`made`, `version`, `index`: when, by which gnod and from which index the backup was made. `config`: "restored",
    "kept" (another one is there), "same" (this one is), or "none" (the backup has none). `memories`: "restored", "kept"
    (others are there) or "none". `kept`: where the old index, config and memories are now."""

    restored_at: str
    documents: int
    made: str
    version: str
    index: str
    config: str
    memories: str = "none"
    kept: list[str]
    took_ms: float


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
    """`manager`: "systemd" or "launchd" when that runs the daemon, and starts it again; null: nobody does."""

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
    manager: str | None = None


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


class ModelPreset(Result, frozen=True, kw_only=True):
    """`models`: the address for each role, None where the preset does without."""

    name: str
    active: bool
    models: dict[str, str | None]


class ModelUse(Result, frozen=True, kw_only=True):
    """`collection`: the one whose own settings ask for the model; None is the preset."""

    role: str
    collection: str | None = None


class ModelInfo(Result, frozen=True, kw_only=True):
    """A model that is used, or lies on the disk unused. `name` is short, for people. `partial_bytes`: what is here of
    one that is not whole. `fetching`: a pull is under way."""

    uri: str
    name: str
    uses: list[ModelUse]
    installed: bool
    path: str | None = None
    bytes: int = 0
    sha256: str | None = None
    fetched_at: str | None = None
    partial_bytes: int = 0
    fetching: bool = False


class ModelsListResult(Result, frozen=True, kw_only=True):
    preset: str
    presets: list[ModelPreset]
    models: list[ModelInfo]
    models_dir: str
    total_bytes: int


class ModelsUseResult(Result, frozen=True, kw_only=True):
    """`missing`: addresses of the preset's models that are not on this machine yet."""

    preset: str
    previous: str
    config_file: str
    missing: list[str]


class PulledModel(Result, frozen=True, kw_only=True):
    """`fetched`: it was not here before, or was fetched again."""

    uri: str
    path: str
    bytes: int
    fetched: bool
    took_ms: float


class ModelsPullResult(Result, frozen=True, kw_only=True):
    models: list[PulledModel]


class ClearedModel(Result, frozen=True, kw_only=True):
    uri: str
    freed_bytes: int


class ModelsClearResult(Result, frozen=True, kw_only=True):
    """`models` is empty when everything was removed. `kept`: files of `file:` addresses, which are not ours."""

    models: list[ClearedModel]
    freed_bytes: int
    kept: list[str] = []


class ModelsPathResult(Result, frozen=True, kw_only=True):
    path: str
    uri: str | None = None


class AnswerSource(Result, frozen=True, kw_only=True):
    """One passage that an answer was made from. `number` as in the answer's citations. `line` to `end_line`: the file's
    own where it is text, else those of its Markdown. `cited`: the answer cites it."""

    number: int
    docid: str
    uri: str
    collection: str
    path: str
    title: str
    line: int
    end_line: int
    text: str
    score: float
    language: str | None = None
    cited: bool = False


class AskResult(Result, frozen=True, kw_only=True):
    """`answer`: with citations like `[1]` and `[1][3]`, each checked against its source. `answered` is false where none
    holds: then the answer is "not enough information in your documents", and `reason` is no_sources (nothing found is
    about the question; no model was asked), model_declined or no_citation. `citations`: the numbers of the sources
    cited. `finish`: stop, length (`max_tokens`) or time; None without a model's answer."""

    question: str
    answer: str
    answered: bool
    reason: str | None = None
    sources: list[AnswerSource]
    citations: list[int]
    model: str
    finish: str | None = None
    prompt_tokens: int = 0
    tokens: int = 0
    took_ms: float
    freshness: Freshness
    explain: dict[str, object] | None = None


class ProgressValue(Result, frozen=True, kw_only=True):
    """The `value` of `$/progress`: `done` of `total` in `stage`; `total` is None while it is not known.

    `label`: what it is about at the moment. `unit`: "bytes", "characters", or None for things that are counted. Of
    `ask.answer`: `sources`, once and before the text; `text`, what the model says next, unchecked, in order and
    without gaps.
    """

    stage: str
    done: int
    total: int | None = None
    label: str | None = None
    unit: str | None = None
    text: str | UnsetType = UNSET
    sources: list[AnswerSource] | UnsetType = UNSET


class ProgressParams(Result, frozen=True, kw_only=True):
    token: ProgressToken
    value: ProgressValue
