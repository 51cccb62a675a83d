"""Measure searching, storing and unlocking 10,000 memories. Prints figures.

    .venv/bin/python -m benchmarks.memories MODEL.gguf [--rerank MODEL.gguf] [--memories N] [--turns]

MODEL.gguf is the embedding model of the preset `mini` (`gnoctl models path`). The service runs in this process, with a
real inference worker; `benchmarks.latency` shows the cost of the socket. Texts and vectors are synthetic, because
embedding would take minutes; the vectors have the number and shape of the model's vectors. With `--turns`, all memories
are turns of conversations with twenty turns.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from statistics import median

import numpy as np
import psutil

from benchmarks.nearest import like_real
from benchmarks.throwaway import percentile
from gnod.configured.configuration import Configuration
from gnod.configured.egress_gate import EgressPolicy
from gnod.configured.models import ModelFactory, ModelService
from gnod.daemon.process_settings import SWITCH_S
from gnod.memory.memories import Memories, checked
from gnod.memory.recalling.keywords import keywords, lookup_words
from gnod.memory.recalling.ranking import DEEP_SEARCH, SEARCH, Depth
from gnod.memory.service import MemoryService
from gnod.memory.transactions import EmbeddedTexts, MemoryChange, MemoryDraft, Transactions
from gnod.models.remote.models import FingerprintsInMemory, RemoteModels
from gnod.models.run.inference import Inference
from gnod.store.database import Database
from gnod.store.tables.egress_journal import EgressJournal

BUDGET_S = 2.0
_PASSPHRASE = "for measuring only"
_SUBJECTS = ["the daemon", "our database", "the login page", "Ilse", "the release", "a backup", "the index"]
_VERBS = ["uses", "replaced", "must not touch", "waits for", "was moved to", "prefers", "needs", "broke because of"]
_OBJECTS = ["PostgreSQL", "tabs", "blue-green rollouts", "the old cache", "OAuth tokens", "E4711", "YAML", "retries"]
_TURNS = 20  # for each conversation
_TYPES = ("fact", "fact", "preference", "summary", "result", "decision", "decision_done")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--rerank", type=Path)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--turns", action="store_true")
    options = parser.parse_args(words)
    sys.setswitchinterval(SWITCH_S)  # as in the daemon
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {options.memories:,} memories")
    with tempfile.TemporaryDirectory() as folder:
        rerank = options.rerank and options.rerank.resolve()
        asyncio.run(_measure(Path(folder), options.model.resolve(), rerank, options.memories, turns=options.turns))
    return 0


async def _measure(folder: Path, model: Path, rerank: Path | None, count: int, *, turns: bool) -> None:
    config = folder / "index.yml"
    config.write_text(
        f'version: "1.0"\nmodels:\n  preset: mini\n  embed: file:{model}\n'
        + (f"  rerank: file:{rerank}\n" if rerank else "")
    )
    index = Database(folder / "index.sqlite")
    configuration = Configuration(config, index)
    inference = Inference(idle_unload_s=600)
    models = ModelService(configuration, folder / "models")
    egress = EgressPolicy(configuration, EgressJournal(folder / "egress.sqlite"))
    factory = ModelFactory(configuration, models.files, inference, RemoteModels(FingerprintsInMemory(), egress))
    service = MemoryService(folder / "memory.sqlite", configuration, models, factory)
    await service.unlock(_PASSPHRASE)
    _fill(await service.memories(), service, count, _turn if turns else _draft)
    before = psutil.Process().memory_info().rss
    await service.lock()
    started = time.perf_counter()
    await service.unlock(_PASSPHRASE)
    unlocked = time.perf_counter() - started
    memories = await service.memories()
    more = (psutil.Process().memory_info().rss - before) / 1e6
    _row("unlock (Argon2id) and load", f"{unlocked:.2f} s, {more:.0f} MB more in memory")
    if service._indexing is not None:
        await service._indexing
    more = (psutil.Process().memory_info().rss - before) / 1e6
    _row("keyword index complete", f"{time.perf_counter() - started:.2f} s, {more:.0f} MB more in memory", "<= 90 MB")
    queries = _queries(200)
    await _searches(service, queries, "search, no reranker" if not rerank else "search, all", SEARCH, "p95 <= 40 ms")
    await _searches(service, queries, "  in one namespace", SEARCH, "", "project 3")
    await _searches(service, queries[:60], "deep search", DEEP_SEARCH, "")
    _paths(memories, queries)
    await _storing(service, memories)
    await service.close()
    await inference.close()
    index.close()


def _fill(
    memories: Memories, service: MemoryService, count: int, draft: Callable[[int, random.Random], MemoryDraft]
) -> None:
    """Write memories with vectors directly into the database; a fifth of them copy another one."""
    chance = random.Random(1)
    drafts = [draft(n, chance) for n in range(count * 4 // 5)]
    drafts += [each._replace(namespace="project 3") for each in drafts[: count - len(drafts)]]
    uri, make = memories.model_uri, like_real(1)
    assert uri is not None
    assert service._database is not None
    transactions = Transactions(memories.sealer)
    for low in range(0, count, 500):
        part = drafts[low : low + 500]
        vectors = EmbeddedTexts(uri, [[np.asarray(row)] for row in make(len(part))])
        ready = [checked(each) for each in part]
        service._database.submit_write(lambda c, r=ready, v=vectors: transactions.store(r, v, c)).result()  # type: ignore[misc]


def _draft(number: int, chance: random.Random) -> MemoryDraft:
    sentences = [
        f"{chance.choice(_SUBJECTS)} {chance.choice(_VERBS)} {chance.choice(_OBJECTS)}"
        for _ in range(chance.choice((1, 1, 2, 3, 8)))
    ]
    topics = [f"{chance.choice(_OBJECTS).split()[-1]}", f"topic {chance.randrange(3000)}"]
    namespace = "" if number % 3 else f"project {number % 8}"
    return MemoryDraft(f"{'. '.join(sentences)}. Number {number}.", chance.choice(_TYPES), topics, namespace)


def _turn(number: int, chance: random.Random) -> MemoryDraft:
    conversation = number // _TURNS
    said = _draft(number, chance)
    day = date(2023, 1, 1) + timedelta(conversation)
    return said._replace(
        text=f"{('Ada', 'Bo')[number % 2]} ({day.day} {day:%B}, {day.year}): {said.text}",
        namespace="" if conversation % 3 else f"project {conversation % 8}",
    )


def _queries(count: int) -> list[str]:
    chance = random.Random(2)
    return [f"what about {chance.choice(_SUBJECTS)} and {chance.choice(_OBJECTS)} {n}" for n in range(count)]


async def _searches(
    service: MemoryService, queries: Sequence[str], what: str, depth: Depth, target: str, *namespaces: str
) -> None:
    for query in queries[:5]:
        await service.recall(query, depth, namespaces, BUDGET_S)  # warm
    took, read = [], []
    for query in queries:
        started = time.perf_counter()
        found = await service.recall(query, depth, namespaces, BUDGET_S)
        took.append((time.perf_counter() - started) * 1000)
        read.append(found.reranked)
    figure = f"p50 {median(took):.1f} ms, p95 {percentile(took, 0.95):.1f}"
    if max(read):
        figure += f"; reranked {median(read):.0f} of {found.ranked} within {BUDGET_S:g} s"
    _row(what, figure, target)


def _paths(memories: Memories, queries: Sequence[str]) -> None:
    vectors = like_real(3)(len(queries))
    some = memories.namespace_ids(["project 3"])
    for what, namespaces in (("", None), (", one namespace", some)):
        took = [_took(lambda v=v, n=namespaces: memories.resident.nearest(v, 128, n)) for v in vectors]  # type: ignore[misc]
        _row(f"vector path{what}", f"p50 {median(took):.2f} ms, p95 {percentile(took, 0.95):.2f}", "<= 3 ms")
        lookups = [[memories.sealer.lookup("topic", w) for w in lookup_words(keywords(query))] for query in queries]
        took = [_took(lambda w=w, n=namespaces: memories.resident.topical(w, 96, n)) for w in lookups]  # type: ignore[misc]
        _row(f"topic path{what}", f"p50 {median(took):.2f} ms, p95 {percentile(took, 0.95):.2f}", "<= 3 ms")


def _took(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


async def _storing(service: MemoryService, memories: Memories) -> None:
    storing, proposing, changing, forgetting, found_immediately = [], [], [], [], 0
    for n in range(60):
        text = f"The zirconium flange number {n} is kept in drawer {n * 7}."
        started = time.perf_counter()
        (stored,) = await memories.store([MemoryDraft(text, "fact", ["drawers"])])
        storing.append((time.perf_counter() - started) * 1000)
        await memories.proposals(stored.memory)
        proposing.append((time.perf_counter() - started) * 1000)
        found = await service.recall(f"where is zirconium flange {n}", SEARCH, [], 0.0)
        found_immediately += stored.memory.name in [hit.memory.name for hit in found.hits]
        started = time.perf_counter()
        await memories.update(stored.memory.name, MemoryChange(text=text + " Again."))
        changing.append((time.perf_counter() - started) * 1000)
        started = time.perf_counter()
        await memories.forget([stored.memory.name])
        forgetting.append((time.perf_counter() - started) * 1000)
    rows = (("store one", storing, "<= 50 ms"), ("  and propose updates", proposing, ""))
    for what, took, target in (*rows, ("update one", changing, ""), ("forget one", forgetting, "")):
        _row(what, f"p50 {median(took):.1f} ms, p95 {percentile(took, 0.95):.1f}", target)
    _row("found immediately", f"{found_immediately} of {len(storing)}")


def _row(what: str, figure: str, target: str = "") -> None:
    print(f"{what:34}  {figure:58}  {target}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
