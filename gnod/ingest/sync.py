"""Make the index of one collection, or of a part of it, equal to its folder: walk, compare, convert in the workers,
store in batches.

Documents whose files cannot be compared (an unmounted root, a folder without permission) stay in the index.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from gnod.config.model import CollectionConfig, IngestConfig
from gnod.disks.looks import LookedAt
from gnod.disks.mounts import is_mount_point
from gnod.errors import RootUnavailable
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.plan import FolderComparison, ReadingPlan
from gnod.ingest.files.scope import WHOLE, Scope, of_paths
from gnod.ingest.files.walk import Enter, Walk, WalkedPart, enter_nothing, root_problem
from gnod.ingest.member_names import may_have_members, path_of_part
from gnod.ingest.ocr import readers
from gnod.ingest.workers.jobs import Container, Failure, FileJob, FilesDone, FilesJob, LogRead, Outcome, Unchanged
from gnod.ingest.workers.pool import WorkerPool
from gnod.store import packing
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.keyword_index import fulltext
from gnod.store.tables import documents, failures, scans
from gnod.store.tables.records import SKIP_KINDS, FileStat, LogPart, PreparedDocument, Terms

T = TypeVar("T")
Batch = list[tuple[str, Outcome]]
Outcomes = asyncio.Queue[tuple[str, Outcome]]

# A transaction takes some milliseconds and makes its documents searchable, so collect many documents, but not for long.
# In a large index, a transaction rewrites most of its pages.
BATCH_DOCUMENTS = 400
_MANY = 100
BATCH_SECONDS = 0.25
BATCH_CHARACTERS = 8_000_000
# Remove this many documents in one transaction.
BATCH_REMOVED = 500
# Passing a job takes as long as converting a small text, so up to this many small texts are passed together. The last
# ones are distributed among the workers in ever smaller groups (guided self-scheduling: Polychronopoulos & Kuck 1987).
_TOGETHER = 64
_SHARES = 4
_SMALL_BYTES = 16_000
_TEXTS = (".md", ".markdown", ".txt", ".rst", ".org", ".adoc")
# With these failures, the worker ended before it could report results. A file in an archive must not hide the archive.
_OF_THE_WORKER = frozenset({"timeout", "crashed", "memory"})

# These failures of a file may also mean that its drive or server is gone.
_PERHAPS_GONE = frozenset({"vanished", "unreadable", "timeout"})
_ROOT_CHECK_S = 5.0

Progress = Callable[[str, int, int | None, str | None], None]
"""Called with the stage ("scan", "index"), files done, total (None while unknown) and the collection's name."""


class SyncReport(NamedTuple):
    """The result of one sync, in files. `failed` and `skipped` count all files in that state after the sync. `in_vain`:
    unchanged files that were read only because of their inode or change time."""

    name: str
    available: bool = True
    reason: str | None = None
    seen: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    skipped: int = 0
    in_vain: int = 0
    took_s: float = 0.0

    def after(self, earlier: SyncReport) -> SyncReport:
        """Return the sum of this run and an earlier one, for a client that waited for both."""
        return self._replace(
            added=self.added + earlier.added,
            updated=self.updated + earlier.updated,
            removed=self.removed + earlier.removed,
            unchanged=max(self.unchanged - earlier.added - earlier.updated, 0),
            took_s=self.took_s + earlier.took_s,
        )


