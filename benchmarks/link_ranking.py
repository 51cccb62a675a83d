"""Measure whether links improve ranking: a prior from links, linked documents, the text of links. Prints figures.

    .venv/bin/python -m benchmarks.link_ranking INDEX [--model MODEL.gguf] [--projects NAME …]

Indexes dev-docs (or some of its projects) in the file INDEX, unless it exists, and embeds it with a model. The
questions in link_questions.tsv were written from the pages; half of them are about pages with many incoming links. Each
variant changes a ranking of gnod. The product has none of them (docs/adr/0050-links-in-ranking.md).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import log
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec
import numpy as np

from benchmarks.throwaway import SHARED, require_shared
from gnod.config.model import IngestConfig
from gnod.evaluate.measures import in_order, measure
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.searching import UNBOUNDED_S, MeasuredModels
from gnod.ingest.text.document_terms import terms_of
from gnod.ingest.text.outline import outline
from gnod.ingest.workers.jobs import FileJob, Outcome
from gnod.ingest.workers.pool import WorkerPool
from gnod.models.files import ModelFiles
from gnod.search.hybrid import stages
from gnod.search.hybrid.stages import HybridSettings
from gnod.search.keyword import lexical
from gnod.search.query.parsing import parse_clauses, parse_query
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.links import links
from gnod.store.tables.filters import Filters
from gnod.store.tables.records import PreparedDocument
from gnod.tuning.choice import interval
from gnod.tuning.experiment import embed_all

COLLECTION = "bench"
DEPTH = 100
HEADINGS = 300
_HERE = Path(__file__).parent
_MOST = 10_000_000
_BATCH = 100
_SHOWN = re.compile(r"\[([^\[\]]{2,200})\][\[(]|\|([^\[\]|]{2,200})\]\]|`([^`<>]{2,200}?)\s*<")
_SAYS_NOTHING = frozenset({"here", "this", "link", "docs", "documentation", "this page", "see", "more", "details"})

Scores = dict[str, float]
Rerank = Callable[[Scores, str], Scores]


class Graph(NamedTuple):
    """Links between documents by path. `shown`: the texts of the links to a document."""

    out: Mapping[str, list[str]]
    into: Mapping[str, list[str]]
    shown: Mapping[str, list[str]]


class Stored(NamedTuple):
    id: int
    path: str
    language: str | None
    title: str
    text: str


class Topics(NamedTuple):
    name: str
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("index", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--projects", nargs="*", default=[])
    options = parser.parse_args()
    require_shared()
    root = SHARED / "corpora" / "dev-docs"
    database = Database(options.index, readers=1)
    if not database.submit_read(_count).result():
        asyncio.run(_fill(database, root, options.projects))
    paths, graph, texts = database.submit_read(_graph).result()
    edges = sum(len(each) for each in graph.out.values())
    print(f"{len(paths):,} documents, {edges:,} pairs linked, {len(graph.into):,} documents are linked to")
    topics = list(_topics(set(paths.values()), texts))
    found = {"keyword": _keyword(database, paths, topics)}
    if options.model:
        with EvaluationModels(f"file:{options.model}", ModelFiles(options.index.parent / "modelcache")) as models:
            models.run(embed_all(database, models.embedder, COLLECTION, lambda *_: None))
            found["hybrid"] = _hybrid(database, models, paths, topics)
            for variant, column, times in _ANCHORS:
                found[f"hybrid {variant}"] = _hybrid(
                    _with_anchors(options.index, graph, column, times), models, paths, topics
                )
    for variant, column, times in _ANCHORS:
        found[f"keyword {variant}"] = _keyword(_with_anchors(options.index, graph, column, times), paths, topics)
    _report(found, topics, graph)


_ANCHORS = [
    ("anchors in body", "body", 1),
    ("anchors in body, twice", "body", 2),
    ("anchors in title", "title", 1),
]


def _count(connection: Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM documents WHERE active").get)


async def _fill(database: Database, root: Path, projects: list[str]) -> None:
    folders = [root / name for name in projects] or [root]
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    limits = IngestConfig()
    pool = WorkerPool(size=2, timeout_s=limits.timeout_s, memory_mb=limits.memory_mb)
    collection_id = await database.write(partial(_add, str(root)))
    for start in range(0, len(files), _BATCH):
        part = [(str(path.relative_to(root)), path) for path in files[start : start + _BATCH]]
        jobs = [
            FileJob(path=str(path), relative_path=name, max_bytes=_MOST, max_characters=_MOST) for name, path in part
        ]
        outcomes = await asyncio.gather(*map(pool.run, jobs))
        await database.write(
            partial(_store, collection_id, [(name, o) for (name, _), o in zip(part, outcomes, strict=True)])
        )
    await pool.close()


def _add(path: str, connection: Connection) -> int:
    collections.mirror(connection, [collections.Folder(COLLECTION, path, None)], [])
    return collections.id_of(connection, COLLECTION)


def _store(collection_id: int, outcomes: Iterable[tuple[str, Outcome]], connection: Connection) -> None:
    for path, outcome in outcomes:
        if isinstance(outcome, PreparedDocument):
            writing.put(connection, collection_id, path, outcome, now=0.0)


def _stored(connection: Connection) -> list[Stored]:
    rows = connection.execute(
        "SELECT d.id, d.path, d.language, d.title, c.markdown FROM documents d JOIN content c USING (mirror_hash)"
        " WHERE d.active"
    )
    return [msgspec.convert(row, Stored) for row in rows]


def _graph(connection: Connection) -> tuple[dict[int, str], Graph, dict[str, str]]:
    stored = _stored(connection)
    paths = {each.id: each.path for each in stored}
    out: dict[str, list[str]] = {}
    into: dict[str, list[str]] = defaultdict(list)
    shown: dict[str, list[str]] = defaultdict(list)
    for document in stored:
        meant = [(each.link, links.meant(connection, each)) for each in links.outgoing(connection, document.id)]
        leading = [(link, paths[to[0].id]) for link, to in meant if len(to) == 1 and to[0].id != document.id]
        out[document.path] = sorted({to for _, to in leading})
        for to in out[document.path]:
            into[to].append(document.path)
        for to, anchor in sorted({(to, _anchor(document.text[link.start : link.end])) for link, to in leading}):
            if anchor.lower() not in _SAYS_NOTHING | {""}:
                shown[to].append(anchor)
    return paths, Graph(out, into, shown), {each.path: each.text for each in stored}


def _anchor(link: str) -> str:
    match = _SHOWN.search(link)
    return next((each.strip(" `*") for each in match.groups() if each), "") if match else ""


def _topics(paths: set[str], texts: Mapping[str, str]) -> Iterable[Topics]:
    rows = [line.split("\t") for line in (_HERE / "link_questions.tsv").read_text().splitlines()[1:]]
    for kind in ("hub", "leaf"):
        yield _judged(kind, [(question, to) for is_kind, question, to in rows if is_kind == kind], paths)
    names = [line.split("\t") for line in (_HERE / "file_name_queries.tsv").read_text().splitlines()[1:]]
    yield _judged("file names", [(query, to) for query, to in names], paths)
    yield _judged("headings", _headings(texts), paths)


def _judged(name: str, rows: Iterable[tuple[str, str]], paths: set[str]) -> Topics:
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for number, (query, to) in enumerate(rows):
        if judged := {path: 1 for path in to.split("|") if path in paths}:
            queries[str(number)], qrels[str(number)] = query, judged
    return Topics(name, queries, qrels)


def _headings(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return headings of single documents as known-item questions, to see whether links change what words find."""
    of = {path: {each.text for each in outline(text).headings} for path, text in texts.items()}
    counts = Counter(heading for headings in of.values() for heading in headings)
    single = [(h, path) for path in sorted(of) for h in sorted(of[path]) if counts[h] == 1 and 3 <= len(h.split()) <= 8]
    return random.Random(1).sample(single, min(HEADINGS, len(single)))


