"""`gnoctl doctor`: what is there, what is not, and what mends it."""

from __future__ import annotations

from collections.abc import Iterator

from gnoctl import text
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.terminal import DIM, GREEN, RED, YELLOW, Terminal
from gnod.errors import EXIT_RUNTIME, GnoError
from gnod.paths import Places
from gnod.protocol.params import NoParams
from gnod.protocol.results import Check, DoctorResult

HELP = """Check everything that gnod depends on, and name what mends it."""

_SIGNS = {"ok": ("✓", GREEN), "warning": ("!", YELLOW), "error": ("✗", RED)}


def doctor(options: JsonOptions) -> int:
    result = _examine(options)
    if options.json:
        print_json(result)
    else:
        for line in render(result, options.places, options.terminal):
            print(line)
    return 0 if result.healthy else EXIT_RUNTIME


def _examine(options: JsonOptions) -> DoctorResult:
    """Ask the daemon. That it does not start is a finding, not a reason to say nothing."""
    try:
        with options.connect() as daemon:
            return daemon.call("doctor.run", NoParams(), DoctorResult)
    except GnoError as error:
        check = Check(name="daemon", status="error", message=error.message)
        return DoctorResult(healthy=False, checks=[check])


def render(result: DoctorResult, places: Places, terminal: Terminal) -> Iterator[str]:
    for name, place in _places(places):
        yield terminal.paint(f"{name:<9} {text.line(place)}", DIM)
    yield ""
    for check in result.checks:
        sign, colour = _SIGNS.get(check.status, ("?", YELLOW))
        yield f"{terminal.paint(sign, colour)} {text.line(check.name)}: {text.line(check.message)}"
        if check.remedy:
            yield f"    → {text.line(check.remedy)}"


def _places(places: Places) -> Iterator[tuple[str, str]]:
    yield "config", str(places.config_file)
    yield "database", str(places.database)
    yield "models", str(places.models_dir)
    yield "log", str(places.log_file)
    yield "socket", str(places.socket)


COMMAND = Command(JsonOptions, doctor, HELP)