@dataclass
class Sync:
    """One run over a collection, or over `scope`. It calls `enter` with each folder before it lists the folder, and
    `on_listed` with the complete walk. `is_first`: the end of the previous run is unknown. `left`: mirrors that lost a
    document; the next run drops the ones that an interrupted run leaves. `is_steady`: as in `FolderComparison`."""

    collection: CollectionConfig
    _: KW_ONLY
    database: Database
    pool: WorkerPool
    limits: IngestConfig
    ignore_files: IgnoreFiles
    progress: Progress
    place: LookedAt
    scope: Scope = WHOLE
    is_first: bool = False
    is_steady: bool = True
    left: set[str] = field(default_factory=set)
    enter: Enter = enter_nothing
    on_listed: Callable[[Walk], None] = lambda _: None
    _id: int = field(default=0, init=False)
    _is_mounted: bool = field(default=False, init=False)
    _known: dict[str, documents.KnownFile] = field(default_factory=dict, init=False)
    _members: dict[str, dict[str, str]] = field(default_factory=dict, init=False)
    _counts: Counter[str] = field(default_factory=Counter, init=False)
    _reader: str | None = field(default=None, init=False)
    _refusal: str = field(default="", init=False)

    def __post_init__(self) -> None:
        chosen = readers.choose(self.collection.ocr)
        if isinstance(chosen, readers.Reader):
            self._reader = chosen.name
        else:
            self._refusal = chosen

    async def run(self) -> SyncReport:
        """Update the index and return the counts. An unavailable root is reported, not raised."""
        started = time.monotonic()
        reason: str | None = None
        try:
            await self._update()
        except* RootUnavailable as errors:
            reason = str(errors.exceptions[0])
        n = self._counts
        return SyncReport(
            self.collection.name,
            available=reason is None,
            reason=reason,
            seen=n["seen"],
            added=n["added"],
            updated=n["updated"],
            unchanged=n["unchanged"],
            removed=n["removed"],
            failed=n["failed"],
            skipped=n["skipped"],
            in_vain=n["in_vain"],
            took_s=time.monotonic() - started,
        )

    async def _update(self) -> None:
        self.progress("scan", 0, None, self.collection.name)
        walked = Walk(self.collection, self.ignore_files, await self._spelled_scope(), self.enter)
        found = await self._compared(walked)
        plan, was_mounted = await self.database.read(partial(self._plan, found, walked))
        self._is_mounted = await self.place.run(is_mount_point, self.collection.path)
        if was_mounted and not self._is_mounted and not (self.scope.is_whole and found.seen):
            raise RootUnavailable(f"nothing is mounted at {self.collection.path}: mount its drive")
        self._counts.update(seen=found.seen, unchanged=found.unchanged)
        self.on_listed(walked)
        await self._apply(plan, walked)

    async def _compared(self, walked: Walk) -> FolderComparison:
        """Walk, and compare each part with the index. A million files at once would take 300 MB, and block the threads
        of searches for a long time."""
        comparison = FolderComparison(self.is_steady)
        parts = walked.parts()
        while part := await self.place.run(next, parts, None):
            await self.database.read(partial(self._compare, comparison, part, walked.written))
        return comparison

    async def _spelled_scope(self) -> Scope:
        """Return the scope with other spellings of its paths in the index, which may name the same files."""
        if (paths := self.scope.paths) is None:
            return self.scope

        def spellings(connection: Connection) -> set[str]:
            return documents.spellings(connection, collections.id_of(connection, self.collection.name), paths)

        return self.scope.joined(of_paths(await self.database.read(spellings)))

    def _compare(
        self, comparison: FolderComparison, part: WalkedPart, written: Set[str], connection: Connection
    ) -> None:
        self._id = collections.id_of(connection, self.collection.name)
        known = documents.stats(connection, self._id, part.under)
        failed = failures.of_collection(connection, self._id, part.under)
        comparison.add(part.files, known, failed, time.time(), written)

    def _plan(self, found: FolderComparison, walked: Walk, connection: Connection) -> tuple[ReadingPlan, bool]:
        """Return the plan, and whether a file system was mounted at the root before."""
        plan = found.plan(walked.unreadable, walked.undecodable)
        for kind, files in found.failing.items():
            self._counts["skipped" if kind in SKIP_KINDS else "failed"] += files
        was_mounted = collections.was_mounted(connection, self._id)
        self._known = documents.known_files(connection, self._id, plan.read)
        self._members = documents.known_members(connection, self._id, self._known)
        return plan, was_mounted

    async def _apply(self, plan: ReadingPlan, walked: Walk) -> None:
        # Searches must not find removed files while many new files are read, but moved content must keep its vectors
        # until its new path is read. So documents are removed first, and orphaned mirrors last. After a crash in
        # between, the first sync drops the orphaned mirrors.
        remove_first = len(plan.read) > _MANY
        if remove_first:
            await self._remove(plan, walked)
        total = len(plan.read)
        self.progress("index", 0, total, self.collection.name)
        outcomes: Outcomes = asyncio.Queue(2 * BATCH_DOCUMENTS)
        async with asyncio.TaskGroup() as group:
            # A converter that reads a file from an unreachable server would block its worker.
            watching = group.create_task(self._require_answers())
            # Two jobs per worker, so that the next job is ready.
            group.create_task(_put_empty(plan, outcomes))
            groups = together([path for path in plan.read if plan.files[path].size], plan.files)
            for _ in range(min(2 * self.pool.size, total)):
                group.create_task(self._convert(groups, outcomes))
            done = 0
            while done < total:
                batch = await _next_batch(outcomes, total - done)
                if any(isinstance(outcome, Failure) and outcome.kind in _PERHAPS_GONE for _, outcome in batch):
                    await self._require_root()
                await self.database.write(partial(self._store, batch))
                done += sum(not _goes_on(outcome) for _, outcome in batch)
                self.progress("index", done, total, self.collection.name)
            watching.cancel()
        if not remove_first:
            await self._remove(plan, walked)
        if plan.read or plan.remove or self.left or self.is_first:
            # The search for all orphans in a large index is slow, and must not delay other writes.
            left = await self.database.read(writing.orphans) if self.scope.is_whole else self.left
            await self.database.write(lambda connection: writing.drop_orphans(connection, left))
            self.left.clear()

    async def _require_answers(self) -> None:
        """Raise RootUnavailable as soon as the folder no longer answers."""
        while True:
            await asyncio.sleep(_ROOT_CHECK_S)
            await self._require_root()

    async def _require_root(self) -> None:
        """Raise RootUnavailable if the folder is gone, because failures of its files then mean nothing."""
        if reason := await self.place.run(root_problem, self.collection.path):
            raise RootUnavailable(reason)

    async def _remove(self, plan: ReadingPlan, walked: Walk) -> None:
        # Remove documents in parts: a transaction over a million of them takes minutes, and delays other writes and the
        # end of the daemon. After an interruption, the next run removes the rest.
        for start in range(0, len(plan.remove), BATCH_REMOVED):
            paths = plan.remove[start : start + BATCH_REMOVED]
            self._counts["removed"] += await self.database.write(partial(self._forget, paths))
        await self.database.write(partial(self._note, plan, walked))
        self._counts["failed"] += len(walked.unreadable) + len(walked.undecodable)

    def _forget(self, paths: Sequence[str], connection: Connection) -> int:
        failures.forget(connection, self._id, paths)
        return writing.remove(connection, self._id, paths, now=time.time(), left=self.left)

    def _note(self, plan: ReadingPlan, walked: Walk, connection: Connection) -> None:
        """Store the results of the walk itself."""
        now = time.time()
        failures.forget(connection, self._id, plan.recovered)
        for kind, names in (("unreadable", walked.unreadable), ("bad_name", walked.undecodable)):
            for path in names:
                message = names[path] if kind == "unreadable" else "the file's name is not valid UTF-8"
                failures.note(connection, self._id, path, stage="walk", kind=kind, message=message, stat=None, now=now)
        collections.note_sync(connection, self._id, now, mounted=self._is_mounted)

    async def _convert(self, groups: Iterator[list[str]], outcomes: Outcomes) -> None:
        for paths in groups:
            jobs = [await self._job(path, self._known.get(path)) for path in paths]
            done = await self.pool.run(FilesJob(jobs=jobs)) if len(jobs) > 1 else None
            if isinstance(done, FilesDone):
                for path, outcome in zip(paths, done.outcomes, strict=True):
                    await outcomes.put((path, outcome))
            else:  # one of several jobs may have ended the worker, so try each job alone
                for path, job in zip(paths, jobs, strict=True):
                    await self._read_on(path, job, await self._converted(path, job), outcomes)

    async def _read_on(self, path: str, job: FileJob, outcome: Outcome, outcomes: Outcomes) -> None:
        """Pass on an outcome, and the outcomes for the other parts of a log. They have the stat from before the first
        part, so the next sync notices later changes."""
        await outcomes.put((path, outcome))
        stat = outcome.stat if isinstance(outcome, LogRead) else None
        while isinstance(outcome, LogRead) and not outcome.is_complete:
            outcome = await self.pool.run(replace(job, known_parts=[], read_on=outcome.parts[-1].log))
            if isinstance(outcome, LogRead) and stat:
                outcome = replace(outcome, stat=stat)
            await outcomes.put((path, outcome))

    async def _converted(self, path: str, job: FileJob) -> Outcome:
        outcome = await self.pool.run(job)
        if isinstance(outcome, Failure) and outcome.kind in _OF_THE_WORKER and may_have_members(path):
            reason = f"One of the files inside it ended the converter: {outcome.message}"
            outcome = await self.pool.run(replace(job, without_members=reason))
        return outcome

    async def _job(self, path: str, known: documents.KnownFile | None) -> FileJob:
        recognised: dict[int, str] = {}
        if known and known.has_scans and self._reader:
            recognised = await self.database.read(
                partial(scans.texts, source_hash=known.source_hash, reader=self._reader)
            )
        parts: list[LogPart] = []
        if known and known.is_log:
            parts = await self.database.read(partial(documents.log_parts, collection_id=self._id, path=path))
        return FileJob(
            path=f"{self.collection.path.rstrip('/')}/{path}",
            relative_path=path,
            language=self.collection.language,
            mask_secrets=self.collection.mask_secrets,
            known_source_hash=known.reusable_hash if known else None,
            known_members=self._members.get(path, {}),
            members_s=self.limits.timeout_s / 2,
            max_bytes=int(self.limits.max_file_mb * 1024 * 1024),
            max_characters=self.limits.max_characters,
            reader=self._reader,
            refusal=self._refusal,
            recognised_of=known.source_hash if known else None,
            recognised=recognised,
            known_parts=parts,
        )

    def _store(self, batch: Batch, connection: Connection) -> None:
        now = time.time()
        terms: dict[int, Terms] = {}
        for path, outcome in batch:
            match outcome:
                case PreparedDocument():
                    self._put(connection, path, Container(document=outcome, members=[]), now, terms)
                case Container():
                    self._put(connection, path, outcome, now, terms)
                case LogRead():
                    self._put_log(connection, path, outcome, now, terms)
                case Unchanged():
                    self._note_unchanged(connection, path, outcome.stat)
                case Failure():
                    fulltext.store(connection, terms)  # these documents may be removed
                    self._fail(connection, path, outcome, now)
        fulltext.store(connection, terms)
        packing.train_when_due(connection)
        failures.forget(connection, self._id, [path for path, outcome in batch if not isinstance(outcome, Failure)])

    def _note_unchanged(self, connection: Connection, path: str, stat: FileStat) -> None:
        self._touch(connection, path, stat)
        self._counts["unchanged"] += 1
        self._counts["in_vain"] += self._known[path].stat.looks_like(stat)

    def _touch(self, connection: Connection, path: str, stat: FileStat) -> None:
        writing.touch(connection, self._id, path, stat)
        writing.touch_members(connection, self._id, path, stat.mtime_ns)

    def _put(self, connection: Connection, path: str, new: Container, now: float, terms: dict[int, Terms]) -> None:
        is_new = writing.put(connection, self._id, path, new.document, now=now, left=self.left, terms=terms)
        self._counts["added" if is_new else "updated"] += 1
        if not new.members and (is_new or not documents.has_members(connection, self._id, path)):
            return
        for member, outcome in new.members:
            # A file on disk may have the same path, in a folder whose name ends in "!".
            if isinstance(outcome, PreparedDocument) and not documents.is_file(connection, self._id, member):
                writing.put(connection, self._id, member, outcome, now=now, left=self.left, terms=terms, container=path)
        fulltext.store(connection, terms)  # these members may be removed
        kept = [member for member, _ in new.members]
        writing.keep_members(connection, self._id, path, kept, now=now, left=self.left)
        if new.document.stat:
            writing.touch_members(connection, self._id, path, new.document.stat.mtime_ns)

    def _put_log(self, connection: Connection, path: str, read: LogRead, now: float, terms: dict[int, Terms]) -> None:
        """Store the next parts of a log. The stat of the file is stored with the last parts only, so that the next sync
        continues if this one is interrupted."""
        for number, document in enumerate(read.parts, read.first):
            part, container = path_of_part(path, number), path if number > 1 else None
            if number == 1 or not documents.is_file(connection, self._id, part):
                writing.put(
                    connection, self._id, part, document, now=now, left=self.left, terms=terms, container=container
                )
        fulltext.store(connection, terms)  # the parts after these are removed
        kept = [path_of_part(path, number) for number in range(2, read.first + len(read.parts))]
        writing.keep_members(connection, self._id, path, kept, now=now, left=self.left)
        if read.is_complete:
            self._touch(connection, path, read.stat)
            self._counts["updated" if path in self._known else "added"] += 1

    def _fail(self, connection: Connection, path: str, failure: Failure, now: float) -> None:
        if failure.kind == "vanished":
            self._counts["removed"] += writing.remove(connection, self._id, [path], now=now, left=self.left)
            return
        # A file that cannot be read, or is now only in a cloud, may be unchanged. A file that was read but is not a
        # document has replaced the old one.
        if failure.stage != "read" or failure.kind in SKIP_KINDS - {"not_downloaded"}:
            writing.remove(connection, self._id, [path], now=now, left=self.left)
        failures.note(
            connection,
            self._id,
            path,
            stage=failure.stage,
            kind=failure.kind,
            message=failure.message,
            stat=failure.stat,
            now=now,
        )
        self._counts["skipped" if failure.kind in SKIP_KINDS else "failed"] += 1


