"""Measure search on the shared test collections, beside what was to be reached and what others reach.

    python benchmarks/retrieval_quality.py [FOLDER] [NAME…]

FOLDER holds the collections (default: ../shared/collections beside the repository). The file is not called
`collections.py`: as a script's folder comes first on the path, that would hide the standard library's module.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gnod.errors import EXIT_RUNTIME, EXIT_VALIDATION, GnoError
from gnod.evaluate.dataset import read
from gnod.evaluate.evaluation import Summary, evaluate
from gnod.evaluate.progress import Progress

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "collections"

# nDCG@10 to be reached by search.lexical.
TARGETS = {
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
}

# nDCG@10 of public libraries, from the README beside the collections: bm25s (Lucene's formula, k1 1.2, b 0.75),
# all-MiniLM-L6-v2 on PyTorch, and the two fused by rank.
BASELINES = {
    "scifact": (0.679, 0.654, 0.714),
    "cranfield": (0.511, 0.503, 0.555),
    "cacm": (0.516, 0.430, 0.562),
    "claude-docs-rag": (0.702, 0.613, 0.736),
    "cosqa-dev": (0.341, 0.603, 0.492),
}


def main(words: list[str]) -> int:
    """Print one line a collection. The exit status is 2 when a target is missed or a collection is absent."""
    folder = Path(words[0]) if words else DEFAULT
    if not folder.is_dir():
        print(f"the test collections are absent: there is no folder {folder}", file=sys.stderr)
        return EXIT_VALIDATION
    print(f"{'nDCG@10':<16}{'lexical':>8}{'target':>8}  {'':<5}{'BM25':>7}{'MiniLM':>8}{'RRF':>7}{'p95 ms':>8}")
    reached = [_line(folder / name, name) for name in words[1:] or TARGETS]
    print(f"{sum(reached)} of {len(reached)} reached")
    return 0 if all(reached) else EXIT_RUNTIME


def _line(folder: Path, name: str) -> bool:
    """Print the line of one collection. Returns whether its target is reached."""
    if not folder.is_dir():
        print(f"{name:<16}  absent: {folder}")
        return False
    summary = _measure(folder)
    figure, target = summary.measures["nDCG@10"], TARGETS.get(name, 0.0)
    word = "OK" if figure >= target else "MISS"
    others = "".join(f"{other:{width}.3f}" for other, width in zip(BASELINES.get(name, ()), (7, 8, 7), strict=False))
    latency = summary.latency_ms["p95"]
    print(f"{name:<16}{figure:8.4f}{target:8.2f}  {word:<5}{others:<22}{latency:8.1f}", flush=True)
    return figure >= target


def _measure(folder: Path) -> Summary:
    progress = Progress(sys.stderr, quiet=not sys.stderr.isatty())
    try:
        [run] = evaluate(read(folder), ["lexical"], progress)
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
