"""The memories as this daemon serves them: their database, their key, and the models that the config wants for them.

Nothing is opened before somebody asks. Texts are in clear only here and in what is called from here; none is logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from gnod.errors import DatabaseCorrupt, ForeignDatabase, GnoError, KeyringFailed
from gnod.memory import keys, recall
from gnod.memory.memories import Memories, Storage
from gnod.memory.pool import Depth
from gnod.memory.recall import Recalled
from gnod.memory.records import Vector
from gnod.memory.transactions import Embedded
from gnod.memory.vault import Vault
from gnod.models.embedder import Embedder
from gnod.models.reranker import Reranker
from gnod.pipeline.pace import Pace
from gnod.server import awaited
from gnod.server.modelling import Models
from gnod.server.running import Running
from gnod.store import memories as table
from gnod.store import memory_schema
from gnod.store.database import Connection, Database

# A keyring may ask its owner, who may not be there.
_KEYRING_LIMIT_S = 60.0
_READERS = 2

_log = logging.getLogger(__name__)

T = TypeVar("T")


class State(NamedTuple):
    """`key`: where it is kept, "keyring" or "passphrase"; None: nothing was ever stored. The rest is known only while
    unlocked."""

    is_unlocked: bool
    key: str | None
    memories: int
    unembedded: int
    namespaces: list[str]


class Remembering:
    """`path`: of the database, which need not exist."""

    def __init__(self, path: Path, models: Models, running: Running) -> None:
        self._path = path
        self._models = models
        self._running = running
        self._database: Database | None = None
        self._vault: Vault | None = None
        self._memories: Memories | None = None
        self._opening = asyncio.Lock()
        self._embedding: asyncio.Task[None] | None = None
        self._have_models_changed = False
        self._paces: dict[str, Pace] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def memories(self) -> Memories:
        """Return the memories, unlocked: by itself where nobody has to be asked. Raises MemoryLocked, KeyringFailed,
        and DatabaseCorrupt, when the whole database is damaged."""
        if self._memories is not None:
            return self._memories
        return await self._to_the_end(self._unlocked())

    async def unlock(self, passphrase: str | None) -> None:
        """Take the key, or make one where there is none. Raises MemoryLocked when a passphrase is needed,
        WrongPassphrase, KeyringFailed."""
        await self._to_the_end(self._unlocked(passphrase, by_hand=True))

    async def move_key(self, passphrase: str | None, new_passphrase: str | None) -> None:
        """Have the key kept under a new passphrase, or in the keyring (None). `passphrase`: the present one, if any.
        Raises what `unlock` raises."""
        await self._to_the_end(self._key_moved(passphrase, new_passphrase))

    async def lock(self) -> None:
        """Forget the key, and all that was opened with it. What is being written is finished."""
        await self._to_the_end(self._locked())

    async def state(self) -> State:
        """Return how things stand, without unlocking anything, nor making a database where there is none."""
        async with self._opening:
            is_new = self._vault is None and not await asyncio.to_thread(self._path.exists)
            record = None if is_new else (await self._opened()).record
        found = self._memories
        return State(
            is_unlocked=found is not None,
            key=record.source if record else None,
            memories=len(found.resident) if found else 0,
            unembedded=found.resident.unembedded if found else 0,
            namespaces=found.namespaces() if found else [],
        )

    @property
    def is_locked_by_hand(self) -> bool:
        """Whether only `unlock` opens them, wherever their key is."""
        return self._vault is not None and self._vault.is_locked_by_hand

    async def keyring_problem(self) -> str | None:
        """Return why there is no keyring to be used, in words; None: there is one."""
        try:
            return await _asked(keys.keyring_problem)
        except KeyringFailed as error:
            return error.message

    async def recall(self, query: str, depth: Depth, namespaces: Sequence[str], limit_s: float) -> Recalled:
        """Search. `limit_s`: for the cross-encoder. Raises what `memories` and `recall.recall` raise, and
        MemoryNotFound for a namespace."""
        memories = await self.memories()
        ids = memories.namespace_ids(namespaces)
        reranker = self._reranker()
        tools = recall.Tools(
            sealer=memories.sealer,
            resident=memories.resident,
            open_all=memories.open_all,
            damage_note=memories.damage_note,
            embed=partial(self._embed_query, memories),
            reranker=reranker,
            pace=self._paces.setdefault("" if isinstance(reranker, str) else reranker.uri, Pace()),
            limit_s=limit_s,
        )
        found = await recall.recall(tools, query, depth, ids, has_shared=memories.has_shared(ids))
        if left := memories.resident.unembedded:
            self.models_changed()  # a model may have failed when they were stored
            some = f"{left:,} of {len(memories.resident):,}"
            found.notes.append(f"not embedded yet, so that only their topics find them: {some}")
        return found

    def models_changed(self) -> None:
        """Take in what the config, or a pull, has changed: another model may be wanted now, or be here at last."""
        self._have_models_changed = True
        if self._memories is not None and self._embedding is None:
            self._embedding = asyncio.create_task(self._follow_models(self._memories), name="embedding memories")

    async def close(self) -> None:
        if self._vault is not None or self._tasks:
            with contextlib.suppress(GnoError):  # damaged: nothing was opened, and others wait to be closed
                await self.lock()
        if self._database is not None:
            await asyncio.to_thread(self._database.close)

    async def _unlocked(self, passphrase: str | None = None, *, by_hand: bool = False) -> Memories:
        async with self._opening:
            if self._memories is not None and not by_hand:
                return self._memories
            vault = await self._opened()
            if by_hand or not (vault.is_unlocked or vault.is_locked_by_hand):
                await self._unlock(vault, passphrase)
            if self._memories is None:
                self._memories = await self._load(vault)
                self.models_changed()
            return self._memories

    async def _locked(self) -> None:
        async with self._opening:
            vault = await self._opened()
            memories, self._memories = self._memories, None
            if self._embedding is not None:
                self._embedding.cancel()
                await asyncio.wait([self._embedding])
            if memories is not None:
                await memories.close()
            vault.lock()

    async def _opened(self) -> Vault:
        if self._vault is None:
            with self._damage_told():
                self._database = self._database or await asyncio.to_thread(
                    partial(Database, self._path, schema=memory_schema.SCHEMA, readers=_READERS, use_knn=False)
                )
            await self._maintain(table.overwrite_deleted)
            await self._maintain(table.empty_log)  # gnod may have been killed before it could
            stored = await self._read(table.key_record)
            self._vault = Vault(keys.read_record(stored) if stored else None)
        return self._vault

    async def _unlock(self, vault: Vault, passphrase: str | None) -> None:
        is_new = vault.record is None
        record, key = await _asked(partial(vault.fetch, passphrase))
        if is_new:
            await self._write(partial(table.put_key_record, record=keys.write_record(record)))
        vault.open(record, key)
        _log.info("memory.unlocked", extra={"fields": {"key": record.source, "new": is_new}})

    async def _key_moved(self, passphrase: str | None, new_passphrase: str | None) -> None:
        async with self._opening:
            vault = await self._opened()
            record = await _asked(partial(vault.moved, passphrase, new_passphrase))
            await self._write(partial(table.replace_key_record, record=keys.write_record(record)))
            await self._maintain(table.empty_log)  # the old passphrase must open nothing that is left here
            vault.record = record
        _log.info("memory.key_moved", extra={"fields": {"key": record.source}})

    async def _load(self, vault: Vault) -> Memories:
        storage = Storage(self._read, self._write, self._maintain)
        memories = Memories(vault.sealer, storage, self._embed_texts)
        await memories.load(self._models.uri_for("embed"))
        return memories

    async def _follow_models(self, memories: Memories) -> None:
        """Embed what has no vectors of the model that is wanted now."""
        try:
            while self._have_models_changed:
                self._have_models_changed = False
                if memories.model_uri != (uri := self._models.uri_for("embed")):
                    await memories.load_vectors(uri)
                if left := await memories.embed_missing():
                    _log.debug("memory.unembedded", extra={"fields": {"memories": left}})
        except GnoError as error:
            _log.warning("memory.not_embedded", extra={"fields": {"kind": error.kind}})
        except Exception:
            _log.exception("memory.not_embedded")
        finally:
            self._embedding = None

    async def _embed_texts(self, uri: str, texts: Sequence[str], /, *, waits: bool) -> Embedded | None:
        try:
            if self._models.find(uri) is None:
                return None
            return Embedded(uri, await self._running.make(Embedder, uri).passages(texts, waits=waits))
        except GnoError as error:
            _log.warning("memory.not_embedded", extra={"fields": {"kind": error.kind}})
            return None

    async def _embed_query(self, memories: Memories, query: str) -> Vector | str:
        uri = memories.model_uri
        if uri is None:
            return "there is no model for searching by meaning: `models.embed` in index.yml names one"
        try:
            self._models.require(uri)
            vector = await self._running.make(Embedder, uri).query(query)
        except GnoError as error:
            return error.message
        if memories.resident.dimensions not in (None, len(vector)):
            # The model's file was exchanged for another's; its vectors are made anew.
            memories.resident.replace_vectors([])
        return vector

    def _reranker(self) -> Reranker | str:
        uri = self._models.uri_for("rerank")
        if uri is None:
            return "there is no model to rerank with: `models.rerank` in index.yml names one, or another preset"
        try:
            self._models.require(uri)
        except GnoError as error:
            return error.message
        return self._running.make(Reranker, uri)

    async def _to_the_end(self, work: Coroutine[object, object, T]) -> T:
        """Go on when the request is cancelled: a key must not be made without its record."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _read(self, work: Callable[[Connection], T], /) -> T:
        assert self._database is not None
        with self._damage_told():
            return await awaited.read(self._database, work)

    async def _write(self, work: Callable[[Connection], T], /) -> T:
        assert self._database is not None
        with self._damage_told():
            return await awaited.write(self._database, work)

    async def _maintain(self, work: Callable[[Connection], T], /) -> T:
        assert self._database is not None
        with self._damage_told():
            return await asyncio.wrap_future(self._database.maintain(work))

    @contextlib.contextmanager
    def _damage_told(self) -> Iterator[None]:
        """An index can be made anew from the disk. Memories cannot: the file stays where it is."""
        try:
            yield
        except (DatabaseCorrupt, ForeignDatabase) as error:
            raise DatabaseCorrupt(
                f"the memories in {self._path} are damaged, or the file is another program's: it is left as it is. "
                "`gnoctl restore --memories` brings back a backup"
            ) from error


async def _asked(work: Callable[[], T]) -> T:
    """Run what may ask the keyring, and so its owner, who may not be there. Whoever never answers keeps a thread, which
    does not keep the daemon from ending. Raises KeyringFailed."""
    answer: Future[T] = Future()

    def ask() -> None:
        try:
            found = work()
        except BaseException as error:
            answer.set_exception(error)
        else:
            answer.set_result(found)

    threading.Thread(target=ask, name="gnod-keyring", daemon=True).start()
    try:
        async with asyncio.timeout(_KEYRING_LIMIT_S):
            return await asyncio.shield(asyncio.wrap_future(answer))
    except TimeoutError:
        raise KeyringFailed(
            f"the system's keyring did not answer for {_KEYRING_LIMIT_S:.0f} s; does it wait for its own password?"
        ) from None
