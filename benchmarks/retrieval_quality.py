"""Measure search quality on the shared test collections. Prints it with targets and the results of other libraries.

    python benchmarks/retrieval_quality.py [--mode keyword|vector|hybrid] [--model URI] [FOLDER] [NAME…]

FOLDER contains the collections (default: ../shared/collections beside the repository). The modes vector and hybrid need
a model that `gnoctl models pull` has fetched (default: the model of the preset `mini`), and embed ten texts per second.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from gnod import paths
from gnod.errors import EXIT_RUNTIME, EXIT_VALIDATION, GnoError
from gnod.evaluate.dataset import read
from gnod.evaluate.evaluation import Summary, evaluate
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.report import ProgressLine
from gnod.models.files import ModelFiles
from gnod.presets import PRESETS

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "collections"

# Targets for nDCG@10. In the mode vector: at most 0.01 below sentence-transformers with the same weights.
# xquad-qde-den has German questions and English pages, and is for the preset `mini-multilingual`.
TARGETS = {
    "keyword": {
        "scifact": 0.68,
        "cranfield": 0.51,
        "cacm": 0.51,
        "cosqa-dev": 0.36,
        "claude-docs-rag": 0.69,
        "xquad-de": 0.93,
        "xquad-hi": 0.94,
        "jsquad-ja-valid": 0.93,
        "gno-cjk": 0.95,
        "qmd-eval": 0.95,
    },
    "vector": {"cacm": 0.42, "cranfield": 0.493, "scifact": 0.644},
    "hybrid": {"claude-docs-rag": 0.775, "cacm": 0.595, "cranfield": 0.56, "cosqa-dev": 0.50, "scifact": 0.735},
}
MULTILINGUAL_TARGETS = {"xquad-qde-den": 0.92}

# nDCG@10 of other libraries, from the README of the collections: bm25s (Lucene's formula, k1 1.2, b 0.75),
# all-MiniLM-L6-v2 on PyTorch, and their fusion by rank (RRF).
BASELINES = {
    "scifact": (0.679, 0.654, 0.714),
    "cranfield": (0.511, 0.503, 0.555),
    "cacm": (0.516, 0.430, 0.562),
    "claude-docs-rag": (0.702, 0.613, 0.736),
    "cosqa-dev": (0.341, 0.603, 0.492),
}


def main(words: list[str]) -> int:
    """Print one line per collection. Return the exit status: 2 if a target is missed or a collection is absent."""
    options = _parser().parse_args(words)
    if not options.folder.is_dir():
        print(f"no test collections: the folder {options.folder} does not exist", file=sys.stderr)
        return EXIT_VALIDATION
    uri: str = options.model or PRESETS["mini"]["embed"] or ""
    targets = TARGETS[options.mode]
    if "e5" in uri and options.mode == "vector":
        targets = MULTILINGUAL_TARGETS
    print(f"{'nDCG@10':<16}{options.mode:>8}{'target':>8}  {'':<5}{'BM25':>7}{'MiniLM':>8}{'RRF':>7}{'p95 ms':>8}")
    files = ModelFiles(paths.resolve(None).models_dir)
    with EvaluationModels(uri, files) if options.mode != "keyword" else contextlib.nullcontext() as models:
        reached = [
            _line(options.folder / name, name, targets.get(name, 0.0), options.mode, models)
            for name in options.names or targets
        ]
    print(f"{sum(reached)} of {len(reached)} reached")
    return 0 if all(reached) else EXIT_RUNTIME


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=tuple(TARGETS), default="keyword")
    parser.add_argument("--model", metavar="URI")
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser


def _line(folder: Path, name: str, target: float, mode: str, models: EvaluationModels | None) -> bool:
    """Print the line of a collection. Return whether it reaches its target."""
    if not folder.is_dir():
        print(f"{name:<16}  absent: {folder}")
        return False
    summary = _measure(folder, mode, models)
    figure = summary.measures["nDCG@10"]
    word = "OK" if figure >= target else "MISS"
    others = "".join(f"{other:{width}.3f}" for other, width in zip(BASELINES.get(name, ()), (7, 8, 7), strict=False))
    latency = summary.latency_ms["p95"]
    print(f"{name:<16}{figure:8.4f}{target:8.3f}  {word:<5}{others:<22}{latency:8.1f}", flush=True)
    return figure >= target


def _measure(folder: Path, mode: str, models: EvaluationModels | None) -> Summary:
    progress = ProgressLine(sys.stderr, quiet=not sys.stderr.isatty())
    try:
        [run] = evaluate(read(folder), [mode], progress, models=models)
        return run.summary
    finally:
        progress.clear()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except GnoError as error:
        sys.exit(error.message)
    except KeyboardInterrupt:
        sys.exit(130)
