"""Measure the threshold below which hits are only loosely similar (gnod.search.ranking.fusion). Prints figures.

    python -m benchmarks.loose_hits [--model URI] [--other NAME,NAME] FOLDER NAME…

For the first 30 hits of each query, it prints the share of the relevant documents above the threshold. For queries from
`--other` collections, which must be about other subjects so that no document is an answer, it prints the share of all
hits above it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

from benchmarks.throwaway import cached_model
from gnod import paths
from gnod.errors import GnoError
from gnod.evaluate.dataset import Dataset, read
from gnod.evaluate.index import Index, temporary_index
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.report import ProgressLine
from gnod.evaluate.searching import MeasuredModels, search_service
from gnod.models.files import ModelFiles
from gnod.search.hybrid.stages import HybridSettings
from gnod.search.results import Results, SearchRequest
from gnod.search.service import SearchService

HITS = 30
QUERIES = 100


def main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    others = [read(options.folder / name) for name in options.other.split(",") if name]
    progress = ProgressLine(sys.stderr, quiet=not sys.stderr.isatty())
    print(f"{'above the threshold':<20}{'relevant':>10}{'of':>6}{'  others':>10}{'of':>6}{'  no answer':>12}{'of':>6}")
    with EvaluationModels(options.model, ModelFiles(paths.resolve(None).models_dir)) as models:
        for name in options.names:
            dataset = read(options.folder / name)
            with temporary_index(dataset, progress, models) as index:
                progress.clear()
                _print(dataset, index, others)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", metavar="URI", default=f"file:{cached_model()}")
    parser.add_argument("--other", metavar="NAME,NAME", default="")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+", metavar="NAME")
    return parser


def _print(dataset: Dataset, index: Index, others: Iterable[Dataset]) -> None:
    searches = search_service(index, MeasuredModels(index.database, index.models))
    relevant: list[bool] = []
    rest: list[bool] = []
    for id_, query in islice(dataset.queries.items(), QUERIES):
        for path, is_above in _above(index, searches, query).items():
            (relevant if dataset.qrels[id_].get(path, 0) else rest).append(is_above)
    elsewhere = [query for other in others for query in islice(other.queries.values(), QUERIES // 5)]
    unanswered = [is_above for query in elsewhere for is_above in _above(index, searches, query).values()]
    columns = zip((relevant, rest, unanswered), (10, 10, 12), strict=True)
    print(
        f"{dataset.name:<20}" + "".join(f"{_share(each):>{width}}{len(each):>6}" for each, width in columns), flush=True
    )


def _above(index: Index, searches: SearchService, query: str) -> Mapping[str, bool]:
    """Return whether each hit is above the threshold, by document id."""

    async def found() -> Results:
        return await searches.hybrid(SearchRequest(query, limit=HITS, passages=0), HybridSettings(limit=HITS))

    return {index.ids[hit.ranked.id]: not hit.ranked.is_loose for hit in index.loop.run(found()).hits}


def _share(values: list[bool]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "–"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except GnoError as error:
        sys.exit(error.message)
