"""Memories in a test database: with a simple model of words, or through the daemon's service."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import apsw
import numpy as np

from gnod.configured.configuration import Configuration
from gnod.configured.egress_gate import EgressPolicy
from gnod.configured.models import ModelFactory, ModelService
from gnod.memory.key.sealing import Sealer
from gnod.memory.memories import Memories, open_database
from gnod.memory.records import Vector
from gnod.memory.service import MemoryService
from gnod.memory.transactions import EmbeddedTexts
from gnod.models.remote.models import FingerprintsInMemory, RemoteModels
from gnod.models.run.inference import Inference
from gnod.store.database import Database
from gnod.store.memory import memories as table
from gnod.store.tables.egress_journal import EgressJournal

KEY = bytes(range(32))
URI = "file:/models/words.gguf"
ENOUGH_S = 60.0


def vector_of(text: str, dimensions: int = 48) -> Vector:
    """Return a vector for which texts that share words are near each other."""
    found = np.full(dimensions, 1e-3, np.float32)
    for word in text.lower().split():
        found[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % dimensions] += 1
    return np.asarray(found / np.linalg.norm(found), np.float32)


class Words:
    """A model of words. `is_here`: whether it is installed. `gate`: if it is not None, each call waits for it."""

    def __init__(self) -> None:
        self.is_here = True
        self.dimensions = 48
        self.gate: asyncio.Event | None = None
        self.asked: list[str] = []

    async def __call__(self, uri: str, texts: Sequence[str], waits: bool) -> EmbeddedTexts | None:  # noqa: ARG002
        self.asked += texts
        if self.gate is not None:
            await self.gate.wait()
        if not self.is_here:
            return None
        # Each line is a piece.
        pieces = [[vector_of(line, self.dimensions) for line in text.splitlines()] for text in texts]
        return EmbeddedTexts(uri, pieces)


class Kept:
    """A database of memories. `opened` unlocks them, and may be called repeatedly."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.words = Words()
        self.database = open_database(path)
        self.database.submit_maintenance(table.overwrite_deleted).result()

    async def opened(self, uri: str | None = URI, key: bytes = KEY) -> Memories:
        memories = Memories(Sealer(key), self.database, self.words)
        await memories.load(uri)
        return memories

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        return self.database.submit_read(lambda c: c.execute(query, values).fetchall()).result()

    def change(self, query: str) -> None:
        self.database.submit_write(lambda c: c.execute(query).fetchall()).result()


def snapshot(memories: Memories) -> object:
    """Return all resident data."""
    held = memories.resident
    vectors = {}
    if held._matrix is not None:
        rows = held._matrix.rows_of(np.asarray(sorted(held._owners), np.int64))
        values = held._matrix.reader()(rows)
        for id_, vector in zip(sorted(held._owners), values, strict=True):
            vectors[id_] = (held._owners[id_], vector.tobytes())
    topics = {topic: sorted(owners) for topic, owners in held._by_topic.items()}
    return held.rows(), held._by_name, topics, vectors, held._vector_ids, memories.namespaces()


class Served(NamedTuple):
    service: MemoryService
    models: ModelService
    configuration: Configuration
    inference: Inference


@asynccontextmanager
async def serving(folder: Path, *, embed: Path | None = None, rerank: Path | None = None) -> AsyncIterator[Served]:
    """The daemon's memory service. By default, it uses the models of the preset, which are not installed."""
    lines = [f"  {role}: file:{path}\n" for role, path in (("embed", embed), ("rerank", rerank)) if path]
    config = folder / "index.yml"
    config.write_text('version: "1.0"\nmodels:\n  preset: mini\n' + "".join(lines))
    database = Database(folder / "index.sqlite")
    configuration = Configuration(config, database)
    inference = Inference(idle_unload_s=60)
    models = ModelService(configuration, folder / "models")
    egress = EgressPolicy(configuration, EgressJournal(folder / "egress.sqlite"))
    factory = ModelFactory(configuration, models.files, inference, RemoteModels(FingerprintsInMemory(), egress))
    service = MemoryService(folder / "memory.sqlite", configuration, models, factory)
    try:
        yield Served(service, models, configuration, inference)
    finally:
        await service.close()
        await inference.close()
        await asyncio.to_thread(database.close)


def harm(path: Path, query: str) -> None:
    """Change the file without the daemon's knowledge."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(5000)
    connection.execute(query)
    connection.close()
