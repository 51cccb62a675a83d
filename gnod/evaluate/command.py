"""The command `gnod bench`, which `gnoctl bench` runs. It needs no daemon and uses a temporary index."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TextIO

import msgspec

from gnod import paths
from gnod.config import load
from gnod.egress import SCOPES
from gnod.errors import EXIT_VALIDATION, GnoError, LossTooLarge, UsageError
from gnod.evaluate import memories, report, runs
from gnod.evaluate.choice import choose
from gnod.evaluate.comparison import Contrast, Loss, RunComparison, compare, contrasts, losses
from gnod.evaluate.dataset import check_layout, read
from gnod.evaluate.evaluation import EvaluationRun, Summary, evaluate
from gnod.evaluate.gate import MeasurementGate
from gnod.evaluate.measures import library
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.modes import DEFAULT_MODES, MODES
from gnod.evaluate.progress import ProgressLine
from gnod.models.files import ModelFiles
from gnod.store.tables.egress_journal import EgressJournal

PROGRAM = "gnoctl bench"
EXIT_INTERRUPTED = 130


class BenchOutput(runs.Saved, frozen=True, kw_only=True, omit_defaults=True):
    """The output of `--json`: the figures without those of each query."""

    losses: list[Loss] = msgspec.field(default_factory=list)
    contrasts: list[Contrast] = msgspec.field(default_factory=list)
    comparisons: list[RunComparison] = msgspec.field(default_factory=list)


def main(words: Sequence[str], out: TextIO, err: TextIO) -> int:
    """Run the command and return its exit status."""
    as_json = "--json" in words
    try:
        options = _parser().parse_args(words)
        _Bench(options, out, err).run()
        return 0
    except GnoError as error:
        return _report(error, out if as_json else err, as_json=as_json)
    except (KeyboardInterrupt, asyncio.CancelledError):  # the second one while indexing
        return EXIT_INTERRUPTED


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{PROGRAM} --help`")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        allow_abbrev=False,
        description="Measure search on test collections in BEIR layout: corpus.jsonl, queries.jsonl and qrels.tsv.",
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a test collection")
    parser.add_argument(
        "--mode",
        action="append",
        choices=tuple(MODES),
        help=f"how to search, repeatable (default: {', '.join(DEFAULT_MODES)})",
    )
    parser.add_argument("--memory", action="store_true", help="DIR contains memories.jsonl and queries.jsonl")
    parser.add_argument("--ablation", action="store_true", help="run all variants of the hybrid query")
    parser.add_argument("--model", metavar="URI", help="embedding model (default: from index.yml)")
    parser.add_argument("--expand", metavar="URI", help="query expansion model (default: from index.yml)")
    parser.add_argument("--rerank", metavar="URI", help="reranking model (default: from index.yml)")
    parser.add_argument(
        "--egress",
        choices=SCOPES,
        default="local",
        help="how far the texts of the collection may travel to model servers (default: local)",
    )
    parser.add_argument(
        "--budget", type=_seconds, metavar="SECONDS", help="time limit of a hybrid query (default: none)"
    )
    parser.add_argument("--no-tune", action="store_true", help="do not let the collections learn how to mix both sides")
    parser.add_argument(
        "--never-below",
        type=_loss,
        metavar="LOSS",
        help="fail if hybrid search is worse than its better side by more than LOSS (nDCG@10) in a collection",
    )
    parser.add_argument("--limit", type=_positive, metavar="N", help="run the first N queries only")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write all figures as JSON, with those of each query")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="show the changes since --save wrote FILE")
    parser.add_argument("--run", type=Path, metavar="FILE", help="write the results as a TREC run file")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress and no notes")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be >= 1")
    return number


def _loss(text: str) -> float:
    number = float(text)
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError("must be >= 0 and < 1")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("must be > 0")
    return number


class _Bench:
    """One run of the command."""

    def __init__(self, options: argparse.Namespace, out: TextIO, err: TextIO) -> None:
        self._folders: list[Path] = options.folders
        self._modes: list[str] = []
        self._models: EvaluationModels | None = None
        self._options = options
        self._out = out
        self._err = err
        self._queries: dict[str, dict[str, str]] = {}  # by collection, for the comparison

    def run(self) -> None:
        """Check all options before the work begins, then measure and print. Raises GnoError."""
        if self._options.memory:
            self._run_memories()
            return
        library()
        before = runs.load(self._options.compare) if self._options.compare else None
        self._check()
        models = self._choose()
        if self._options.run and len(self._folders) * len(self._modes) > 1:
            raise UsageError("--run writes one run: give one DIR and one --mode")
        with models or contextlib.nullcontext() as self._models:
            if self._models:
                self._models.check()
            saved = runs.summarise([self._finish(run) for folder in self._folders for run in self._measure(folder)])
        if self._options.save:
            runs.save(saved, self._options.save)
        compared = compare(saved.runs, before.runs) if before else []
        if before and len(compared) < len(saved.runs):
            self._note(f"{self._options.compare} does not contain every run of this measurement")
        if self._options.json:
            self._print_json(saved, compared)
        else:
            self._print(saved, compared)
        self._require_no_loss(losses(saved.runs))

    def _run_memories(self) -> None:
        """Measure the recall of memories. Needs the embedding model and nothing else."""
        self._options.mode = ["vector"]
        models = self._choose()
        assert models is not None, "the mode vector requires a model"
        with models:
            models.check()
            found = [memories.measure(folder, models, limit=self._options.limit) for folder in self._folders]
        if self._options.json:
            _write_json(found, self._out)
        else:
            self._out.write("\n\n".join("\n".join(report.memories(each)) for each in found) + "\n")

    def _require_no_loss(self, found: list[Loss]) -> None:
        """Raise LossTooLarge where hybrid search loses more than --never-below allows."""
        limit = self._options.never_below
        if limit is None:
            return
        if not found:
            raise UsageError("--never-below needs the modes lexical, vector and hybrid, and an embedding model")
        if worse := [each for each in found if each.change < -limit]:
            named = ", ".join(f"{each.collection} ({each.change:+.4f} against {each.better})" for each in worse)
            raise LossTooLarge(f"hybrid search loses more than {limit:g}: {named}", {"losses": len(worse)})

    def _check(self) -> None:
        for folder in self._folders:
            check_layout(folder)
        names = [folder.resolve().name for folder in self._folders]
        if taken := {name for name in names if names.count(name) > 1}:
            raise UsageError(f"two folders are named {min(taken)!r}: a collection has the name of its folder")
        for file in (self._options.save, self._options.run):
            if file and not file.absolute().parent.is_dir():
                raise UsageError(f"cannot write {file}: there is no folder {file.absolute().parent}")

    def _choose(self) -> EvaluationModels | None:
        """Choose the modes. Return the models that they use."""
        places = paths.resolve(None)
        files = ModelFiles(places.models_dir)
        options = self._options
        given = {"embed": options.model, "expand": options.expand, "rerank": options.rerank}
        choice = choose(
            options.mode or [], given, load.load(places.config_file).config, files, ablation=options.ablation
        )
        self._modes = choice.modes
        for note in choice.notes:
            self._note(note)
        models = choice.models
        if "embed" not in models:
            return None
        return EvaluationModels(
            models["embed"],
            files,
            expand=models.get("expand"),
            rerank=models.get("rerank"),
            gate=MeasurementGate(options.egress, EgressJournal(places.egress_journal)),
        )

    def _measure(self, folder: Path) -> list[EvaluationRun]:
        dataset = read(folder)
        self._queries[dataset.name] = dataset.queries
        progress = ProgressLine(self._err, quiet=self._options.quiet)
        try:
            return list(
                evaluate(
                    dataset,
                    self._modes,
                    progress,
                    models=self._models,
                    max_queries=self._options.limit,
                    budget_s=self._options.budget,
                    tune=not self._options.no_tune,
                )
            )
        finally:
            progress.clear()

    def _finish(self, run: EvaluationRun) -> Summary:
        if file := self._options.run:
            encoded = runs.write_trec(run.rankings, file, tag=f"gnod-{run.summary.mode}")
            if encoded:
                self._note(f"{file}: {encoded:,} ids contain spaces or '%' and are percent-encoded")
        return run.summary

    def _print(self, saved: runs.Saved, compared: list[RunComparison]) -> None:
        sections = [
            report.table(saved),
            report.quotes(saved.runs),
            report.against_sides(losses(saved.runs)),
            report.ablation(contrasts(saved.runs)),
            report.evidence(saved.runs),
            report.abstention(saved.runs),
        ]
        sections += [report.comparison(each, self._queries[each.collection]) for each in compared]
        texts = filter(None, map("\n".join, sections))
        self._out.write("\n\n".join(texts) + "\n")

    def _print_json(self, saved: runs.Saved, compared: list[RunComparison]) -> None:
        short = [msgspec.structs.replace(run, per_query={}) for run in saved.runs]
        figures = {**msgspec.structs.asdict(saved), "runs": short}
        output = BenchOutput(
            **figures, losses=losses(saved.runs), contrasts=contrasts(saved.runs), comparisons=compared
        )
        _write_json(output, self._out)

    def _note(self, message: str) -> None:
        if not self._options.quiet:
            self._err.write(message + "\n")


def _report(error: GnoError, stream: TextIO, *, as_json: bool) -> int:
    """Print an error in the form of gnoctl."""
    if as_json:
        family = "VALIDATION" if error.exit_status == EXIT_VALIDATION else "RUNTIME"
        details = {**error.details, "kind": error.kind, "code": error.code}
        _write_json({"error": {"code": family, "message": error.message, "details": details}}, stream)
    else:
        stream.write(f"gnoctl: {error.message}\n")
    return error.exit_status


def _write_json(value: object, stream: TextIO) -> None:
    encoded = msgspec.json.encode(value)
    stream.write((msgspec.json.format(encoded, indent=2) if stream.isatty() else encoded).decode() + "\n")