def _keyword(database: Database, paths: Mapping[int, str], topics: list[Topics]) -> dict[str, dict[str, Scores]]:
    def run(query: str) -> Scores:
        work = partial(lexical.search, clauses=parse_clauses(query), filters=Filters(), limit=DEPTH)
        return {paths[each.id]: each.score for each in database.submit_read(work).result().ranked}

    return _run(run, topics)


def _hybrid(
    database: Database, models: EvaluationModels, paths: Mapping[int, str], topics: list[Topics]
) -> dict[str, dict[str, Scores]]:
    dependencies = MeasuredModels(database, models).search_dependencies()
    options = HybridSettings(limit=DEPTH, expand=False, rerank=False, budget_s=UNBOUNDED_S)

    def run(query: str) -> Scores:
        result = models.run(stages.search(dependencies, parse_query(query), Filters(), options))
        return {paths[each.id]: each.score for each in result.shown()}

    return _run(run, topics)


def _run(run: Callable[[str], Scores], topics: list[Topics]) -> dict[str, dict[str, Scores]]:
    plain = str.maketrans('"*:-', "    ")  # words only: no syntax of queries
    return {each.name: {id_: run(query.translate(plain)) for id_, query in each.queries.items()} for each in topics}


def _with_anchors(index: Path, graph: Graph, column: str, times: int) -> Database:
    """Return a copy of the index in which the column of a document also has the texts of the links to it."""
    copy = index.with_name(f"{index.stem}-{column}-{times}.sqlite")
    source = Database(index, readers=1)
    source.submit_write(lambda connection: connection.execute("PRAGMA optimize").fetchall()).result()
    source.close()
    shutil.copy(index, copy)
    database = Database(copy, readers=1)
    database.submit_write(partial(_add_anchors, graph, column, times)).result()
    return database


