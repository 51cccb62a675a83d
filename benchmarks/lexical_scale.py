"""Measure keyword search in a large index, with postings and with only the full-text table. Prints figures.

    python -m benchmarks.lexical_scale DOCUMENTS [--table] [--tantivy] [--collections]

Prints the processor time of queries (the best of three): questions, queries of one to four words, keystrokes, and
surveys for hybrid search. Also prints the time of building, and the size on disk and in memory. The documents are
recombined (`recombined.py`), and stored in this process without files and texts. `--tantivy` also indexes the terms
with tantivy, which must be installed, and times its best ten hits. `--collections` compares the results of the judged
collections with and without postings instead.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks import recombined
from benchmarks.bare_tantivy import BareTantivy, is_installed
from benchmarks.throwaway import SHARED
from gnod.analysis.terms import VERSION, Analyzer
from gnod.errors import QuerySyntaxError
from gnod.ingest.text.document_terms import terms_of
from gnod.search.keyword import lexical
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from gnod.store.keyword_index import fulltext
from gnod.store.keyword_index.postings import building, updating
from gnod.store.keyword_index.postings.feed import Feed
from gnod.store.keyword_index.postings.versions import Postings, folder_of
from gnod.store.keyword_index.postings.view import attach, in_one_view
from gnod.store.tables.filters import Filters
from gnod.store.tables.records import Chunk, PreparedDocument, Terms

_BATCH = 1000
_PERFORM = partial(building.perform, analyse=terms_of)
_QUERIES = 100
_COLLECTIONS = ("scifact", "cranfield", "cacm", "claude-docs-rag", "squad-en")


# path, title, text, terms
Document = tuple[str, str, str, Terms]


class Index:
    """A database with postings, filled in this process."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, readers=1, use_knn=False)
        self.postings = Postings(folder_of(path), VERSION)
        self._feed = Feed()
        self._own = self.database.open_reader()
        self.database.follow(self._feed)
        self._collection = self.database.submit_write(_add_collection).result()
        self.seconds = {"store": 0.0, "postings": 0.0}

    def add(self, batch: Sequence[Document]) -> None:
        """Store documents."""
        started = time.process_time()
        self.database.submit_write(partial(_store, self._collection, batch)).result()
        stored = time.process_time()
        while self._step() or updating.compact(self.postings, _PERFORM):
            pass
        self.seconds["store"] += stored - started
        self.seconds["postings"] += time.process_time() - stored

    def fill(self, documents: Iterable[Document]) -> None:
        rest = iter(documents)
        while batch := list(islice(rest, _BATCH)):
            self.add(batch)

    def reader(self, *, with_postings: bool) -> Connection:
        connection = self.database.open_reader()
        attach(connection, self.postings if with_postings else None)
        connection.execute("BEGIN")
        return connection

    def _step(self) -> bool:
        return updating.step(self._own, self.postings, self._feed, _PERFORM)


def _add_collection(connection: Connection) -> int:
    collections.mirror(connection, [Folder("notes", "/notes", None)], [])
    return collections.id_of(connection, "notes")


def _store(collection: int, batch: Sequence[Document], connection: Connection) -> None:
    terms: dict[int, Terms] = {}
    for path, title, text, of_document in batch:
        writing.put(connection, collection, path, _prepared(path, title, text, of_document), now=1.0, terms=terms)
    fulltext.store(connection, terms)


def _prepared(path: str, title: str, text: str, terms: Terms) -> PreparedDocument:
    digest = sha256(f"{path}\n{text}".encode()).hexdigest()
    return PreparedDocument(
        source_hash=digest,
        stat=None,
        mime="text/markdown",
        converter="markdown/1",
        title=title,
        own_title=title,
        language="en",
        metadata={},
        tags=[],
        line_map=[],
        markdown=text,
        mirror_hash=digest,
        chunks=[Chunk(0, len(text), 1, text.count("\n"), "", digest)] if text else [],
        terms=terms,
    )


def recombined_documents(count: int, *, texts: bool = False) -> Iterator[Document]:
    """Yield documents, with their text if `texts`. Their terms are the terms of their sentences; each sentence is
    analysed once."""
    analyzer, rng = Analyzer("en"), random.Random(1)
    sentences = [(len(each) + 1, each, analyzer.stream(each)) for each in recombined.all_sentences()]
    for number in range(count):
        parts: list[tuple[int, str, str]] = []
        while sum(length for length, _, _ in parts) < recombined.CHARACTERS:
            parts.append(rng.choice(sentences))
        title = " ".join(parts[0][1].split()[:6]).rstrip(".,:;")
        body = " ".join([analyzer.stream(title), *(terms for _, _, terms in parts), "note", str(number)])
        path = f"{number // 500:04d}/{number:07d}.md"
        text = f"# {title}\n\n{' '.join(sentence for _, sentence, _ in parts)}\n" if texts else ""
        yield path, title, text, Terms(analyzer.stream(path), analyzer.stream(title), body)


