"""The measurement of `gnoctl bench`. It needs no daemon and uses a temporary index."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TextIO

import msgspec

from gnod import paths
from gnod.config import load
from gnod.egress import Scope
from gnod.errors import EXIT_RUNTIME, EXIT_VALIDATION, GnoError, LossTooLarge, UsageError
from gnod.evaluate import memories, report, runs
from gnod.evaluate.choice import choose
from gnod.evaluate.comparison import Contrast, Loss, RunComparison, compare, contrasts, losses
from gnod.evaluate.dataset import check_layout, read
from gnod.evaluate.evaluation import EvaluationRun, Summary, evaluate
from gnod.evaluate.gate import MeasurementGate
from gnod.evaluate.measures import library
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.progress import ProgressLine
from gnod.models.files import ModelFiles
from gnod.store.tables.egress_journal import EgressJournal

EXIT_INTERRUPTED = 130


class BenchOutput(runs.Saved, frozen=True, kw_only=True, omit_defaults=True):
    """The output of `--json`: the figures without those of each query."""

    losses: list[Loss] = msgspec.field(default_factory=list)
    contrasts: list[Contrast] = msgspec.field(default_factory=list)
    comparisons: list[RunComparison] = msgspec.field(default_factory=list)


class BenchRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to measure: the options of `gnoctl bench`, where they are declared and explained."""

    folders: list[Path]
    mode: list[str]
    memory: bool
    ablation: bool
    model: str | None
    expand: str | None
    rerank: str | None
    egress: Scope
    budget: float | None
    no_tune: bool
    never_below: float | None
    limit: int | None
    save: Path | None
    compare: Path | None
    run: Path | None
    json: bool
    quiet: bool


def main(request: str, out: TextIO, err: TextIO) -> int:
    """Measure what `request` asks for, a BenchRequest in JSON, and return the exit status."""
    try:
        options = msgspec.json.decode(request, type=BenchRequest, dec_hook=lambda kind, value: kind(value))
    except msgspec.MsgspecError as error:
        err.write(f"gnod: these are not the options of `gnoctl bench`, which calls this ({error})\n")
        return EXIT_RUNTIME
    try:
        _Bench(options, out, err).run()
        return 0
    except GnoError as error:
        return _report(error, out if options.json else err, as_json=options.json)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


class _Bench:
    """One run of the command."""

    def __init__(self, options: BenchRequest, out: TextIO, err: TextIO) -> None:
        self._folders = options.folders
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
        models = self._choose(self._options.mode)
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
        models = self._choose(["vector"])
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
            raise UsageError("--never-below needs the modes keyword, vector and hybrid, and an embedding model")
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

    def _choose(self, named: list[str]) -> EvaluationModels | None:
        """Choose the modes: those that are `named`, or all that are possible. Return the models that they use."""
        places = paths.resolve(None)
        files = ModelFiles(places.models_dir)
        options = self._options
        given = {"embed": options.model, "expand": options.expand, "rerank": options.rerank}
        choice = choose(named, given, load.load(places.config_file).config, files, ablation=options.ablation)
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
    return EXIT_RUNTIME


def _write_json(value: object, stream: TextIO) -> None:
    encoded = msgspec.json.encode(value)
    stream.write((msgspec.json.format(encoded, indent=2) if stream.isatty() else encoded).decode() + "\n")
