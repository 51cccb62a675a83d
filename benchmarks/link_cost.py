"""Measure the cost of links when dev-docs is indexed: processor time of converters and writer, with and without links.
Prints figures.

    .venv/bin/python -m benchmarks.link_cost [ROUNDS]

Rounds with and without links alternate in one process, so that both run under the same load. In a daemon, the start of
its workers adds to both.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from unittest.mock import patch

import msgspec

from benchmarks.throwaway import SHARED, require_shared
from gnod.ingest.formats import convert
from gnod.ingest.prepare import prepare
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.keyword_index import fulltext
from gnod.store.tables.records import PreparedDocument, Terms

_BATCH = 100  # documents per transaction
_MOST_CHARACTERS = 10_000_000


def main(rounds: int) -> None:
    require_shared()
    root = SHARED / "corpora" / "dev-docs"
    files = [(str(path.relative_to(root)), path.read_bytes()) for path in sorted(root.rglob("*")) if path.is_file()]
    _index(files)  # warm
    took: dict[bool, list[float]] = {True: [], False: []}
    for number in range(2 * rounds):
        is_with = number % 4 in (0, 3)
        with _links(is_with):
            took[is_with].append(_index(files))
    with_links, without = median(took[True]), median(took[False])
    print(f"{len(files):,} files, medians of {rounds} rounds: {without:.2f} s without links, {with_links:.2f} s with")
    print(f"{with_links / without:.3f} x")


@contextmanager
def _links(is_with: bool) -> Iterator[None]:
    if is_with:
        yield
        return
    with (
        patch("gnod.ingest.prepare.extract", lambda *_, **__: ([], [])),
        patch("gnod.store.links.links.put", lambda *_: None),
    ):
        yield


def _index(files: list[tuple[str, bytes]]) -> float:
    """Return the seconds of user and system time."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "index.sqlite", readers=1)
        collection_id = database.submit_write(_add_collection).result()

        def put(connection: Connection, part: list[tuple[str, PreparedDocument]]) -> None:
            terms: dict[int, Terms] = {}
            for path, each in part:
                writing.put(connection, collection_id, path, each, now=0.0, terms=terms)
            fulltext.store(connection, terms)

        for start in range(0, len(files), _BATCH):
            prepared = [(path, _sent(_prepared(path, data))) for path, data in files[start : start + _BATCH]]
            database.submit_write(partial(put, part=prepared)).result()
        database.close()
    return time.process_time() - started


def _prepared(path: str, data: bytes) -> PreparedDocument:
    converted = convert(data, path, max_characters=_MOST_CHARACTERS)
    return prepare(converted, relative_path=path, source_hash="0" * 64, stat=None)


def _sent(document: PreparedDocument) -> PreparedDocument:
    """Return the document as the daemon receives it from a worker."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(document), type=PreparedDocument)


def _add_collection(connection: Connection) -> int:
    collections.mirror(connection, [collections.Folder("docs", "/docs", None)], [])
    return collections.id_of(connection, "docs")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
