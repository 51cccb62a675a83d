"""Search attached collections. Each has an engine and a heartbeat.

Each engine has its own threads. A request waits for an engine as long as its budget allows. An engine that did not
answer gets no requests before a heartbeat succeeds, so an unreachable engine costs one budget, and no other request
waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

from gnod.analysis.terms import VERSION
from gnod.config.model import AttachedConfig
from gnod.configured.configuration import Configuration
from gnod.errors import DocumentNotFound, EngineFailed, GnoError, NotPublished, Unreachable
from gnod.search.hybrid.across_indexes import Joined, Listed, Meant
from gnod.search.keyword import lexical
from gnod.search.keyword.expression import Expression
from gnod.search.meaning.vector_matrix import Floats
from gnod.shared.engine import FORMAT, CollectionHeader, SharedEngine, key_of
from gnod.shared.reading import SIZE, DocumentSample, Shared, SharedRequest
from gnod.shared.replica import Replica, number_of
from gnod.signals import Signal
from gnod.store.connection import Connection, Other, Read, beside, index_of
from gnod.store.keyword_index.fulltext import PhraseDocumentCounts, Term, Weighed
from gnod.store.tables.filters import Filters
from gnod.types import SCHEME

# Seconds between heartbeats, and the longest pause after failures.
BEAT_S, RAREST_S = 2.0, 30.0
# The maximum number of simultaneous searches in one engine.
_THREADS = 8
_MOST_LANGUAGES = 1000
# The number of documents to fetch at a time for the sample.
_SAMPLED = 50
# Take the sample again when the number of documents has changed by this share.
_DRIFT = 0.1
# Fetch documents only during this share of the budget. After that, the search ranks the documents that have arrived.
_FETCHING = 0.6

# The text that may follow the path of a document: a line, a page or a heading.
_PLACE = re.compile(r"(:[^/:#]*|#[^/#]*)\Z")

Connect = Callable[[str, str], Awaitable[SharedEngine]]
"""Returns the engine at an address, for searches in the collection with a local name. Raises GnoError."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class AttachedReport(NamedTuple):
    """The current state of an attached collection.

    `problem`: why it is not searched now, or None. `limits`: which parts of it are not searched, and why.
    """

    config: AttachedConfig
    header: CollectionHeader | None
    problem: str | None
    limits: Sequence[str]