async def _put_empty(plan: ReadingPlan, outcomes: Outcomes) -> None:
    """Record empty files without a worker."""
    for path in (path for path in plan.read if not plan.files[path].size):
        stat = plan.files[path]
        await outcomes.put((path, Failure(stage="read", kind="empty", message="The file is empty.", stat=stat)))


def together(paths: Sequence[str], files: Mapping[str, FileStat]) -> Iterator[list[str]]:
    """Yield the files in order, in groups of adjacent small texts."""
    several: list[str] = []
    for number, path in enumerate(paths):
        is_small = files[path].size <= _SMALL_BYTES
        is_with_others = is_small and path.endswith(_TEXTS) and path.isprintable()
        most = min(_TOGETHER, (len(paths) - number) // _SHARES)
        if several and (not is_with_others or len(several) >= most):
            yield several
            several = []
        if is_with_others:
            several.append(path)
        else:
            yield [path]
    if several:
        yield several


async def _next_batch(outcomes: Outcomes, left: int) -> Batch:
    """Return the outcomes that arrive until the batch is full, or until some time after the first one."""
    batch = [await outcomes.get()]
    characters = _size(batch[0])
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(BATCH_SECONDS):
            while len(batch) < min(left, BATCH_DOCUMENTS) and characters < BATCH_CHARACTERS:
                batch.append(await outcomes.get())
                characters += _size(batch[-1])
    return batch


def _goes_on(outcome: Outcome) -> bool:
    """Return whether more outcomes for the same file follow."""
    return isinstance(outcome, LogRead) and not outcome.is_complete


def _size(item: tuple[str, Outcome]) -> int:
    match item[1]:
        case PreparedDocument(markdown=text):
            return len(text)
        case Container(document=document, members=members):
            texts = [each.markdown for _, each in members if isinstance(each, PreparedDocument)]
            return sum(map(len, (document.markdown, *texts)))
        case LogRead(parts=parts):
            return sum(len(each.markdown) for each in parts)
        case _:
            return 0
