"""`gnoctl doctor` and `gnoctl stats`: what to look at when something is wrong or slow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

from gnoctl.arguments.options import argument, option
from gnoctl.command import JsonOptions, command
from gnoctl.printing import text
from gnoctl.printing.terminal import DIM, GREEN, RED, YELLOW, Terminal, columns
from gnoctl.printing.wording import ago, count, size
from gnod.client.opening import socket_in_use
from gnod.errors import EXIT_RUNTIME, GnoError, UsageError
from gnod.paths import IndexPaths
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import Check, DaemonMetricsResult, DaemonStatsResult, DoctorResult

_SIGNS = {"ok": ("✓", GREEN), "warning": ("!", YELLOW), "error": ("✗", RED)}


class DoctorOptions(JsonOptions, frozen=True, kw_only=True):
    file: Annotated[str | None, argument("FILE", "Where --report writes [default: gnod-report-TIME.md, here]")] = None
    report: Annotated[bool, option("--report", "Write a file to attach to a bug report, without names and texts")] = (
        False
    )
    with_names: Annotated[
        bool, option("--with-names", "Keep names of files, folders, collections and servers in the report")
    ] = False


@command("doctor", DoctorOptions)
def doctor(options: DoctorOptions) -> int:
    """Check everything that gnod depends on, and suggest fixes.

    The exit status is 2 if a check fails. --report writes one file with versions, settings, sizes, times, failures by
    kind, the checks, and the end of the log. Nothing is sent anywhere.

    Examples:
      gnoctl doctor
      gnoctl doctor --report
    """
    if options.report:
        return _write_report(options)
    if options.file or options.with_names:
        raise UsageError("FILE and --with-names are for `gnoctl doctor --report`")
    try:
        result = options.call("doctor.run", NoParams(), DoctorResult)
    except GnoError as error:  # a daemon that does not start is also a result
        result = DoctorResult(healthy=False, checks=[Check("daemon", "error", error.message)])
    options.show(result, _report(result, options.places, options.terminal))
    return 0 if result.healthy else EXIT_RUNTIME


def _write_report(options: DoctorOptions) -> int:
    from gnoctl.bug_report import BugReport

    path = Path(options.file or f"gnod-report-{datetime.now():%Y%m%d-%H%M%S}.md").absolute()
    try:
        with options.connect() as daemon:
            written = BugReport(daemon, with_names=options.with_names).text(options.places)
    except GnoError as error:
        written = BugReport(error, with_names=options.with_names).text(options.places)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(written)
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror}): name another file") from None
    options.show({"file": str(path)}, f"wrote {text.line(str(path))}: read it before you send it")
    return 0


def _report(result: DoctorResult, places: IndexPaths, terminal: Terminal) -> Iterator[str]:
    shown = {
        "config": places.config_file,
        "database": places.database,
        "models": places.models_dir,
        "log": places.log_file,
        "socket": socket_in_use(places),
    }
    for name, path in shown.items():
        yield terminal.paint(f"{name:<9} {text.line(str(path))}", DIM)
    yield ""
    for check in result.checks:
        sign, colour = _SIGNS.get(check.status, ("?", YELLOW))
        yield f"{terminal.paint(sign, colour)} {text.line(check.name)}: {text.line(check.message)}"
        if check.remedy:
            yield f"    → {text.line(check.remedy)}"


class StatsOptions(JsonOptions, frozen=True, kw_only=True):
    prometheus: Annotated[bool, option("--prometheus", "Print the text format of Prometheus")] = False


@command("stats", StatsOptions)
def stats(options: StatsOptions) -> None:
    """Show how long requests take, the memory of each process, what was embedded when, and the sizes of caches.

    All figures count from the start of the daemon; p50 and p95 cover the last 256 calls of a method.

    Examples:
      gnoctl stats
      gnoctl stats --prometheus > /var/lib/node_exporter/gnod.prom
    """
    if options.prometheus:
        print(options.call("daemon.metrics", NoParams(), DaemonMetricsResult).text, end="")
        return
    result = options.call("daemon.stats", NoParams(), DaemonStatsResult)
    options.show(result, _tables(result, options.terminal))


def _tables(result: DaemonStatsResult, terminal: Terminal) -> Iterator[str]:
    tables = {
        ("method", "calls", "failed", "p50 ms", "p95 ms"): [
            [each.method, f"{each.calls:,}", f"{sum(each.failures.values()):,}", f"{each.p50_ms:,}", f"{each.p95_ms:,}"]
            for each in result.methods
        ],
        ("process", "pid", "memory"): [
            [each.process, str(each.pid), size(each.resident_bytes)] for each in result.processes
        ],
        ("cache", "size", "limit"): [
            [each.cache, size(each.bytes), size(each.limit_bytes) if each.limit_bytes else ""] for each in result.caches
        ],
        ("model", "embedded from", "chunks"): [
            [each.model or "", ago(each.start), f"{each.chunks:,}"] for each in result.embedded
        ],
    }
    for headers, rows in tables.items():
        if rows:
            yield from columns(headers, rows, terminal, flexible=0)
            yield ""
    yield f"to be embedded: {count(result.pending_chunks, 'chunk')}"
