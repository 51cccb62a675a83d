"""Serve the memories of this daemon, with their database, key and models.

The service opens nothing before the first request. Texts are in clear only here and in code that this module calls;
they are never logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gnod.configured.configuration import Configuration
from gnod.configured.models import ModelFactory, ModelService
from gnod.egress import Purpose
from gnod.errors import GnoError, KeyFileFailed, KeyringFailed
from gnod.memory.key import keys
from gnod.memory.key.process_memory import overwrite_kept_blocks, overwrite_small_blocks, overwrite_what_is_freed
from gnod.memory.key.vault import Vault
from gnod.memory.memories import Memories, open_database, unbroken
from gnod.memory.recalling import recall
from gnod.memory.recalling.ranking import Depth
from gnod.memory.recalling.recall import Recalled
from gnod.memory.records import Vector
from gnod.memory.transactions import EmbeddedTexts
from gnod.memory.validity import TimeSpan
from gnod.models.run.roles import Embedder, Reranker
from gnod.search.hybrid.budget import ThroughputEstimate
from gnod.store.database import Database
from gnod.store.memory import memories as table
from gnod.types import UnavailableModel

_log = logging.getLogger(__name__)


class MemoryState(NamedTuple):
    """`key`: what keeps the key, "keyring", "passphrase" or "file"; None if no memory was ever stored. The other fields
    are known only while unlocked. `index_locked`: whether no part of the keyword index can be swapped."""

    is_unlocked: bool
    key: str | None
    memories: int | None = None
    unembedded: int | None = None
    unindexed: int | None = None
    index_locked: bool | None = None
    namespaces: Sequence[str] = ()


class MemoryService:
    """`path`: the database, which is created on first use."""

    def __init__(
        self,
        path: Path,
        configuration: Configuration,
        models: ModelService,
        factory: ModelFactory,
    ) -> None:
        self._path = path
        self._models = models
        self._factory = factory
        # Estimates of the speed of each reranker, which `learn` improves.
        self._throughputs: defaultdict[str, ThroughputEstimate] = defaultdict(ThroughputEstimate)
        self._database: Database | None = None
        self._vault: Vault | None = None
        self._memories: Memories | None = None
        self._opening = asyncio.Lock()
        self._embedding: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[None] | None = None
        self._have_models_changed = False
        self._tasks: set[asyncio.Task[Any]] = set()
        configuration.changed.connect(lambda _: self.models_changed())
        models.installed.connect(lambda _: self.models_changed())

    async def memories(self) -> Memories:
        """Return the memories. Unlocks them if that needs no passphrase. Raises MemoryLocked, KeyringFailed, and
        DatabaseCorrupt or ForeignDatabase."""
        if self._memories is not None:
            return self._memories
        return await self._open_memories()

    @property
    def key_file(self) -> Path:
        """Return the path of the key file, beside the database. The user may choose to keep the key there."""
        return self._path.with_suffix(".key")

    async def unlock(self, passphrase: str | None, *, in_file: bool = False) -> None:
        """Read the key. If there is none, make one, with `in_file` in the key file. Raises MemoryLocked if a passphrase
        is needed, WrongPassphrase, KeyringFailed, KeyFileFailed."""
        await self._open_memories(passphrase, by_hand=True, in_file=in_file)

    @unbroken
    async def move_key(self, passphrase: str | None, new_passphrase: str | None, *, in_file: bool = False) -> None:
        """Move the key to the key file (`in_file`), protect it with the new passphrase, or move it to the keyring.
        `passphrase`: the present one, if there is one. Raises the same errors as `unlock`."""
        async with self._opening:
            vault = await self._open_vault()
            record = await keys.in_thread(partial(vault.moved, passphrase, new_passphrase, in_file=in_file))
            await self._opened_database.write(partial(table.replace_key_record, record=keys.write_record(record)))
            await self._opened_database.maintain(table.empty_log)  # it has a key that the old passphrase decrypts
            was_in_file = vault.record is not None and vault.record.source == "file"
            vault.record = record
            if was_in_file and record.source != "file":
                await asyncio.to_thread(keys.remove_file, self.key_file)
        _log.info("memory.key_moved", extra={"fields": {"key": record.source}})

    @unbroken
    async def lock(self) -> None:
        """Complete the writes in progress, then forget the key and all decrypted data."""
        async with self._opening:
            vault = await self._open_vault()
            memories, self._memories = self._memories, None
            for task in (self._embedding, self._indexing):
                if task is not None:
                    task.cancel()
                    await asyncio.wait([task])
            if memories is not None:
                await memories.close()
            vault.lock()
        memories = None
        await asyncio.to_thread(overwrite_small_blocks)
        overwrite_kept_blocks()

    async def state(self) -> MemoryState:
        """Return the state. Unlocks nothing, and creates no database."""
        async with self._opening:
            is_new = self._vault is None and not await asyncio.to_thread(self._path.exists)
            record = None if is_new else (await self._open_vault()).record
        memories, key = self._memories, record.source if record else None
        if memories is None:
            return MemoryState(is_unlocked=False, key=key)
        resident = memories.resident
        counts = (len(resident), resident.unembedded, self._unindexed(memories))
        return MemoryState(True, key, *counts, memories.index.is_locked, memories.namespaces())

    @property
    def is_locked_by_hand(self) -> bool:
        """Return whether the user locked the memories, so that they need `unlock` wherever their key is."""
        return self._vault is not None and self._vault.is_locked_by_hand

    async def keyring_problem(self) -> str | None:
        """Return why the keyring cannot be used; None if it can."""
        try:
            return await keys.in_thread(keys.keyring_problem)
        except KeyringFailed as error:
            return error.message

    async def key_file_problem(self) -> str | None:
        """Return why the key file cannot be used; None if it can."""
        try:
            await asyncio.to_thread(keys.key_in_file, self.key_file)
        except KeyFileFailed as error:
            return error.message
        return None

    async def recall(
        self, query: str, depth: Depth, namespaces: Sequence[str], limit_s: float, as_of: TimeSpan | None = None
    ) -> Recalled:
        """Search memories. `limit_s`: the time limit of the reranker. Raises the errors of `memories` and
        `recall.recall`, and MemoryNotFound for a namespace."""
        memories = await self.memories()
        ids = memories.namespace_ids(namespaces)
        reranker = self._reranker()
        name = "" if isinstance(reranker, UnavailableModel) else reranker.uri
        embed = partial(self._embed_query, memories)
        dependencies = recall.RecallDependencies(memories, embed, reranker, self._throughputs[name], limit_s)
        found = await recall.recall(dependencies, query, depth, ids, as_of)
        if left := memories.resident.unembedded:
            self.models_changed()  # a model may have failed when they were stored
            number = f"{left:,} of {len(memories.resident):,}"
            found.notes.append(f"{number} not embedded yet: found by keyword and topic only")
        if waiting := self._unindexed(memories):
            found.notes.append(f"{waiting:,} of {len(memories.resident):,} not in the keyword index yet")
        return found

    async def forget_vectors(self, uri: str) -> None:
        """Delete all vectors of a model, and embed again. The deletion needs no key."""
        async with self._opening:
            if self._vault is None and not await asyncio.to_thread(self._path.exists):
                return
            await self._open_vault()
            await self._opened_database.write(partial(table.forget_vectors, uri=uri))
        if self._memories is not None:
            await self._memories.load_vectors(self._embedding_model)
        self.models_changed()

    def models_changed(self) -> None:
        """Start to embed memories without vectors of the configured model, if it is installed. Returns at once."""
        self._have_models_changed = True
        if self._memories is not None and self._embedding is None:
            self._embedding = asyncio.create_task(self._follow_models(self._memories), name="embedding memories")

    async def close(self) -> None:
        if self._vault is not None or self._tasks:
            with contextlib.suppress(GnoError):  # a damaged database was never opened
                await self.lock()
        if self._database is not None:
            await asyncio.to_thread(self._database.close)

    @unbroken
    async def _open_memories(
        self, passphrase: str | None = None, *, by_hand: bool = False, in_file: bool = False
    ) -> Memories:
        async with self._opening:
            if self._memories is not None and not by_hand:
                return self._memories
            overwrite_what_is_freed()
            vault = await self._open_vault()
            if by_hand or not (vault.is_unlocked or vault.is_locked_by_hand):
                await self._unlock(vault, passphrase, in_file=in_file)
            if self._memories is None:
                memories = Memories(vault.sealer, self._opened_database, self._embed_texts)
                await memories.load(self._embedding_model)
                self._memories = memories
                self._indexing = asyncio.create_task(self._index(memories), name="indexing memories")
                self.models_changed()
            return self._memories

    async def _open_vault(self) -> Vault:
        if self._vault is None:
            if self._database is None:
                self._database = await asyncio.to_thread(open_database, self._path)
            database = self._opened_database
            await database.maintain(table.overwrite_deleted)
            await database.maintain(table.empty_log)  # the last process may have been killed before it emptied the log
            stored = await database.read(table.key_record)
            self._vault = Vault(keys.read_record(stored) if stored else None, self.key_file)
        return self._vault

    @property
    def _opened_database(self) -> Database:
        assert self._database is not None
        return self._database

    async def _unlock(self, vault: Vault, passphrase: str | None, *, in_file: bool) -> None:
        is_new = vault.record is None
        record, key = await keys.in_thread(partial(vault.fetch, passphrase, in_file=in_file))
        if is_new:
            await self._opened_database.write(partial(table.put_key_record, record=keys.write_record(record)))
        vault.open(record, key)
        _log.info("memory.unlocked", extra={"fields": {"key": record.source, "new": is_new}})

    async def _follow_models(self, memories: Memories) -> None:
        """Embed memories without vectors of the configured model; repeat if the model changes meanwhile."""
        try:
            while self._have_models_changed:
                self._have_models_changed = False
                if memories.model_uri != (uri := self._embedding_model):
                    await memories.load_vectors(uri)
                if left := await memories.embed_missing():
                    _log.debug("memory.unembedded", extra={"fields": {"memories": left}})
        except GnoError as error:
            _log.warning("memory.not_embedded", extra={"fields": {"kind": error.kind}})
        except Exception:
            _log.exception("memory.not_embedded")
        finally:
            self._embedding = None

    def _unindexed(self, memories: Memories) -> int:
        """Return how many memories are not in the keyword index yet, without damaged ones."""
        is_done = self._indexing is None or self._indexing.done()
        return 0 if is_done else max(len(memories.resident) - len(memories.index), 0)

    async def _index(self, memories: Memories) -> None:
        """Fill the keyword index in the background. The first searches do not wait for it."""
        try:
            await memories.index_all()
        except GnoError as error:
            _log.warning("memory.not_indexed", extra={"fields": {"kind": error.kind}})
        except Exception:
            _log.exception("memory.not_indexed")

    @property
    def _embedding_model(self) -> str | None:
        """Return the address of the model that the configuration asks for."""
        return self._models.uri_for("embed")

    def _embedder(self, uri: str) -> Embedder:
        return self._factory.make(Embedder, uri, Purpose("embed", "memories"))

    def _reranker(self) -> Reranker | UnavailableModel:
        uri = self._models.usable("rerank")
        if isinstance(uri, UnavailableModel):
            return uri
        return self._factory.make(Reranker, uri, Purpose("rerank", "memories"))

    async def _embed_texts(self, uri: str, texts: Sequence[str], waits: bool) -> EmbeddedTexts | None:
        try:
            if not self._models.is_ready(uri):
                return None
            return EmbeddedTexts(uri, await self._embedder(uri).passages(texts, waits=waits))
        except GnoError as error:
            _log.warning("memory.not_embedded", extra={"fields": {"kind": error.kind}})
            return None

    async def _embed_query(self, memories: Memories, query: str) -> Vector | UnavailableModel:
        uri = memories.model_uri
        if uri is None:
            return UnavailableModel("no embedding model is configured: set `models.embed` in index.yml")
        try:
            self._models.require_ready(uri)
            vector = await self._embedder(uri).query(query)
        except GnoError as error:
            return UnavailableModel(error.message)
        if memories.resident.dimensions not in (None, len(vector)):
            memories.resident.replace_vectors([])  # the file has another model now: embed again
        return vector
