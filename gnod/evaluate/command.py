"""Run the measurement of `gnoctl bench`. It needs no daemon and uses a temporary index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import msgspec

import gnod
from gnod import paths
from gnod.config import load
from gnod.egress import Scope
from gnod.errors import EXIT_RUNTIME, EXIT_VALIDATION, GnoError, UsageError
from gnod.evaluate import report
from gnod.evaluate.dataset import check_layout, read
from gnod.evaluate.evaluation import Summary, evaluate
from gnod.evaluate.measures import library
from gnod.evaluate.models import EvaluationModels, MeasurementGate
from gnod.evaluate.modes import choose
from gnod.evaluate.report import ProgressLine
from gnod.models.files import ModelFiles
from gnod.store.tables.egress_journal import EgressJournal

EXIT_INTERRUPTED = 130


class BenchRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of `gnoctl bench`, which declares and explains them."""

    folders: list[Path]
    mode: list[str]
    model: str | None
    expand: str | None
    rerank: str | None
    egress: Scope
    limit: int | None
    json: bool
    quiet: bool


def main(request: str, out: TextIO, err: TextIO) -> int:
    """Run a measurement and return the exit status. `request`: a BenchRequest in JSON."""
    try:
        options = msgspec.json.decode(request, type=BenchRequest, dec_hook=lambda kind, value: kind(value))
    except msgspec.MsgspecError as error:
        err.write(f"gnod: these are not the options of `gnoctl bench`, which calls this ({error})\n")
        return EXIT_RUNTIME
    try:
        _run(options, out, err)
        return 0
    except GnoError as error:
        return _report(error, out if options.json else err, as_json=options.json)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _run(options: BenchRequest, out: TextIO, err: TextIO) -> None:
    """Check all options first, then measure and print. Raises GnoError."""
    library()
    _check(options.folders)
    places = paths.resolve(None)
    files = ModelFiles(places.models_dir)
    given = {"embed": options.model, "expand": options.expand, "rerank": options.rerank}
    modes, models, notes = choose(options.mode, given, load.load(places.config_file).config, files)
    if not options.quiet:
        err.writelines(f"{note}\n" for note in notes)
    if uri := models.pop("embed", None):
        gate = MeasurementGate(options.egress, EgressJournal(places.egress_journal))
        with EvaluationModels(uri, files, **models, gate=gate) as loaded:
            loaded.check()
            runs = _measured(options, modes, loaded, err)
    else:
        runs = _measured(options, modes, None, err)
    if options.json:
        short = [msgspec.structs.replace(run, per_query={}) for run in runs]
        _write_json({"gnod": gnod.__version__, "runs": short, "mean": report.means(runs)}, out)
    else:
        out.writelines(f"{line}\n" for line in report.table(runs))


def _check(folders: Sequence[Path]) -> None:
    for folder in folders:
        check_layout(folder)
    names = [folder.resolve().name for folder in folders]
    if taken := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"two folders are named {min(taken)!r}: a collection has the name of its folder")


def _measured(
    options: BenchRequest, modes: Sequence[str], models: EvaluationModels | None, err: TextIO
) -> list[Summary]:
    progress = ProgressLine(err, quiet=options.quiet)
    try:
        return [
            run.summary
            for folder in options.folders
            for run in evaluate(read(folder), modes, progress, models=models, max_queries=options.limit)
        ]
    finally:
        progress.clear()


def _report(error: GnoError, stream: TextIO, *, as_json: bool) -> int:
    """Print an error in gnoctl's format."""
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
