"""How a command fails: one sentence on stderr, or an object on stdout for programs; and the exit status."""

from __future__ import annotations

import sys

from gnoctl import text
from gnod.errors import EXIT_NOT_RUNNING, EXIT_VALIDATION, GnoError

# The same fault has the same sentence in every command.
NOTHING_INDEXED = "no folder is indexed yet: run `gnoctl init FOLDER`"


def report(error: GnoError, *, as_json: bool) -> int:
    """Report `error` and return its exit status."""
    if as_json:
        from gnoctl.json_output import print_json

        print_json({"error": {"code": _family(error), "message": error.message, "details": _details(error)}})
    else:
        sys.stdout.flush()
        print(f"gnoctl: {text.block(error.message)}", file=sys.stderr)
    return error.exit_status


def note(message: str, *, quiet: bool = False) -> None:
    """Print to standard error what is not part of the answer."""
    if not quiet:
        sys.stdout.flush()
        print(text.block(message), file=sys.stderr)


def _family(error: GnoError) -> str:
    if error.exit_status == EXIT_NOT_RUNNING:
        return "NOT_RUNNING"
    return "VALIDATION" if error.exit_status == EXIT_VALIDATION else "RUNTIME"


def _details(error: GnoError) -> dict[str, object]:
    return {**error.details, "kind": error.kind, "code": error.code}
