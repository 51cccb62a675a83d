"""Print what every command may need: results as JSON, notes and errors."""

from __future__ import annotations

import sys

import msgspec

from gnoctl.printing import text
from gnod.errors import EXIT_NOT_RUNNING, EXIT_RUNTIME, EXIT_VALIDATION, GnoError

# A search found nothing, as with rg and grep. Every error has a higher status.
EXIT_NOTHING = 1

_FAMILIES = {EXIT_NOT_RUNNING: "NOT_RUNNING", EXIT_VALIDATION: "VALIDATION"}

# Every command uses the same sentence for the same fault.
NOTHING_INDEXED = "no folder is indexed yet: run `gnoctl init FOLDER`"


def report(error: GnoError, *, as_json: bool) -> int:
    """Print an error and return the exit status."""
    if as_json:
        family = _FAMILIES.get(error.exit_status, "RUNTIME")
        details = {**error.details, "kind": error.kind, "code": error.code}
        print_json({"error": {"code": family, "message": error.message, "details": details}})
    else:
        sys.stdout.flush()
        print(f"gnoctl: {text.block(error.message)}", file=sys.stderr)
    return max(error.exit_status, EXIT_RUNTIME)


def note(message: str, *, quiet: bool = False) -> None:
    """Print a message that is not part of the answer to standard error."""
    if not quiet:
        sys.stdout.flush()
        print(text.block(message), file=sys.stderr)


def print_json(value: object) -> None:
    """Print `value`: indented for people, on one line for programs."""
    print(json_text(value, indented=sys.stdout.isatty()))


def json_text(value: object, *, indented: bool = False) -> str:
    encoded = msgspec.json.encode(value)
    if indented:
        encoded = msgspec.json.format(encoded, indent=2)
    return text.escaped(encoded.decode())
