"""Store a synthetic vector for each chunk of a benchmark's index, because embedding would take hours."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.nearest import Maker, like_real, of_sentences
from benchmarks.throwaway import Throwaway
from gnod.config.model import Config, ModelsConfig
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import StoredPiece

_BLOCK = 10_000


def configure(daemon: Throwaway, models: Path, **roles: str) -> None:
    """Restart the daemon without embedding, with the preset `mini` and other models. `models` is a cache folder with
    the models."""
    daemon.gnoctl("pause")
    stop(daemon)
    cache = daemon.folder / "cache"
    cache.mkdir(exist_ok=True)
    (cache / "models").symlink_to(models)
    lines = "".join(f"  {role}: {uri}\n" for role, uri in roles.items())
    config = daemon.folder / "config" / "index.yml"
    config.parent.mkdir(exist_ok=True)
    known = config.read_text() if config.exists() else 'version: "1.0"\n'
    config.write_text(f"{known}models:\n  preset: mini\n{lines}")
    daemon.gnoctl("daemon", "start")


def embed(daemon: Throwaway, collection: str) -> int:
    """Store a vector for each chunk of a collection while the daemon is stopped. Return the number of chunks."""
    stop(daemon)
    database = Database(daemon.folder / "data" / "index-default.sqlite")
    count = store(database, collection)
    database.close()
    daemon.gnoctl("daemon", "start")
    daemon.wait_for_postings()
    return count


def store(database: Database, collection: str) -> int:
    """Store a vector of the preset's model for every chunk. Returns their number."""
    uri = Config(models=ModelsConfig(preset="mini")).model_for("embed")
    assert uri is not None
    make, last, count = maker(1), "", 0

    def put(connection: Connection) -> list[str]:
        statement = "SELECT DISTINCT embed_hash FROM chunks WHERE embed_hash > ? ORDER BY embed_hash LIMIT ?"
        hashes = [str(each) for (each,) in connection.execute(statement, (last, _BLOCK))]
        vectors.put(
            connection, uri, {each: [StoredPiece(row)] for each, row in zip(hashes, make(len(hashes)), strict=True)}
        )
        return hashes

    while hashes := database.submit_write(put).result():
        last, count = hashes[-1], count + len(hashes)
    database.submit_write(lambda connection: vectors.serve(connection, collection, uri)).result()
    return count


def maker(seed: int) -> Maker:
    """Return a maker of vectors: mixtures of the sentences in GNOD_VECTORS, or synthetic vectors of the same shape."""
    return of_sentences(seed) if "GNOD_VECTORS" in os.environ else like_real(seed)


def stop(daemon: Throwaway) -> None:
    daemon.hang_up()
    daemon.gnoctl("daemon", "stop")
