"""Measure the memory of a daemon with a large number of documents, each with a vector. Prints figures.

    .venv/bin/python -m benchmarks.resident MODELS [--documents N] [--folder FOLDER]

MODELS is a cache folder with the models of the preset `mini` (`gnoctl models path`). The documents are recombined
(`recombined.py`) and written into the index without files; their vectors are synthetic. This takes minutes, so an index
in FOLDER is reused.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import psutil

from benchmarks import recombined, synthetic_vectors
from benchmarks.lexical_scale import Index, recombined_documents
from benchmarks.throwaway import Throwaway, require_shared

_QUERIES = 60
_CONFIG = 'version: "1.0"\nmodels:\n  preset: mini\ncollections:\n  - name: notes\n    path: {folder}/not-there\n'


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(words)
    require_shared()
    with nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory(dir="/tmp") as folder:
        daemon = Throwaway(Path(folder))
        index = daemon.folder / "data" / "index-default.sqlite"
        if not index.exists():
            _build(daemon, index, options.models.resolve(), options.documents)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {index.stat().st_size / 1e6:,.0f} MB")
        daemon.gnoctl("daemon", "start")
        try:
            _measure(daemon)
        finally:
            daemon.hang_up()
            daemon.gnoctl("daemon", "stop")
    return 0


def _build(daemon: Throwaway, path: Path, models: Path, count: int) -> None:
    for name in ("config", "data", "cache"):
        (daemon.folder / name).mkdir(parents=True)
    (daemon.folder / "cache" / "models").symlink_to(models)
    (daemon.folder / "config" / "index.yml").write_text(_CONFIG.format(folder=daemon.folder))
    index = Index(path)
    index.fill(recombined_documents(count, texts=True))
    synthetic_vectors.store(index.database, "notes")
    index.database.close()


def _measure(daemon: Throwaway) -> None:
    process = psutil.Process(int(daemon.call("daemon.status")["pid"]))
    _print(process, "started")
    queries = recombined.questions(_QUERIES)
    for method in ("search.lexical", "search.vector", "search.query"):
        for query in queries:
            daemon.call(method, query=query)
        _print(process, f"after {method}")


def _print(process: psutil.Process, when: str) -> None:
    """Print the resident memory. The system counts vectors as shared memory; pages of files can be read again."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    kilobytes = {line.split()[0]: int(line.split()[1]) for line in lines if line.endswith("kB")}
    figures = {
        "resident": kilobytes["VmRSS:"],
        "of its own": kilobytes["RssAnon:"],
        "vectors": kilobytes["RssShmem:"],
        "files": kilobytes["RssFile:"],
        "at most resident": kilobytes["VmHWM:"],
    }
    print(f"{when}: " + ", ".join(f"{name} {value / 1000:.0f} MB" for name, value in figures.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
