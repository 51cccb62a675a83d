"""Format figures as plain text tables. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gnod.answers.confidence import THRESHOLD
from gnod.evaluate.comparison import CONFIDENCE, RESAMPLES, SIDES, Contrast, Loss, RunComparison
from gnod.evaluate.evaluation import PERCENTILES, Summary
from gnod.evaluate.measures import MEASURES, PER_QUERY
from gnod.evaluate.memories import ABSENT, ALL, CUTOFFS, MemoryRecall
from gnod.evaluate.modes import BASELINE
from gnod.evaluate.questions import LATENCIES, MAX_TOKENS
from gnod.evaluate.runs import Saved

MEAN = "mean"
_HEADERS = ["collection", "mode", *MEASURES, "queries", "documents", "index s", *(f"p{at} ms" for at in PERCENTILES)]
_PERCENTILES = [f"p{at} ms" for at in LATENCIES]
_LEFT = 2  # the columns of text; the others have numbers
_GAP = "  "
_MAX_TEXT = 90
_MAX_FAILED = 5
_MAX_REASONS = 3
_SURE = "*"


def table(saved: Saved) -> Iterator[str]:
    """Yield a line for each run, then the means if there are several collections, then notes."""
    rows = [_row(run) for run in saved.runs]
    for mode, means in saved.mean.items():
        if sum(run.mode == mode for run in saved.runs) > 1:
            figures = [f"{means[name]:.4f}" for name in MEASURES]
            rows.append([MEAN, mode, *figures, *[""] * (len(_HEADERS) - _LEFT - len(figures))])
    yield from _columns(_HEADERS, rows)
    for run in saved.runs:
        yield from _notes(run)


def ablation(contrasts: Sequence[Contrast]) -> Iterator[str]:
    """Yield the change of each mode against the baseline."""
    rows = [
        [
            *(_plain(each.collection), each.mode),
            *(f"{figure:+.4f}" for figure in (each.change.mean, each.change.low, each.change.high)),
            *(_SURE if each.is_sure else "", f"{each.better:,}", f"{each.worse:,}"),
        ]
        for each in contrasts
    ]
    title = (
        f"{PER_QUERY} against {BASELINE}, query by query. {_SURE}: significant, 0 lies outside the interval"
        f" ({CONFIDENCE:.0%}, paired bootstrap, {RESAMPLES:,} resamples)"
    )
    yield from _section(title, ["change", "from", "to", "", "better", "worse"], rows)


def against_sides(losses: Sequence[Loss]) -> Iterator[str]:
    """Yield the change of hybrid search against its better side, by collection and on average."""
    rows = [[_plain(loss.collection), loss.better, f"{loss.change:+.4f}"] for loss in losses]
    if len(losses) > 1:
        rows.append([MEAN, "", f"{sum(loss.change for loss in losses) / len(losses):+.4f}"])
    title = f"{PER_QUERY} of {BASELINE} against the better of {' and '.join(SIDES)}"
    yield from _section(title, ["change"], rows, second="better")


def quotes(runs: Sequence[Summary]) -> Iterator[str]:
    """Yield the share of questions whose answer is in the quotes, where a collection has answers."""
    rows = [
        [
            *(_plain(run.collection), run.mode, *_shares(found.first, found.three, found.exact)),
            *(f"{found.questions:,}", *_times(found.latency_ms)),
        ]
        for run in runs
        if (found := run.quotes)
    ]
    title = "quotes: share of questions whose answer is in the first one, in the first three; share at the exact line"
    yield from _section(title, ["first", "three", "exact", "questions", *_PERCENTILES], rows)


def evidence(runs: Sequence[Summary]) -> Iterator[str]:
    """Yield how often a packet of evidence has what the question needs, and how many tokens that takes."""
    rows = [
        [
            *(_plain(run.collection), run.mode, *_shares(found.hits, found.answers, found.documents)),
            f"{found.tokens:.0f}",
            "" if found.tokens_per_hit is None else f"{found.tokens_per_hit:.0f}",
            *(f"{found.passages:.1f}", f"{found.questions:,}", *_times(found.latency_ms)),
        ]
        for run in runs
        if (found := run.evidence)
    ]
    title = (
        f"evidence within {MAX_TOKENS:,} tokens: share of questions with an answer or relevant document in it, with an"
        " answer; share of relevant documents; mean tokens"
    )
    names = ["hits", "answers", "documents", "tokens", "per hit", "passages", "questions"]
    yield from _section(title, [*names, *_PERCENTILES], rows)


def abstention(runs: Sequence[Summary]) -> Iterator[str]:
    """Yield how well the confidence tells questions that a collection answers from those that it does not."""
    measured = [(run, run.abstention) for run in runs if run.abstention]
    rows = [
        [
            *(_plain(run.collection), run.mode),
            *_shares(found.auroc, found.answered, found.answered_without, found.answered_unanswerable),
            f"{found.questions:,}",
        ]
        for run, found in measured
    ]
    if len(rows) > 1:
        columns = zip(*((found.auroc, found.answered, found.answered_without) for _, found in measured), strict=True)
        rows.append([MEAN, "", *_shares(*(sum(column) / len(rows) for column in columns)), "", ""])
    title = (
        "confidence: each question with and without its relevant documents; AUROC, and the share that reaches the"
        f" threshold {THRESHOLD}; the same for questions without an answer, where a collection has them"
    )
    yield from _section(title, ["AUROC", "with", "without", "unanswerable", "questions"], rows)


def _section(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], *, second: str = "mode") -> Iterator[str]:
    if rows:
        yield title
        yield from _columns(["collection", second, *names], rows)


def _shares(*figures: float | None) -> list[str]:
    return ["" if figure is None else f"{figure:.4f}" for figure in figures]


def _times(latency_ms: Mapping[str, float]) -> list[str]:
    return [f"{ms:.1f}" for ms in latency_ms.values()]


def comparison(compared: RunComparison, queries: Mapping[str, str]) -> Iterator[str]:
    """Yield the changes since the saved run. `queries`: texts by id."""
    yield f"{_plain(compared.collection)}, {compared.mode}, compared with the saved run:"
    for warning in compared.warnings:
        yield f"  warning: {warning}"
    yield "  " + _GAP.join(f"{name} {round(change, 4) + 0.0:+.4f}" for name, change in compared.change.items())
    yield f"  {PER_QUERY}: {compared.better:,} queries better, {compared.worse:,} worse"
    for query in compared.changed:
        text = _plain(queries.get(query.id, ""))
        yield f"  {query.change:+.4f}  {query.before:.4f} → {query.after:.4f}  {_plain(query.id)}  {text}"


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


def memories(measured: MemoryRecall) -> Iterator[str]:
    """Yield the recall of memories by kind of question, then how often a search came back empty."""
    yield f"{_plain(measured.folder)}: {measured.memories:,} memories"
    headers = ["questions", "number", *(f"R@{at}" for at in CUTOFFS)]
    rows = [
        [each.category, f"{each.questions:,}", *(f"{each.at[at]:.3f}" for at in CUTOFFS)]
        for each in sorted(measured.recall, key=lambda each: (each.category != ALL, each.category))
    ]
    yield from _columns(headers, rows)
    yield (
        f"empty results: {measured.empty.answered:.1%} of the questions with an answer, {measured.empty.absent:.1%} of "
        f"the {ABSENT} ones, {measured.empty.elsewhere:.1%} in another namespace"
    )


def _columns(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    for row in [headers, *rows]:
        cells = [
            cell.ljust(width) if at < _LEFT else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield _GAP.join(cells).rstrip()


def _plain(text: str) -> str:
    """Return text of a file on one line, without control characters."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return shown if len(shown) <= _MAX_TEXT else shown[: _MAX_TEXT - 1] + "…"
