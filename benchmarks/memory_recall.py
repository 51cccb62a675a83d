"""Measure the recall of `memory.search` on folders of memories and questions, such as LoCoMo. Prints JSON.

    .venv/bin/python -m benchmarks.memory_recall [--model URI] [--rerank URI] [--limit N] FOLDER…

`memories.jsonl` has objects with `id`, `namespace`, `text`, and optionally `when` and `speaker`; `queries.jsonl` has
objects with `id`, `namespace`, `question`, `category` and `evidence`, a list of ids. A memory is stored as
`speaker (when): text`, encrypted, in a temporary database. The figures are the share of the evidence among the first 1,
5, 10 and 20 results, by category of question.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, TypeVar

import msgspec

from gnod import paths
from gnod.evaluate.models import EvaluationModels
from gnod.memory.key.sealing import Sealer
from gnod.memory.memories import Memories, open_database
from gnod.memory.recalling.ranking import SEARCH
from gnod.memory.recalling.recall import RecallDependencies, recall
from gnod.memory.transactions import EmbeddedTexts, MemoryDraft
from gnod.models.files import ModelFiles
from gnod.presets import PRESETS
from gnod.search.hybrid.budget import ThroughputEstimate
from gnod.store.database import Database
from gnod.types import UnavailableModel

CUTOFFS = (1, 5, 10, 20)
# Questions of this category ask about things that no memory contains.
ABSENT = "adversarial"
ALL = "all"
_STORED_AT_A_TIME = 100
_KEY_BYTES = 32
_NO_LIMIT_S = 120.0
_NO_RERANKER = UnavailableModel("the measurement has no reranker")


T = TypeVar("T")


class StoredText(msgspec.Struct):
    id: str
    namespace: str
    text: str
    when: str = ""
    speaker: str = ""


class MemoryQuestion(msgspec.Struct):
    id: str
    namespace: str
    question: str
    category: str
    evidence: list[str]


class Recall(msgspec.Struct, frozen=True):
    """`at`: the mean share of the evidence among the first results, by number of results."""

    category: str
    questions: int
    at: dict[int, float]


class Emptiness(msgspec.Struct, frozen=True):
    """How often a search had no results: for questions with an answer, for questions of `ABSENT`, and for questions of
    one namespace about the memories of another."""

    answered: float
    absent: float
    elsewhere: float


class MemoryRecall(msgspec.Struct, frozen=True):
    """`memories`: the number of memories. `recall`: by category; the category "all" has all questions except
    `ABSENT`."""

    folder: str
    memories: int
    recall: list[Recall]
    empty: Emptiness


class _Answer(NamedTuple):
    question: MemoryQuestion
    found: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--model", default=PRESETS["mini"]["embed"])
    parser.add_argument("--rerank")
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    files = ModelFiles(paths.resolve(None).models_dir)
    with EvaluationModels(options.model, files, rerank=options.rerank) as models:
        models.check()
        for folder in options.folders:
            print(msgspec.json.encode(measure(folder, models, limit=options.limit)).decode(), flush=True)


def measure(folder: Path, models: EvaluationModels, *, limit: int | None) -> MemoryRecall:
    """Store the memories and ask the first `limit` questions."""
    texts = _read(folder / "memories.jsonl", StoredText)
    questions = _read(folder / "queries.jsonl", MemoryQuestion)[:limit]
    with tempfile.TemporaryDirectory(prefix="gnod-bench-") as temporary:
        database = open_database(Path(temporary) / "memory.sqlite")
        try:
            return models.run(_Vault(models, database).measure(folder, texts, questions))
        finally:
            database.close()


class _Vault:
    """The memories of a folder in a separate database."""

    def __init__(self, models: EvaluationModels, database: Database) -> None:
        self._models = models
        self._memories = Memories(Sealer(secrets.token_bytes(_KEY_BYTES)), database, self._embed)
        self._ids: dict[str, str] = {}

    async def measure(
        self, folder: Path, texts: Sequence[StoredText], questions: Sequence[MemoryQuestion]
    ) -> MemoryRecall:
        await self._store(texts)
        known = {text.id for text in texts}
        answerable = [question for question in questions if known & {*question.evidence}]
        answers = [await self._ask(each, each.namespace) for each in answerable]
        namespaces = list(dict.fromkeys(text.namespace for text in texts))
        elsewhere = [
            await self._ask(each, namespaces[(namespaces.index(each.namespace) + 1) % len(namespaces)])
            for each in answerable
            if len(namespaces) > 1 and each.category != ABSENT
        ]
        empty = Emptiness(
            _empty([answer for answer in answers if answer.question.category != ABSENT]),
            _empty([answer for answer in answers if answer.question.category == ABSENT]),
            _empty(elsewhere),
        )
        return MemoryRecall(str(folder), len(texts), _recalls(answers, known), empty)

    async def _store(self, texts: Sequence[StoredText]) -> None:
        await self._memories.load(self._models.uri)
        for first in range(0, len(texts), _STORED_AT_A_TIME):
            batch = texts[first : first + _STORED_AT_A_TIME]
            stored = await self._memories.store(
                [MemoryDraft(_text(each), "fact", (), each.namespace) for each in batch]
            )
            self._ids.update((one.memory.name, each.id) for one, each in zip(stored, batch, strict=True))

    async def _ask(self, question: MemoryQuestion, namespace: str) -> _Answer:
        memories = self._memories
        dependencies = RecallDependencies(
            memories,
            embed=self._models.embedder.query,
            reranker=self._models.reranker or _NO_RERANKER,
            throughput=ThroughputEstimate(),
            limit_s=_NO_LIMIT_S,
        )
        found = await recall(dependencies, question.question, SEARCH, memories.namespace_ids([namespace]))
        return _Answer(question, [self._ids[hit.memory.name] for hit in found.hits])

    async def _embed(self, uri: str, texts: Sequence[str], waits: bool) -> EmbeddedTexts:
        return EmbeddedTexts(uri, await self._models.embedder.passages(texts, waits=waits))


def _text(stored: StoredText) -> str:
    label = " ".join(filter(None, (stored.speaker, f"({stored.when})" if stored.when else "")))
    return f"{label}: {stored.text}" if label else stored.text


def _recalls(answers: Sequence[_Answer], known: Collection[str]) -> list[Recall]:
    by_category: dict[str, list[_Answer]] = defaultdict(list)
    for answer in answers:
        if answer.question.category != ABSENT:
            by_category[ALL].append(answer)
            by_category[answer.question.category].append(answer)
    return [
        Recall(category, len(group), {at: fmean(_part(each, at, known) for each in group) for at in CUTOFFS})
        for category, group in by_category.items()
    ]


def _part(answer: _Answer, at: int, known: Collection[str]) -> float:
    evidence = {each for each in answer.question.evidence if each in known}
    return len(evidence & {*answer.found[:at]}) / len(evidence)


def _empty(answers: Sequence[_Answer]) -> float:
    return fmean(not answer.found for answer in answers) if answers else 0.0


def _read(path: Path, kind: type[T]) -> list[T]:
    return msgspec.json.Decoder(kind).decode_lines(path.read_bytes())


if __name__ == "__main__":
    main()
