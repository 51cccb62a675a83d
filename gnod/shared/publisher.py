"""Publish the collections that have `publish` in the config. While the daemon runs, each change of the index is sent.

Each publication has a task that schedules the work, and a thread that reads the index and calls the engine. If the
engine is unreachable, the task tries again after growing pauses. The ledger (gnod/shared/ledger.py) records what was
sent, so the work continues after a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from gnod.config import edit
from gnod.config import shared_addresses as addresses_of
from gnod.config.shared_addresses import SharedAddress
from gnod.configured.configuration import Configuration
from gnod.configured.egress_gate import EgressPolicy
from gnod.configured.embedding_models import EmbeddingService
from gnod.configured.models import ModelService
from gnod.egress import Purpose, Scope
from gnod.errors import AlreadyPublished, EngineFailed, GnoError, NotPublished
from gnod.models.remote.addresses import Addresses
from gnod.shared import models as shared_models
from gnod.shared import opening
from gnod.shared.engine import CollectionHeader
from gnod.shared.ledger import Ledger
from gnod.shared.milvus.engine import MilvusEngine
from gnod.shared.models import Model
from gnod.shared.publishing import Publisher, refused
from gnod.signals import Signal
from gnod.store.connection import Connection
from gnod.store.database import Database

T = TypeVar("T")

# Changes within this time are sent together.
_TOGETHER_S = 0.2
# Store a heartbeat in the engine this often. Readers see it.
_HEARTBEAT_S = 60.0
_COMPARE_S = 3600.0
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 60.0
_TIMEOUT_S = 30.0

_log = logging.getLogger(__name__)


class PublicationState(NamedTuple):
    """`state`: publishing, idle (everything is published) or failing (for `reason`). `behind`: the number of documents
    that may have changed and were not sent yet. `failed`: the number that the engine refuses. `told_at`: the time of
    the last heartbeat, in seconds since 1970; None if there was none since the daemon started."""

    collection: str
    address: str
    state: str
    reason: str | None
    documents: int
    behind: int
    failed: int
    told_at: float | None


class Removed(NamedTuple):
    """The numbers of rows of each kind before and after `unpublish`."""

    address: str
    before: dict[str, int]
    after: dict[str, int]


class PublishingService:
    """Emits `changed` when the state of a publication changes."""

    def __init__(
        self,
        configuration: Configuration,
        database: Database,
        embedding: EmbeddingService,
        models: ModelService,
        egress: EgressPolicy,
        addresses: Addresses,
        folder: Path,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self._configuration = configuration
        self._database = database
        self._embedding = embedding
        self._models = models
        self._egress = egress
        self._addresses = addresses
        self._folder = folder
        self._publications: dict[str, _Publication] = {}
        self._invalid: dict[str, PublicationState] = {}
        self._lock = asyncio.Lock()
        self._is_closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        loop = asyncio.get_running_loop()
        configuration.changed.connect(lambda _: self._follow_config())
        database.written.connect(partial(_call_in, loop, self._wake))
        self._follow_config()

    def states(self) -> list[PublicationState]:
        known = self._invalid | {name: publication.state for name, publication in self._publications.items()}
        return [known[name] for name in sorted(known)]

    async def look(self, name: str, written: str) -> tuple[SharedAddress, CollectionHeader | None]:
        """Return the address where a collection would be published, and the header there. Changes nothing.

        Raises InvalidAddress, EgressForbidden, DependencyMissing, Unreachable, EngineFailed and AlreadyPublished."""
        address = self._free_address(name, written)
        with self._egress.requested(str(address), "publish", name):
            engine = await self._open(name, address)
            try:
                return address, await asyncio.to_thread(engine.header)
            finally:
                await asyncio.to_thread(engine.close)

    async def publish(self, name: str, written: str, *, take_over: bool = False) -> SharedAddress:
        """Publish a collection from now on. Raises the errors of `look`."""
        address = self._free_address(name, written)
        async with self._lock:
            await self._stop(name)
            publication = self._made(name, address)
            try:
                with self._egress.requested(str(address), "publish", name):
                    await publication.begin(take_over=take_over)
                    await self._configuration.edit(partial(edit.publish, name=name, address=str(address)))
            except BaseException:
                await publication.close()
                self._follow_config()
                raise
            self._publications[name] = publication
            publication.start()
        return address

    async def unpublish(self, name: str) -> Removed:
        """Remove all published data of a collection. Raises NotPublished, AlreadyPublished (by another daemon),
        Unreachable and EngineFailed. After an error, the config is unchanged."""
        written = self._configuration.collection(name).publish
        if written is None:
            raise NotPublished(f"the collection {name} is not published from here", {"name": name})
        address = addresses_of.parse(written, name)
        async with self._lock:
            await self._stop(name)
            try:
                removed = await self._drop(name, address)
                await self._configuration.edit(partial(edit.publish, name=name, address=None))
            except BaseException:
                self._follow_config()
                raise
        _log.info("publishing.removed", extra={"fields": {"collection": name}})
        return removed

    async def up_to_date(self, name: str, report: Callable[[PublicationState], None]) -> PublicationState:
        """Return when all changes so far are published, or when publishing fails. Calls `report` in between."""
        while publication := self._publications.get(name):
            state = publication.state
            report(state)
            if state.state != "publishing":
                return state
            await publication.next_state()
        raise NotPublished(f"the collection {name} is not published from here", {"name": name})

    async def close(self) -> None:
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(publication.close() for publication in self._publications.values()))
        self._publications.clear()

    def _follow_config(self) -> None:
        if self._is_closed:
            return
        task = asyncio.create_task(self._adapt(), name="publications")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _adapt(self) -> None:
        """Make the publications equal the config."""
        async with self._lock:
            wanted = self._wanted()
            for name, publication in list(self._publications.items()):
                if wanted.get(name) != publication.address or self._scope(name) != publication.egress:
                    await self._stop(name)
            for name, address in wanted.items():
                if name not in self._publications:
                    self._publications[name] = self._made(name, address)
                    self._publications[name].start()
            for publication in self._publications.values():
                publication.wake()  # the model may have changed

    def _wanted(self) -> dict[str, SharedAddress]:
        """Return the addresses from the config. Invalid ones are kept for `states`."""
        wanted: dict[str, SharedAddress] = {}
        self._invalid.clear()
        for collection in self._configuration.current.collections:
            if collection.publish is not None:
                try:
                    wanted[collection.name] = addresses_of.parse(collection.publish, collection.name)
                except GnoError as error:
                    state = PublicationState(
                        collection.name, collection.publish, "failing", error.message, 0, 0, 0, None
                    )
                    self._invalid[collection.name] = state
        return wanted

    def _free_address(self, name: str, written: str) -> SharedAddress:
        address = addresses_of.parse(written, name)
        self._configuration.collection(name)
        for other, taken in self._wanted().items():
            if other != name and taken == address:
                raise AlreadyPublished(f"the collection {other} is published at {address}: choose another name there")
            if other == name and taken != address:
                message = f"{name} is published at {taken}: run `gnoctl collection unpublish {name}` first"
                raise AlreadyPublished(message, {"address": str(taken)})
        return address

    def _made(self, name: str, address: SharedAddress) -> _Publication:
        return _Publication(
            name,
            address,
            self._scope(name),
            self._ledger_path(address),
            self._database,
            partial(self._open, name, address),
            partial(self._model, name),
            self.changed,
        )

    async def _open(self, name: str, address: SharedAddress) -> MilvusEngine:
        purpose = Purpose("publish", collections=(name,), users=(name,))
        return await opening.open_engine(address, self._egress, purpose, self._addresses, _TIMEOUT_S)

    def _scope(self, name: str) -> Scope:
        return self._configuration.collection(name).egress

    async def _model(self, name: str) -> Model | None:
        uri = self._embedding.served().get(name)
        return await asyncio.to_thread(shared_models.published, self._models, uri) if uri else None

    async def _drop(self, name: str, address: SharedAddress) -> Removed:
        engine = await self._open(name, address)
        try:
            return await asyncio.to_thread(_dropped, engine, address, self._ledger_path(address))
        finally:
            await asyncio.to_thread(engine.close)

    async def _stop(self, name: str) -> None:
        if publication := self._publications.get(name):
            await publication.close()
            self._publications.pop(name, None)  # only now: if this task is cancelled, `close` must find the publication

    def _ledger_path(self, address: SharedAddress) -> Path:
        """Return a path that depends only on the address, so that a renamed collection stays the same publication."""
        digest = hashlib.sha256(str(address).encode()).hexdigest()[:12]
        return self._folder / f"{self._database.path.stem.replace('index', 'published', 1)}-{digest}.sqlite"

    def _wake(self) -> None:
        for publication in self._publications.values():
            publication.wake()


class _Publication:
    """Call `start` once. `begin` may be called before it."""

    def __init__(
        self,
        name: str,
        address: SharedAddress,
        egress: Scope,
        ledger: Path,
        database: Database,
        open_engine: Callable[[], Awaitable[MilvusEngine]],
        model: Callable[[], Awaitable[Model | None]],
        changed: Signal[[]],
    ) -> None:
        self.address = address
        self.egress = egress
        self._name = name
        self._ledger_path = ledger
        self._database = database
        self._open_engine = open_engine
        self._model_of = model
        self._changed = changed
        self.state = PublicationState(name, str(address), "publishing", None, 0, 0, 0, None)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gnod-publishing")
        self._wanted = asyncio.Event()
        self._next: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._connection: Connection | None = None
        self._engine: MilvusEngine | None = None
        self._ledger: Ledger | None = None
        self._publisher: Publisher | None = None
        self._model: Model | None = None
        self._compared_at = time.monotonic()
        self._is_closing = False

    def wake(self) -> None:
        """Look for changes soon."""
        self._wanted.set()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"publishing {self._name}")

    async def next_state(self) -> None:
        """Return when the state changes."""
        await asyncio.shield(self._next)

    async def begin(self, *, take_over: bool = False) -> None:
        """Open the engine, and become the publisher."""
        self._engine = await self._open_engine()
        self._model = await self._model_of()
        await self._in_thread(partial(self._begin, take_over=take_over))

    async def close(self) -> None:
        self._is_closing = True
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._end()
        self._thread.shutdown(wait=False)
        self._set(self.state)

    async def _run(self) -> None:
        retry_s = _FIRST_RETRY_S
        while True:
            try:
                if self._publisher is None:
                    await self.begin()
                await self._publish()
                retry_s = _FIRST_RETRY_S
                await self._wait()
            except asyncio.CancelledError:
                raise
            except GnoError as error:
                self._fail(error.message)
                _log.warning("publishing.failed", extra={"fields": {"collection": self._name, "kind": error.kind}})
            except Exception:
                self._fail("internal error; see `gnoctl daemon logs`")
                _log.exception("publishing.broken")
            else:
                continue
            await self._end()
            await asyncio.sleep(retry_s)
            retry_s = min(2 * retry_s, _LAST_RETRY_S)

    async def _publish(self) -> None:
        """Send all changes."""
        if await self._model_of() != self._model:
            await self._end()
            await self.begin()
        self._wanted.clear()
        state = await self._in_thread(self._follow)
        while state.state == "publishing":
            self._set(state)
            state = await self._in_thread(self._step)
        self._set(state)

    async def _wait(self) -> None:
        """Return when the index has changed, or when a heartbeat is due."""
        try:
            async with asyncio.timeout(_HEARTBEAT_S):
                await self._wanted.wait()
        except TimeoutError:
            return
        await asyncio.sleep(_TOGETHER_S)

    async def _end(self) -> None:
        """Close the engine and the ledger. A running call ends."""
        if self._engine is not None:
            await asyncio.to_thread(self._engine.close)
            self._engine = None
        with contextlib.suppress(RuntimeError):
            await self._in_thread(self._close_ledger)
        self._publisher = None

    def _fail(self, reason: str) -> None:
        self._set(self.state._replace(state="failing", reason=reason))

    def _set(self, state: PublicationState) -> None:
        ended, self._next = self._next, asyncio.get_running_loop().create_future()
        self.state = state
        ended.set_result(None)
        self._changed.emit()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # Runs in the thread

    def _begin(self, *, take_over: bool) -> None:
        assert self._engine
        if self._connection is None:
            self._connection = self._database.open_reader()
        self._close_ledger()
        self._ledger = Ledger(self._ledger_path)
        publisher = Publisher(self._ledger, self._engine, self._name, self._model, socket.gethostname())
        publisher.begin(self._connection, take_over=take_over)
        publisher.compare_again()  # the clock may lack changes that were made while this was not running
        self._publisher = publisher

    def _follow(self) -> PublicationState:
        assert self._publisher
        assert self._connection
        if time.monotonic() - self._compared_at > _COMPARE_S:
            self._compared_at = time.monotonic()
            self._publisher.compare_again()
        return self._told(is_done=not self._publisher.follow(self._connection))

    def _step(self) -> PublicationState:
        assert self._publisher
        assert self._connection
        if self._is_closing:
            raise EngineFailed("the daemon is stopping")
        return self._told(is_done=not self._publisher.step(self._connection))

    def _told(self, *, is_done: bool) -> PublicationState:
        assert self._ledger
        assert self._publisher
        return PublicationState(
            self._name,
            str(self.address),
            "idle" if is_done else "publishing",
            None,
            self._ledger.state.documents,
            self._publisher.behind,
            len(self._ledger.failures()),
            self._publisher.told_at,
        )

    def _close_ledger(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None


def _dropped(engine: MilvusEngine, address: SharedAddress, path: Path) -> Removed:
    """Remove a publication. Runs in a thread."""
    ledger = Ledger(path)
    try:
        header = engine.header()
        if header is not None and header.publisher != ledger.state.publisher:
            raise refused(header)
        before = engine.count()
        engine.drop()
        after = engine.count()
        if any(after.values()):
            raise EngineFailed(
                f"{address} still has {sum(after.values())} rows of the collection: run the command again"
            )
    except BaseException:
        ledger.close()
        raise
    ledger.delete()
    return Removed(str(address), before, after)


def _call_in(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(function)
