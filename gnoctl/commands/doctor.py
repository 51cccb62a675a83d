"""`gnoctl doctor`: checks everything that gnod depends on."""

from __future__ import annotations

from collections.abc import Iterator

from gnoctl.command import JsonOptions, command
from gnoctl.printing import text
from gnoctl.printing.terminal import DIM, GREEN, RED, YELLOW, Terminal
from gnod.client.opening import socket_in_use
from gnod.errors import EXIT_RUNTIME, GnoError
from gnod.paths import IndexPaths
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import Check, DoctorResult

_SIGNS = {"ok": ("✓", GREEN), "warning": ("!", YELLOW), "error": ("✗", RED)}


@command("doctor", JsonOptions)
def doctor(options: JsonOptions) -> int:
    """Check everything that gnod depends on, and suggest fixes.

    The exit status is 2 if a check fails.
    """
    try:
        result = options.call("doctor.run", NoParams(), DoctorResult)
    except GnoError as error:  # a daemon that does not start is also a result
        result = DoctorResult(healthy=False, checks=[Check("daemon", "error", error.message)])
    options.show(result, _report(result, options.places, options.terminal))
    return 0 if result.healthy else EXIT_RUNTIME


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