def measure(queries: Sequence[str], search: Callable[[str], object]) -> str:
    best = [min(_seconds(search, query) for _ in range(3)) * 1000 for query in queries]
    return f"{np.median(best):6.2f} {np.percentile(best, 95):6.2f}"


def _seconds(search: Callable[[str], object], query: str) -> float:
    started = time.process_time()
    search(query)
    return time.process_time() - started


def _search(connection: Connection, query: str) -> object:
    return lexical.search(connection, parse_clauses(query), Filters(), limit=10)


def _survey(connection: Connection, query: str) -> object:
    return lexical.survey(connection, parse_clauses(query), Filters(), depth=2000)


def _keystroke(connection: Connection, query: str) -> object:
    try:
        return lexical.search(connection, parse_clauses(query), Filters(), limit=10, prefix_last_term=True)
    except QuerySyntaxError:
        return None


def report(index: Index, name: str, *, with_postings: bool) -> None:
    connection = index.reader(with_postings=with_postings)

    def timed(queries: Sequence[str], search: Callable[[Connection, str], object]) -> str:
        return measure(queries, lambda query: in_one_view(connection, lambda c: search(c, query)))

    questions, few = recombined.questions(_QUERIES), recombined.few_words(_QUERIES)
    typed = [query[:end] for query in few[:20] for end in range(3, len(query) + 1)]
    print(f"{name:10} ms of processor time: median, 95 %")
    print("  questions ", timed(questions, _search))
    print("  few words ", timed(few, _search))
    print("  keystrokes", timed(typed, _keystroke))
    print("  survey    ", timed(questions, _survey))
    connection.execute("COMMIT")


def report_tantivy(tantivy: BareTantivy) -> None:
    print("tantivy    ms of processor time: median, 95 %")
    print("  questions ", measure(recombined.questions(_QUERIES), tantivy.search))
    print("  few words ", measure(recombined.few_words(_QUERIES), tantivy.search))


def _also_in(tantivy: BareTantivy, stored: Iterable[Document]) -> Iterator[Document]:
    for number, document in enumerate(stored):
        tantivy.add(number, document[3].title, document[3].body)
        yield document


def scale(count: int, *, table: bool, beside_tantivy: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="gnod-bench-", dir="/tmp") as folder:
        index = Index(Path(folder, "index.sqlite"))
        tantivy = BareTantivy(Path(folder, "tantivy")) if beside_tantivy else None
        index.fill(_also_in(tantivy, recombined_documents(count)) if tantivy else recombined_documents(count))
        size = sum(path.stat().st_size for path in index.postings.folder.iterdir())
        newest = index.postings.newest
        print(f"{count} documents, {len(newest.parts) if newest else 0} segments, {size / count:.0f} bytes each")
        print(f"processor time: stored {index.seconds['store']:.0f} s, postings {index.seconds['postings']:.0f} s")
        report(index, "postings", with_postings=True)
        if tantivy:
            tantivy.finish()
            report_tantivy(tantivy)
        if table:
            report(index, "table", with_postings=False)
        print(f"resident at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
        index.database.close()


def compare_collections() -> None:
    """Count the differences between the results of judged queries; scores may differ by rounding."""
    for name in _COLLECTIONS:
        with tempfile.TemporaryDirectory(prefix="gnod-bench-", dir="/tmp") as folder:
            index = Index(Path(folder, "index.sqlite"))
            lines = [(line.get("title", ""), line["text"]) for line in _lines(name, "corpus.jsonl")]
            named = [(f"{number}.md", title, text) for number, (title, text) in enumerate(lines)]
            index.add(
                [(path, title, "", terms_of("en", path, title, text, "text/markdown")) for path, title, text in named]
            )
            both = index.reader(with_postings=True), index.reader(with_postings=False)
            queries = [line["text"] for line in _lines(name, "queries.jsonl")]
            differences = sum(_ranking(both[0], query) != _ranking(both[1], query) for query in queries)
            print(f"{name}: {len(named)} documents, {len(queries)} queries; other documents or scores: {differences}")
            index.database.close()


def _ranking(connection: Connection, query: str) -> object:
    try:
        found = lexical.search(connection, parse_clauses(query), Filters(), limit=100)
    except QuerySyntaxError:
        return None
    return found.total, sorted((-round(each.score, 9), each.id) for each in found.ranked[:10])


def _lines(collection: str, name: str) -> list[dict[str, str]]:
    text = (SHARED / "collections" / collection / name).read_text()
    return [json.loads(line) for line in text.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=int, nargs="?", default=200_000)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--tantivy", action="store_true")
    parser.add_argument("--collections", action="store_true")
    options = parser.parse_args()
    if options.tantivy and not is_installed():
        parser.error("--tantivy compares with tantivy, which is not installed: `pip install tantivy`")
    if options.collections:
        compare_collections()
    else:
        scale(options.documents, table=options.table, beside_tantivy=options.tantivy)


if __name__ == "__main__":
    main()