class AttachedCollections:
    """`folder` has the replicas, whose names begin with `prefix`. `local_model` returns the address of a model on this
    machine for the publisher's address and hash, or None if the model is not installed. Emits `changed` when a
    collection was opened or became unreachable."""

    def __init__(
        self,
        configuration: Configuration,
        folder: Path,
        prefix: str,
        connect: Connect,
        local_model: Callable[[str, str | None], str | None],
        *,
        beat_s: float = BEAT_S,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self._configuration = configuration
        self._folder = folder
        self._prefix = prefix
        self._connect = connect
        self._local_model = local_model
        self._beat_s = beat_s
        self._open: dict[str, Attached] = {}
        self._closing: set[asyncio.Task[None]] = set()
        configuration.changed.connect(lambda _: self.reload())

    def reload(self) -> None:
        """Open the collections that the config attaches, close the others, and delete replicas that it does not
        name."""
        wanted = {config.name: config for config in self._configuration.current.attached}
        for name in [name for name, attached in self._open.items() if wanted.get(name) != attached.config]:
            self._end(self._open.pop(name), forget=name not in wanted)
        for name, config in wanted.items():
            if name not in self._open:
                path = self._folder / f"{self._prefix}{name}.sqlite"
                make = partial(Attached, config, path, self._connect, self._local_model, self._beat_s)
                self._open[name] = make(self.changed.emit)
        self.changed.emit()

    def served(self) -> dict[str, str]:
        """Return the model of each attached collection whose vectors this daemon can compare."""
        return {
            name: attached.shared.uri
            for name, attached in self._open.items()
            if attached.shared and attached.shared.uri
        }

    def reports(self) -> list[AttachedReport]:
        return [self._open[name].report() for name in sorted(self._open)]

    @asynccontextmanager
    async def searching(self, read: Read, filters: Filters) -> AsyncIterator[Joined]:
        """Yield the sources for a search with these filters. If nothing is attached, `read` is used unchanged."""
        chosen = [
            attached for name, attached in self._open.items() if not filters.collections or name in filters.collections
        ]
        notes: list[str] = []
        sources = [
            _AttachedSource(attached, attached.shared, filters, notes)
            for attached in chosen
            if attached.shared and not attached.problem
        ]
        notes += [attached.why for attached in chosen if attached.problem]
        notes += [limit for source in sources for limit in source.attached.limits]
        if not sources:
            yield Joined(read, (), notes)
            return
        with contextlib.ExitStack() as stack:
            others = {
                source.number: Other(
                    stack.enter_context(source.shared.replica.reading()), source.shared.header.languages
                )
                for source in sources
            }

            async def joint_read(work: Callable[[Connection], T], /) -> T:
                return await read(partial(_in_all, others, work))

            yield Joined(joint_read, sources, notes, sum(source.shared.header.behind for source in sources))

    def concerns(self, filters: Filters) -> bool:
        """Tell whether a search with these filters includes an attached collection."""
        return any(not filters.collections or name in filters.collections for name in self._open)

    async def look(self, address: str, name: str) -> CollectionHeader | None:
        """Return the header of the collection at an address, or None if nothing is published. Raises GnoError."""
        engine = await self._connect(address, name)
        try:
            return await asyncio.to_thread(engine.header)
        finally:
            await asyncio.to_thread(engine.close)

    def of(self, name: str) -> Attached | None:
        return self._open.get(name)

    def find(self, reference: str) -> Attached | None:
        """Return the attached collection that a reference to a document names, or None."""
        name, slash, _ = reference.removeprefix(SCHEME).partition("/")
        return self._open.get(name) if slash else None

    async def close(self) -> None:
        for attached in self._open.values():
            self._end(attached, forget=False)
        self._open = {}
        await asyncio.gather(*self._closing)

    def _end(self, attached: Attached, *, forget: bool) -> None:
        self._closing.add(task := asyncio.create_task(attached.close(forget=forget)))
        task.add_done_callback(self._closing.discard)


class Attached:
    """One attached collection. `problem`: why it is not searched now, or None."""

    def __init__(
        self,
        config: AttachedConfig,
        path: Path,
        connect: Connect,
        local_model: Callable[[str, str | None], str | None],
        beat_s: float,
        on_change: Callable[[], None],
    ) -> None:
        self.config = config
        self.shared: Shared | None = None
        self.limits: list[str] = []
        self.problem: str | None = "it was not reached yet"
        self._path = path
        self._connect = connect
        self._local_model = local_model
        self._beat_s = beat_s
        self._on_change = on_change
        self._engine: SharedEngine | None = None
        self._sampled = 0
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"gnod-{config.name}")
        self._wake = asyncio.Event()
        self._is_closing = False
        self._beating = asyncio.create_task(self._beat())

    @property
    def why(self) -> str:
        return f"{self.config.name} did not answer: {self.problem}; its documents were not searched"

    def report(self) -> AttachedReport:
        return AttachedReport(self.config, self.shared.header if self.shared else None, self.problem, self.limits)

    async def run(self, work: Callable[[], T], limit_s: float) -> T:
        """Run work in a thread. Raises Unreachable after the limit; the thread ends later."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            async with asyncio.timeout(limit_s):  # wait_for of Python 3.11 may lose a cancellation
                return await future
        except TimeoutError:
            raise Unreachable(f"no answer within {self.config.budget_s:g} s") from None

    def failed(self, error: GnoError) -> None:
        """Send no request to the engine before a heartbeat succeeds."""
        self._say(error.message)
        self._wake.set()

    @property
    def documents(self) -> int:
        return self.shared.header.documents if self.shared else 0

    async def get(self, reference: str, work: Callable[[Connection], T]) -> T:
        """Fetch the current document of a reference into the replica, and read it there. Raises Unreachable and
        DocumentNotFound."""
        return await self._ask(partial(_got, self.config.name, reference, work))

    async def listed(self, prefix: str, limit: int) -> list[Listed]:
        """Return the first documents whose path has the prefix, in order. Raises Unreachable."""
        found = await self._ask(lambda shared: shared.engine.listed(prefix, limit))
        return [Listed(document.path, document.title, f"{self.config.address}/{document.path}") for document in found]

    async def _ask(self, work: Callable[[Shared], T]) -> T:
        """Return the result of `work` with the engine. Raises Unreachable."""
        return await self.run(partial(work, self._required()), self.config.budget_s)

    async def close(self, *, forget: bool) -> None:
        self._is_closing = True
        self._beating.cancel()
        await asyncio.gather(self._beating, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self.shared:
            replica = self.shared.replica
            await asyncio.to_thread(replica.delete if forget else replica.close)
        if self._engine:
            with contextlib.suppress(GnoError):
                await asyncio.to_thread(self._engine.close)

    def _required(self) -> Shared:
        if self.shared is None or self.problem:
            raise Unreachable(f"{self.config.name} does not answer: {self.problem}", {"collection": self.config.name})
        return self.shared

    async def _beat(self) -> None:
        wait_s = self._beat_s
        while not self._is_closing:
            try:
                await self._check()
                self._say(None)
                wait_s = self._beat_s
                await self._sample()
            except GnoError as error:
                self._say(error.message)
                wait_s = min(2 * wait_s, RAREST_S)
            except Exception:
                _log.exception("attached.failed", extra={"fields": {"collection": self.config.name}})
                self._say("internal error; see `gnoctl daemon logs`")
                wait_s = min(2 * wait_s, RAREST_S)
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await (self._wake.wait() if self.problem is None else asyncio.sleep(wait_s))

    def _say(self, problem: str | None) -> None:
        if problem != self.problem:
            self.problem = problem
            _log.info("attached.changed", extra={"fields": {"collection": self.config.name, "works": problem is None}})
            self._on_change()

    async def _check(self) -> None:
        """Read the header. The first time, also open the replica."""
        if self._engine is None:
            self._engine = await self._connect(self.config.address, self.config.name)
        header = await self.run(self._engine.header, max(self.config.budget_s, 1.0))
        if header is None:
            raise NotPublished(f"nothing is published at {self.config.address}")
        if header.format != FORMAT:
            raise EngineFailed(f"it was published in format {header.format}, and this gnod reads format {FORMAT}")
        if header.documents < 0 or not 0 <= header.average < inf or len(header.languages) > _MOST_LANGUAGES:
            raise EngineFailed("the header of the collection is damaged")
        if self.shared is None:
            replica = await asyncio.to_thread(Replica, self._path, self.config.name, self.config.address)
            self.shared = Shared(self._engine, replica, header)
        self.shared.header = header
        await self._note_limits(self.shared, header)

    async def _note_limits(self, shared: Shared, header: CollectionHeader) -> None:
        name, limits = self.config.name, []
        shared.reads_words = header.analysis == VERSION
        shared.uri = (
            await asyncio.to_thread(self._local_model, header.model, header.model_hash) if header.model else None
        )
        if not shared.reads_words:
            limits.append(f"{name} is searched without keywords: it was published by another version of gnod")
        if header.model and not shared.uri:
            limits.append(f"{name} is searched without vectors: its model {header.model} is not on this machine")
        self.limits = limits

    async def _sample(self) -> None:
        """Take a new sample if the collection has changed much."""
        shared = self.shared
        if shared is None or abs(shared.header.documents - self._sampled) <= _DRIFT * self._sampled:
            return
        documents = shared.header.documents
        shared.sample = await asyncio.to_thread(_sampled, shared)
        self._sampled = documents


class _AttachedSource:
    """One attached collection during one request. It returns no results after the first failure."""

    def __init__(self, attached: Attached, shared: Shared, filters: Filters, notes: list[str]) -> None:
        self.attached = attached
        self.shared = shared
        self.name = attached.config.name
        self.number = number_of(self.name)
        self._notes = notes
        self._reading = SharedRequest(shared, filters)
        # Count only the time of this collection, so that a slow one beside it does not use up the budget.
        self._left_s = attached.config.budget_s
        self._is_silent = False

    def has(self, document_id: int) -> bool:
        return index_of(document_id) == self.number

    async def count(self, terms: Sequence[Term]) -> PhraseDocumentCounts | None:
        return await self._run(partial(self._reading.count, terms)) if self.shared.reads_words else None

    async def rank(self, wanted: Expression, terms: Sequence[Weighed], limit: int) -> lexical.Matches | None:
        work = partial(self._reading.rank, wanted, terms, limit)
        return await self._run(work) if self.shared.reads_words else None

    async def survey(self, wanted: Expression, terms: Sequence[Weighed]) -> lexical.Part | None:
        return await self._run(partial(self._reading.survey, wanted, terms)) if self.shared.reads_words else None

    async def meanings(self, rows: Sequence[Mapping[str, Floats]], also: Sequence[set[int]], pool: int) -> Meant | None:
        return await self._run(partial(self._reading.meanings, rows, also, pool)) if self.shared.uri else None

    async def _run(self, work: Callable[[], T]) -> T | None:
        if self._is_silent:
            return None
        started = time.monotonic()
        self._reading.until = started + _FETCHING * self._left_s
        try:
            found = await self.attached.run(work, max(self._left_s, 0.0))
            self._note_cut()
            return found
        except (Unreachable, EngineFailed, NotPublished) as error:
            self.attached.failed(error)
            self._silence(error.message)
        except GnoError as error:
            self._silence(error.message)
        finally:
            self._left_s -= time.monotonic() - started
        return None

    def _note_cut(self) -> None:
        note = f"{self.name}: some of the results could not be fetched in time: search again to get them"
        if self._reading.is_cut and note not in self._notes:
            self._notes.append(note)

    def _silence(self, why: str) -> None:
        self._is_silent = True
        self._notes.append(f"{self.name} did not answer: {why}; its documents were not searched")


def _in_all(others: Mapping[int, Other], work: Callable[[Connection], T], connection: Connection) -> T:
    with beside(connection, others):
        return work(connection)


def _got(name: str, reference: str, work: Callable[[Connection], T], shared: Shared) -> T:
    """Fetch and read a document. The reference may end with a place in the document, such as `:12` or `#page=2`."""
    path = unquote(reference.removeprefix(SCHEME).partition("/")[2])
    if not any(shared.fetch(key_of(each)) for each in dict.fromkeys((path, _PLACE.sub("", path)))):
        message = f"no document '{reference}' in the shared collection {name}; `gnoctl ls` lists what is in it"
        raise DocumentNotFound(message, {"reference": reference})
    with shared.replica.reading() as connection:
        return work(connection)


def _sampled(shared: Shared) -> DocumentSample:
    """Fetch a sample in small groups, so that searches can run in between."""
    keys = shared.engine.sample(SIZE / max(shared.header.documents, 1))[: 2 * SIZE]
    parts = (shared.engine.documents(keys[start : start + _SAMPLED]) for start in range(0, len(keys), _SAMPLED))
    return DocumentSample([document for part in parts for document in part], shared.header.dimensions)
