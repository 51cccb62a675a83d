"""Print the progress of a measurement, and its figures as plain text tables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TextIO

from gnod.evaluate.evaluation import PERCENTILES, Summary
from gnod.evaluate.measures import MEASURES

MEAN = "mean"
_HEADERS = ["collection", "mode", *MEASURES, "queries", "documents", "index s", *(f"p{at} ms" for at in PERCENTILES)]
_LEFT = 2  # the columns of text; the others have numbers
_GAP = "  "
_MAX_TEXT = 90
_MAX_FAILED = 5
_MAX_REASONS = 3
_FIRST_AFTER_S = 1.0
_REDRAW_S = 0.1
_LINE_EVERY_S = 5.0


class ProgressLine:
    """Redraws one line on a terminal; on other streams, prints a line every few seconds. Prints nothing in the first
    second."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._draws = stream.isatty()
        self._due = time.monotonic() + _FIRST_AFTER_S
        self._drawn = False

    def __call__(self, task: str, done: int, total: int) -> None:
        now = time.monotonic()
        if self._quiet or now < self._due:
            return
        self._due = now + (_REDRAW_S if self._draws else _LINE_EVERY_S)
        line = f"{task}: {done:,} of {total:,}"
        self._stream.write(f"\r\x1b[2K{line}" if self._draws else f"{line}\n")
        self._stream.flush()
        self._drawn = True

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._drawn and self._draws:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()


def means(runs: Sequence[Summary]) -> dict[str, dict[str, float]]:
    """Return the mean of each measure over the collections, by mode."""
    by_mode: dict[str, list[Summary]] = {}
    for run in runs:
        by_mode.setdefault(run.mode, []).append(run)
    return {
        mode: {name: sum(run.measures[name] for run in of_mode) / len(of_mode) for name in MEASURES}
        for mode, of_mode in by_mode.items()
    }


def table(runs: Sequence[Summary]) -> Iterator[str]:
    """Yield a line for each run, then the means if there are several collections, then notes."""
    rows = [_row(run) for run in runs]
    for mode, mean in means(runs).items():
        if sum(run.mode == mode for run in runs) > 1:
            figures = [f"{mean[name]:.4f}" for name in MEASURES]
            rows.append([MEAN, mode, *figures, *[""] * (len(_HEADERS) - _LEFT - len(figures))])
    yield from _columns(_HEADERS, rows)
    for run in runs:
        yield from _notes(run)


def _row(run: Summary) -> list[str]:
    return [
        _plain(run.collection),
        run.mode,
        *(f"{run.measures[name]:.4f}" for name in MEASURES),
        f"{run.queries:,}",
        f"{run.documents:,}",
        f"{run.indexing_s:.1f}",
        *(f"{run.latency_ms[f'p{at}']:.1f}" for at in PERCENTILES),
    ]


def _notes(run: Summary) -> Iterator[str]:
    name = f"{_plain(run.collection)}, {run.mode}"
    if run.unjudged_queries:
        yield f"{name}: {run.unjudged_queries:,} queries have no judgements and were left out"
    if run.rewritten_queries:
        yield f"{name}: {run.rewritten_queries:,} queries were run without their quotation marks"
    if run.refused_queries:
        yield f"{name}: {run.refused_queries:,} queries are not valid and score 0"
    if run.failed_documents:
        yield f"{name}: {len(run.failed_documents):,} documents could not be indexed"
        for document_id, reason in list(run.failed_documents.items())[:_MAX_FAILED]:
            yield f"  {_plain(document_id)}: {_plain(reason)}"
    for stage, reasons in run.cut.items():
        yield f"{name}: {stage} was skipped or cut short in {sum(reasons.values()):,} queries"
        for reason, queries in list(reasons.items())[:_MAX_REASONS]:
            yield f"  {queries:,}: {_plain(reason)}"


def _columns(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    for row in [headers, *rows]:
        cells = [
            cell.ljust(width) if at < _LEFT else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield _GAP.join(cells).rstrip()


def _plain(text: str) -> str:
    """Return text from a file as one line without control characters."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return shown if len(shown) <= _MAX_TEXT else shown[: _MAX_TEXT - 1] + "…"
