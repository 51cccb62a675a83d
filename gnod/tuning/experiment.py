"""Learns the weight of a collection's vectors from known-item questions to a scratch index.

The scratch index is a copy of the collection, with each question removed from its document. Unchanged documents keep
their vectors; changed ones are embedded again. A sample represents a large collection. At the end, the scratch index
and the questions are deleted.
"""

from __future__ import annotations

import asyncio
import posixpath
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import msgspec
import numpy as np

from gnod.errors import GnoError
from gnod.ingest.embedding import EmbeddingRun
from gnod.ingest.workers.jobs import Outcome, TextJob
from gnod.models.run.roles import Embedder
from gnod.search.hybrid import retrieval
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.query.parsing import text_lines
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.keyword_index import fulltext
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from gnod.store.tables.learned_factors import Prior
from gnod.store.tables.records import Chunk, PreparedDocument, Terms
from gnod.store.vectors import vectors
from gnod.store.vectors.vector_rows import DTYPE
from gnod.tuning.choice import MIN_QUESTIONS, AskedQuestion, choose
from gnod.tuning.questions import TitleQuestion, questions

# This many documents represent a larger collection. Those with the lowest docids are a fixed random sample.
MAX_DOCUMENTS = 3000
MAX_QUESTIONS = 300
# The maximum number of chunks of changed documents that are embedded again. Documents with more than
# MAX_CHUNKS_OF_DOCUMENT stay unchanged.
MAX_CHUNKS = 700
MAX_CHUNKS_OF_DOCUMENT = 8
_BATCH = 100
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]{8,200})\]\((?P<target>[^)\s#:]+)(?:#[^)\s]*)?\)")
_MIN_LINK_WORDS = 3

Prepare = Callable[[TextJob], Awaitable[Outcome]]
OnProgress = Callable[[str, int, int], None]
"""Called with the current task, the number of items done, and the total."""


class _Source(NamedTuple):
    """A document of the real index."""

    path: str
    language: str | None
    markdown: str
    own_title: str
    chunks: list[Chunk]


class _Item(NamedTuple):
    """A question, and the path of the document that answers it."""

    text: str
    path: str


async def learn(
    database: Database,
    collection: str,
    embedder: Embedder,
    prepare: Prepare,
    on_progress: OnProgress = lambda *_: None,
) -> Prior:
    """Return the learned weight. The factor is 1 if no other one helps, or if the collection yields too few questions.

    `prepare` makes documents from texts. Raises the errors of the models and of the database.
    """
    count = await database.read(lambda connection: documents.count_under(connection, collection, ""))
    asked = await _ask(database, collection, embedder, prepare, on_progress)
    prior = Prior.neutral(collection, embedder.uri, count)._replace(measured_at=time.time())
    if len(asked) < MIN_QUESTIONS:
        return prior
    figures = choose(asked)._asdict()
    return prior._replace(questions=len(asked), vector_odds=figures.pop("factor"), **figures)


def remove_left_overs(database: Database) -> None:
    """Remove the scratch indexes that a killed process left behind."""
    for folder in database.path.parent.glob(f"{_scratch(database)}*"):
        shutil.rmtree(folder, ignore_errors=True)


async def _ask(
    database: Database, collection: str, embedder: Embedder, prepare: Prepare, on_progress: OnProgress
) -> list[AskedQuestion]:
    """Return the results of both retrievers for questions about a collection; empty if there are too few questions."""
    sources = await _sources(database, collection)
    items, changed = _plan(sources)
    if len(items) < MIN_QUESTIONS:
        return []
    folder = database.path.parent
    with tempfile.TemporaryDirectory(prefix=_scratch(database), dir=folder, ignore_cleanup_errors=True) as scratch:
        index = await asyncio.to_thread(Database, Path(scratch) / "index.sqlite", readers=1, use_knn=False)
        try:
            await _fill(index, collection, sources, changed, prepare, on_progress)
            await _copy_vectors(database, index, sources, embedder.uri)
            await embed_all(index, embedder, collection, partial(on_progress, "embedding"))
            return await _ask_all(index, collection, embedder, items, on_progress)
        finally:
            await asyncio.to_thread(index.close)


def _scratch(database: Database) -> str:
    """Return the prefix of the scratch folders. It is unique to the index, because the daemon of another index may use
    the same folder."""
    return f"tuning-{database.path.stem}."


async def _sources(database: Database, collection: str) -> list[_Source]:
    """Read the documents in small groups: a long transaction would keep a reader from the searches."""
    found = await database.read(partial(_sample, collection))
    sources: list[_Source] = []
    for first in range(0, len(found), _BATCH):
        sources += await database.read(partial(_texts, found[first : first + _BATCH]))
    return sources


def _sample(collection: str, connection: Connection) -> list[tuple[str, str | None, str]]:
    """Return path, language and mirror hash of each document."""
    rows = connection.execute(
        "SELECT path, language, mirror_hash FROM documents"
        " WHERE active AND collection_id = (SELECT id FROM collections WHERE name = ?) ORDER BY docid LIMIT ?",
        (collection, MAX_DOCUMENTS),
    )
    return list(rows)


def _texts(found: Sequence[tuple[str, str | None, str]], connection: Connection) -> list[_Source]:
    content = "SELECT markdown, coalesce(title, '') FROM content WHERE mirror_hash = ?"
    return [
        _Source(path, language, markdown, own_title, _chunks(connection, mirror))
        for path, language, mirror in found
        for markdown, own_title in connection.execute(content, (mirror,))
    ]


def _chunks(connection: Connection, mirror_hash: str) -> list[Chunk]:
    rows = connection.execute(
        "SELECT start, end, start_line, end_line, heading, embed_hash FROM chunks WHERE mirror_hash = ? ORDER BY seq",
        (mirror_hash,),
    )
    return [Chunk(*row) for row in rows]


def _plan(sources: Sequence[_Source]) -> tuple[list[_Item], dict[str, TitleQuestion]]:
    """Return the questions, and for each changed document the question that was removed from it."""
    items: list[_Item] = []
    changed: dict[str, TitleQuestion] = {}
    chunks = 0
    for number, source in enumerate(sources):
        if len(items) >= MAX_QUESTIONS or chunks >= MAX_CHUNKS:
            break
        possible = questions(source.own_title, source.markdown)
        if possible and len(source.chunks) <= MAX_CHUNKS_OF_DOCUMENT:
            # A docstring resembles questions about code most. The other kinds are used in turn.
            question = possible[0] if possible[0].kind == "docstring" else possible[number % len(possible)]
            changed[source.path] = question
            items.append(_Item(question.text, source.path))
            chunks += len(source.chunks)
    links = islice(_links(sources), max(MAX_QUESTIONS // 4, MAX_QUESTIONS - len(items)))
    return _unique([*items, *links]), changed


def _links(sources: Sequence[_Source]) -> list[_Item]:
    """Return the texts of links between documents. Each one asks for the link's target."""
    paths = {source.path for source in sources}
    found: dict[str, _Item] = {}
    for source in sources:
        for match in _LINK.finditer(source.markdown):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(source.path), unquote(match["target"])))
            text = match["text"].replace("`", "").strip()
            if target in paths and target != source.path and len(text.split()) >= _MIN_LINK_WORDS:
                found.setdefault(target, _Item(text, target))
    return list(found.values())


def _unique(items: Sequence[_Item]) -> list[_Item]:
    """Leave out questions that several documents answer."""
    answers = Counter(item.text.casefold() for item in items)
    return [item for item in items if answers[item.text.casefold()] == 1]


async def _fill(
    index: Database,
    collection: str,
    sources: Sequence[_Source],
    changed: Mapping[str, TitleQuestion],
    prepare: Prepare,
    on_progress: OnProgress,
) -> None:
    collection_id = await index.write(partial(add_collection, collection, "/"))
    batch: list[tuple[str, PreparedDocument]] = []
    for done, source in enumerate(sources, 1):
        question = changed.get(source.path)
        text, title = (question.markdown, question.title) if question else (source.markdown, source.own_title)
        job = TextJob(text=text, relative_path=source.path, title=title or None, language=source.language)
        outcome = await prepare(job)
        if isinstance(outcome, PreparedDocument):
            # An unchanged document keeps its chunks, and so its vectors.
            batch.append((source.path, outcome if question else _as_before(outcome, source)))
        if len(batch) >= _BATCH or done == len(sources):
            await index.write(partial(store, collection_id, batch, 0.0))
            batch = []
        on_progress("reading", done, len(sources))


def _as_before(outcome: PreparedDocument, source: _Source) -> PreparedDocument:
    return msgspec.structs.replace(outcome, chunks=source.chunks, own_title=source.own_title)


def add_collection(collection: str, path: str, connection: Connection) -> int:
    """Add a collection to a scratch index and return its id."""
    collections.mirror(connection, [collections.Folder(collection, path, None)], [])
    return collections.id_of(connection, collection)


def store(
    collection_id: int, batch: Sequence[tuple[str, PreparedDocument]], now: float, connection: Connection
) -> None:
    """Store documents, by path."""
    terms: dict[int, Terms] = {}
    for path, prepared in batch:
        writing.put(connection, collection_id, path, prepared, now=now, terms=terms)
    fulltext.store(connection, terms)


async def _copy_vectors(database: Database, index: Database, sources: Sequence[_Source], uri: str) -> None:
    """Copy the vectors of unchanged chunks."""
    hashes = list({chunk.embed_hash for source in sources for chunk in source.chunks})
    for first in range(0, len(hashes), _BATCH):
        pieces = await database.read(partial(_pieces, uri, hashes[first : first + _BATCH]))
        await index.write(partial(vectors.put, uri=uri, chunks=pieces))


def _pieces(uri: str, hashes: Sequence[str], connection: Connection) -> dict[str, list[vectors.StoredPiece]]:
    rows = connection.execute(
        "SELECT v.embed_hash, v.embedding, v.start, v.end, v.line, v.last_line FROM json_each(?) wanted"
        " CROSS JOIN content_vectors v ON v.embed_hash = wanted.value"
        " WHERE v.model_id = (SELECT id FROM embedding_models WHERE uri = ?)",
        (msgspec.json.encode(list(hashes)).decode(), uri),
    )
    found: dict[str, list[vectors.StoredPiece]] = {}
    for embed_hash, embedding, *place in rows:
        found.setdefault(embed_hash, []).append(vectors.StoredPiece(np.frombuffer(embedding, DTYPE), *place))
    return found


async def embed_all(
    index: Database, embedder: Embedder, collection: str, on_progress: Callable[[int, int], None]
) -> None:
    """Embed every chunk of a collection. `on_progress` gets the number of chunks done, and the total."""
    run = EmbeddingRun(index, embedder, [collection])
    total, done = await run.count(), 0
    while (step := await run.step()) is not None:
        done += step.embedded + step.failed
        on_progress(done, total)


async def _ask_all(
    index: Database, collection: str, embedder: Embedder, items: Sequence[_Item], on_progress: OnProgress
) -> list[AskedQuestion]:
    nearest, served = Nearest(), {collection: embedder.uri}
    ids = await index.read(lambda connection: {path: id_ for id_, _, path in documents.addresses(connection)})
    asked: list[AskedQuestion] = []
    for done, item in enumerate(items, 1):
        rows = QueryVectors({embedder.uri: await embedder.texts([item.text])}, served)
        if item.path in ids:
            try:
                asked.append(await index.read(partial(_find, nearest, item.text, ids[item.path], rows)))
            except GnoError:  # the text has no word to search for
                continue
        on_progress("asking", done, len(items))
    return asked


def _find(nearest: Nearest, text: str, target: int, rows: QueryVectors, connection: Connection) -> AskedQuestion:
    lines = text_lines(text)
    words = retrieval.survey_words(connection, lines, Filters())
    vector_lines = [line for line in lines if not line.is_lexical]
    found = retrieval.retrieve(connection, nearest, words, vector_lines, rows, Filters())
    return AskedQuestion(target, found.evidence, found.trust)
