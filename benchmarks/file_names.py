"""Measure how well `query` finds a file by the words of its name. Prints figures.

.venv/bin/python -m benchmarks.file_names [--model MODEL.gguf]

The queries in file_name_queries.tsv resemble those of people who know the file. They were written from the list of
files of dev-docs, without reading the texts. With a model, embedding takes about half an hour on two cores.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.throwaway import SHARED, Throwaway, require_shared, throwaway

_QUERIES = Path(__file__).with_name("file_name_queries.tsv")
_DEEP = 100


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, help="embedding model")
    parser.add_argument("--show", action="store_true", help="print the queries whose file is not first")
    options = parser.parse_args()
    require_shared()
    model = f"file:{options.model.resolve()}" if options.model else "none"
    roles = {"embed": model, "expand": "none", "rerank": "none", "answer": "none"}
    lines = "".join(f'  {role}: "{uri}"\n' for role, uri in roles.items())
    with throwaway(f'version: "1.0"\nmodels:\n{lines}') as daemon:
        daemon.add(SHARED / "corpora" / "dev-docs", "docs")
        if options.model:
            daemon.gnoctl("embed")
        ranks = {query: _rank(daemon, query, paths) for query, paths in _queries()}
    if options.show:
        for query, rank in ranks.items():
            print("" if rank == 1 else f"{rank or '-'}\t{query}\n", end="")
    found = [1 / rank if rank else 0.0 for rank in ranks.values()]
    print(f"{len(found)} queries, RR {sum(found) / len(found):.3f}, S@1 {_share(found, 1)}, S@5 {_share(found, 5)}")


def _queries() -> list[tuple[str, set[str]]]:
    rows = (line.split("\t") for line in _QUERIES.read_text().splitlines()[1:])
    return [(query, set(paths.split("|"))) for query, paths in rows]


def _rank(daemon: Throwaway, query: str, paths: set[str]) -> int | None:
    hits = daemon.call("search.query", query=query, limit=_DEEP)["hits"]
    return next((hit["rank"] for hit in hits if hit["path"] in paths), None)


def _share(found: list[float], depth: int) -> str:
    return f"{sum(rr >= 1 / depth for rr in found) / len(found):.2f}"


if __name__ == "__main__":
    main()