def _add_anchors(graph: Graph, column: str, times: int, connection: Connection) -> None:
    for id_, path, language, title, text in _stored(connection):
        if shown := "\n".join(graph.shown.get(path, [])):
            terms = terms_of(language, path, title, text, "text/markdown")
            values = {"filepath": terms.filepath, "title": terms.title, "body": terms.body}
            values[column] = " ".join(
                [values[column], *[terms_of(language, "", "", shown, "text/markdown").body] * times]
            )
            connection.execute("DELETE FROM documents_fts WHERE rowid = ?", (id_,))
            connection.execute(
                "INSERT INTO documents_fts (rowid, filepath, title, body) VALUES (?, ?, ?, ?)", (id_, *values.values())
            )


def _page_rank(graph: Graph, damping: float = 0.85, rounds: int = 50) -> Scores:
    """Return PageRank (Page, Brin et al. 1999). A document without links counts as linking to all."""
    count = len(graph.out)
    rank = dict.fromkeys(graph.out, 1 / count)
    for _ in range(rounds):
        lost = sum(rank[path] for path, to in graph.out.items() if not to)
        base = (1 - damping + damping * lost) / count
        rank = {
            path: base + damping * sum(rank[each] / len(graph.out[each]) for each in graph.into.get(path, []))
            for path in graph.out
        }
    return rank


def _variants(graph: Graph) -> dict[str, Rerank]:
    degree = {path: log(1 + len(graph.into.get(path, []))) for path in graph.out}
    rank = _page_rank(graph)
    least = min(rank.values())
    authority = {path: log(value / least) for path, value in rank.items()}
    variants: dict[str, Rerank] = {}
    for weight in (0.02, 0.05, 0.1, 0.2):
        variants[f"in-links x{weight}"] = partial(_with_prior, _unit(degree), weight, 99)
        variants[f"PageRank x{weight}"] = partial(_with_prior, _unit(authority), weight, 99)
        variants[f"in-links x{weight}, up to 3 words"] = partial(_with_prior, _unit(degree), weight, 3)
    for share in (0.05, 0.1, 0.2):
        variants[f"linked from the best 10, {share}"] = partial(_with_neighbours, graph.out, share)
        variants[f"linking to the best 10, {share}"] = partial(_with_neighbours, graph.into, share)
    return variants


def _unit(values: Scores) -> Scores:
    most = max(values.values())
    return {path: value / most for path, value in values.items()}


def _with_prior(prior: Scores, weight: float, most_words: int, scores: Scores, query: str) -> Scores:
    if len(query.split()) > most_words:
        return scores
    return {path: score * (1 + weight * prior[path]) for path, score in scores.items()}


def _with_neighbours(to: Mapping[str, list[str]], share: float, scores: Scores, _: str) -> Scores:
    best = sorted(scores, key=lambda path: (-scores[path], path))[:10]
    found = dict(scores)
    for path in best:
        for other in to.get(path, []):
            found[other] = max(found.get(other, 0.0), scores.get(other, 0.0) + share * scores[path])
    return found


def _report(found: Mapping[str, dict[str, dict[str, Scores]]], topics: list[Topics], graph: Graph) -> None:
    for each in topics:
        for mode in ("keyword", "hybrid"):
            if mode not in found:
                continue
            base = found[mode][each.name]
            before = _score(each, base)
            mean = sum(before.values()) / len(before)
            print(f"\n{mode}, {each.name}: {len(before)} questions, nDCG@10 {mean:.4f}")
            rankings = {
                name: {id_: rerank(base[id_], each.queries[id_]) for id_ in base}
                for name, rerank in _variants(graph).items()
            }
            rankings |= {
                name.removeprefix(f"{mode} "): of[each.name]
                for name, of in found.items()
                if name.startswith(f"{mode} ")
            }
            for name, ranking in rankings.items():
                after = _score(each, ranking)
                changes = [after[id_] - before[id_] for id_ in before]
                low, high = interval(np.asarray(changes), 10_000, 0.95, seed=0)
                better, worse = sum(c > 1e-9 for c in changes), sum(c < -1e-9 for c in changes)
                sure = " " if low <= 0 <= high else "*"
                print(f"  {name:34} {fmean(changes):+.4f} [{low:+.4f}, {high:+.4f}]{sure} {better}+ {worse}-")


def _score(topics: Topics, scores: Mapping[str, Scores]) -> Scores:
    run = {id_: in_order(list(of.items()))[:DEPTH] for id_, of in scores.items()}
    return measure(topics.qrels, run).per_query


if __name__ == "__main__":
    main()
