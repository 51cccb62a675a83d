"""Measure publishing a collection: 20,000 embedded documents, and then edits. Prints figures.

    .venv/bin/python -m benchmarks.publishing [documents] [edits]

The engine is milvus-lite as a separate server on this machine, so both share the processor. Texts have a kilobyte each,
in sentences of a fixed vocabulary; vectors are random. An edit is visible when a reader that polls the engine has the
new version. The file system and the converters are not part of the figures.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from itertools import zip_longest
from os import getloadavg
from pathlib import Path
from statistics import median

import numpy as np
import psutil

from benchmarks.milvus_lite import connect_to
from benchmarks.throwaway import percentile
from gnod.config.shared_addresses import parse
from gnod.ingest.formats import Converted
from gnod.ingest.prepare import prepare
from gnod.shared.engine import Restriction, key_of
from gnod.shared.ledger import Ledger
from gnod.shared.milvus.engine import MilvusEngine
from gnod.shared.models import Model
from gnod.shared.publishing import Publisher
from gnod.shared.weights import term_id
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from gnod.store.keyword_index import fulltext
from gnod.store.tables.records import FileStat, PreparedDocument, Terms
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import StoredPiece

URI = "hf:bench/model"
DIMENSIONS = 384
WORDS = 40_000
WORDS_OF_A_DOCUMENT = 150
BATCH = 500
_SERVER = "import sys; from milvus_lite.cmdline import main; sys.exit(main(sys.argv[1:]))"


def main(count: int, edits: int) -> None:
    with tempfile.TemporaryDirectory(prefix="gnod-") as folder:
        database = Database(Path(folder, "index.sqlite"))
        server, port = _server(Path(folder, "milvus"))
        try:
            _fill(database, count)
            _measure(database, Path(folder), port, psutil.Process(server.pid), count, edits)
        finally:
            server.kill()
            server.wait()
            database.close()


def _measure(database: Database, folder: Path, port: int, server: psutil.Process, count: int, edits: int) -> None:
    engine = MilvusEngine(connect_to(parse(f"milvus://127.0.0.1:{port}/team/bench"), timeout_s=60))
    ledger = Ledger(folder / "ledger.sqlite")
    publisher = Publisher(ledger, engine, "notes", Model(URI, URI, None), "benchmark")
    connection = database.open_reader()
    started, used, served = time.perf_counter(), time.process_time(), _processor(server)
    publisher.begin(connection)
    _publish(publisher, connection)
    took, own, its = time.perf_counter() - started, time.process_time() - used, _processor(server) - served
    print(f"{count:,} documents: {took:.1f} s (target <= 90 s)")
    print(f"  processor: {own:.1f} s in the daemon, {its:.1f} s in the engine; load {getloadavg()[0]:.1f}")
    print(f"  {engine.count()}")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and "milvus" in path.parts)
    print(f"  the engine has {size / 1e6:.0f} MB, the ledger {(folder / 'ledger.sqlite').stat().st_size / 1e6:.0f} MB")
    print(f"  resident {psutil.Process().memory_info().rss / 1e6:.0f} MB")
    reader = MilvusEngine(connect_to(parse(f"milvus://127.0.0.1:{port}/team/bench"), timeout_s=60))
    started = time.perf_counter()
    reader.by_words({term_id("word1"): 1.0}, Restriction(), 3)
    print(f"  the first search: {time.perf_counter() - started:.1f} s")
    used, served = time.process_time(), _processor(server)
    times = [_edit(database, publisher, connection, reader, number) for number in range(edits)]
    print(f"an edit: median {median(times):.2f} s, p95 {percentile(times, 95):.2f} s (target <= 3 s)")
    own, its = (time.process_time() - used) / edits, (_processor(server) - served) / edits
    print(f"  processor for each: {own:.3f} s in the daemon, {its:.3f} s in the engine")
    started = time.perf_counter()
    publisher.compare_again()
    publisher.follow(connection)
    print(f"comparing all: {time.perf_counter() - started:.2f} s")
    engine.close()
    reader.close()
    ledger.close()


def _processor(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


def _edit(database: Database, publisher: Publisher, connection: Connection, reader: MilvusEngine, number: int) -> float:
    """Return the seconds from the commit until a search finds the new word."""
    path, word = f"folder/{37 * number}.md", f"edited{number}x"
    _store(database, {path: f"# Edited {number}\n\nThis has the word {word}."})
    started = time.perf_counter()
    _publish(publisher, connection)
    while key_of(path) not in {each.key for each in reader.by_words({term_id(word): 1.0}, Restriction(), 3)}:
        time.sleep(0.01)
    return time.perf_counter() - started


def _publish(publisher: Publisher, connection: Connection) -> None:
    publisher.follow(connection)
    while publisher.step(connection):
        pass


def _fill(database: Database, count: int) -> None:
    random = np.random.default_rng(1)
    for first in range(0, count, BATCH):
        ranks = random.zipf(1.2, (BATCH, WORDS_OF_A_DOCUMENT)) % WORDS
        texts = {
            f"folder/{first + row}.md": f"# Document {first + row}\n\n"
            + " ".join(f"word{rank:x}" for rank in ranks[row])
            for row in range(min(BATCH, count - first))
        }
        _store(database, texts)
        database.submit_write(lambda connection: _embed(connection, random)).result()


def _embed(connection: Connection, random: np.random.Generator) -> None:
    pending = vectors.pending(connection, URI, ("notes",), 10_000)
    made = {each.embed_hash: [StoredPiece(random.standard_normal(DIMENSIONS).astype(np.float32))] for each in pending}
    vectors.put(connection, URI, made)


def _store(database: Database, texts: dict[str, str]) -> None:
    def work(connection: Connection) -> None:
        if not collections.all_collections(connection):
            collections.mirror(connection, [Folder("notes", "/data/notes", None)], [])
        id_ = collections.id_of(connection, "notes")
        terms: dict[int, Terms] = {}
        for path, text in texts.items():
            writing.put(connection, id_, path, _prepared(path, text), now=time.time(), terms=terms)
        fulltext.store(connection, terms)

    database.submit_write(work).result()


def _prepared(path: str, text: str) -> PreparedDocument:
    converted = Converted(markdown=text, mime="text/markdown", converter="markdown/1", keeps_lines=True)
    stat = FileStat(len(text), time.time_ns(), 1)
    hash_ = key_of(path + text)
    return prepare(converted, relative_path=path, source_hash=hash_, stat=stat, language="en")


def _server(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    arguments = ["server", "--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen([sys.executable, "-c", _SERVER, *arguments], stdout=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return server, port


if __name__ == "__main__":
    main(*(int(given or default) for given, default in zip_longest(sys.argv[1:], (20_000, 40))))
