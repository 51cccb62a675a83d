"""The memories as this daemon serves them: their database, their key, and the models that the config wants for them.

Nothing is opened before somebody asks. Texts are in clear only here and in what is called from here; none is logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from gnod.errors import GnoError, KeyringFailed
from gnod.memory import recall
from gnod.memory.keys import KeyRecord
from gnod.memory.memories import Embedded, Memories
from gnod.memory.pool import Depth
from gnod.memory.recall import Recalled
from gnod.memory.records import Vector
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
        # Of the model whose vectors are resident.
        self._uri: str | None = None
        self._opening = asyncio.Lock()
        self._embedding: asyncio.Task[None] | None = None
        self._paces: dict[str, Pace] = {}

    async def memories(self) -> Memories:
        """Return the memories, unlocked: by itself where nobody has to be asked. Raises MemoryLocked, KeyringFailed."""
        async with self._opening:
            if self._memories is None:
                vault = await self._opened()
                if not vault.is_unlocked and await asyncio.to_thread(vault.opens_by_itself):
                    await self._unlock(vault, None)
                self._memories = await self._load(vault)
            return self._memories

    async def unlock(self, passphrase: str | None) -> None:
        """Take the key, or make one where there is none. Raises MemoryLocked when a passphrase is needed,
        WrongPassphrase, KeyringFailed."""
        async with self._opening:
            vault = await self._opened()
            await self._unlock(vault, passphrase)
            self._memories = await self._load(vault)

    async def lock(self) -> None:
        """Forget the key, and all that was opened with it."""
        async with self._opening:
            vault = await self._opened()
            await self._stop_embedding()
            self._memories = None
            vault.lock()

    async def state(self) -> State:
        """Return how things stand, without unlocking anything."""
        async with self._opening:
            record = (await self._opened()).record
        found = self._memories
        return State(
            is_unlocked=found is not None,
            key=record.source if record else None,
            memories=len(found.resident) if found else 0,
            unembedded=len(found.resident.without_vectors()) if found else 0,
            namespaces=found.namespaces() if found else [],
        )

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
            embed=self._embed_query,
            reranker=reranker,
            pace=self._paces.setdefault("" if isinstance(reranker, str) else reranker.uri, Pace()),
            limit_s=limit_s,
        )
        return await recall.recall(tools, query, depth, ids, has_shared=memories.has_shared(ids))

    def models_changed(self) -> None:
        """Take in what the config, or a pull, has changed: another model may be wanted now, or be here at last."""
        if self._memories is not None and self._embedding is None:
            self._embedding = asyncio.create_task(self._follow_models(self._memories), name="embedding memories")

    async def close(self) -> None:
        await self._stop_embedding()
        if self._database is not None:
            await asyncio.to_thread(self._database.close)

    async def _opened(self) -> Vault:
        if self._vault is None:
            self._database = await asyncio.to_thread(
                partial(Database, self._path, schema=memory_schema.SCHEMA, readers=_READERS, use_knn=False)
            )
            record = await self._read(table.key_record)
            self._vault = Vault(msgspec.msgpack.decode(record, type=KeyRecord) if record else None)
        return self._vault

    async def _unlock(self, vault: Vault, passphrase: str | None) -> None:
        is_new = vault.record is None
        try:
            async with asyncio.timeout(_KEYRING_LIMIT_S):
                record = await asyncio.to_thread(vault.unlock, passphrase)
        except TimeoutError:
            raise KeyringFailed(
                f"the system's keyring did not answer for {_KEYRING_LIMIT_S:.0f} s; does it wait for its own password?"
            ) from None
        if is_new:
            await self._write(partial(table.put_key_record, record=msgspec.msgpack.encode(record)))
        _log.info("memory.unlocked", extra={"fields": {"key": record.source, "new": is_new}})

    async def _load(self, vault: Vault) -> Memories:
        memories = Memories(vault.sealer, self._read, self._write, self._embed_texts)
        self._uri = self._models.uri_for("embed")
        await memories.load(self._uri)
        self._memories = memories
        self.models_changed()
        return memories

    async def _follow_models(self, memories: Memories) -> None:
        """Embed what has no vectors of the model that is wanted now."""
        try:
            if self._uri != (uri := self._models.uri_for("embed")):
                self._uri = uri
                await memories.load_vectors(uri)
            left = await memories.embed_missing()
            if left:
                _log.info("memory.unembedded", extra={"fields": {"memories": left}})
        except GnoError as error:
            _log.warning("memory.not_embedded", extra={"fields": {"kind": error.kind, "message": error.message}})
        finally:
            self._embedding = None

    async def _stop_embedding(self) -> None:
        if self._embedding is not None:
            self._embedding.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._embedding

    async def _embed_texts(self, texts: Sequence[str]) -> Embedded | None:
        uri = self._uri
        if uri is None or self._models.find(uri) is None:
            return None
        try:
            return Embedded(uri, await self._running.make(Embedder, uri).passages(texts))
        except GnoError as error:
            _log.warning("memory.not_embedded", extra={"fields": {"kind": error.kind, "message": error.message}})
            return None

    async def _embed_query(self, query: str) -> Vector | str:
        if self._uri is None:
            return "there is no model for searching by meaning: `models.embed` in index.yml names one"
        try:
            self._models.require(self._uri)
            return await self._running.make(Embedder, self._uri).query(query)
        except GnoError as error:
            return error.message

    def _reranker(self) -> Reranker | str:
        uri = self._models.uri_for("rerank")
        if uri is None:
            return "there is no model to rerank with: `models.rerank` in index.yml names one, or another preset"
        try:
            self._models.require(uri)
        except GnoError as error:
            return error.message
        return self._running.make(Reranker, uri)

    async def _read(self, work: Callable[[Connection], T], /) -> T:
        assert self._database is not None
        return await awaited.read(self._database, work)

    async def _write(self, work: Callable[[Connection], T], /) -> T:
        assert self._database is not None
        return await awaited.write(self._database, work)
