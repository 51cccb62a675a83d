"""Give every chunk of a benchmark's index a vector without embedding it, which would take hours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.nearest import Maker, like_real, of_sentences
from benchmarks.throwaway import Throwaway
from gnod.config.model import Config, ModelsConfig
from gnod.models.presets import uri_for
from gnod.store.database import Connection, Database
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import Piece

_BLOCK = 500


def configure(daemon: Throwaway, models: Path, **roles: str) -> None:
    """Restart the daemon with the preset `mini` and other models, and without embedding. `models` is a cache folder
    with them."""
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
    """Store a vector for every chunk of a collection while the daemon is stopped. Returns the number of chunks."""
    stop(daemon)
    uri = uri_for(Config(models=ModelsConfig(preset="mini")), "embed")
    assert uri is not None
    make = maker(1)
    database = Database(daemon.folder / "data" / "index-default.sqlite")
    hashes = [
        row[0]
        for row in database.submit_read(lambda c: list(c.execute("SELECT DISTINCT embed_hash FROM chunks"))).result()
    ]
    for low in range(0, len(hashes), _BLOCK):
        database.submit_write(lambda c, part=hashes[low : low + _BLOCK]: _put(c, uri, make, part)).result()  # type: ignore[misc]
    database.submit_write(lambda c: vectors.serve(c, collection, uri)).result()
    database.close()
    daemon.gnoctl("daemon", "start")
    return len(hashes)


def maker(seed: int) -> Maker:
    """Return what makes vectors: mixtures of the sentences in GNOD_VECTORS, or of the same shape."""
    return of_sentences(seed) if "GNOD_VECTORS" in os.environ else like_real(seed)


def stop(daemon: Throwaway) -> None:
    daemon.hang_up()
    daemon.gnoctl("daemon", "stop")


def _put(connection: Connection, uri: str, make: Maker, hashes: Sequence[str]) -> None:
    rows = make(len(hashes))
    pieces = {each: [Piece(np.asarray(row), 0, None, 0, None)] for each, row in zip(hashes, rows, strict=True)}
    vectors.put(connection, uri, pieces)
