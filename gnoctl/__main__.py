"""The entry point: from `sys.argv` to an exit status. Must not depend on the commands.

Start-up time is a feature: a plain search needs no msgspec, and typer is imported only for completion.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from gnod.errors import GnoError

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line of this process, and end the process."""
    # A process this short needs no garbage collection and no clean-up at its end. This saves 8 ms.
    gc.disable()
    _encode_output()
    status = run(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)


def run(words: list[str]) -> int:
    try:
        status = _guarded(words)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has closed the pipe. Python would flush again at exit and print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _guarded(words: list[str]) -> int:
    try:
        return _dispatch(words)
    except BrokenPipeError:
        raise
    except Exception as error:
        from gnod.errors import GnoError, StorageFailed

        if isinstance(error, GnoError):
            return _report(error, words)
        if isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            return _report(StorageFailed(f"{where}{error.strerror or error}"), words)
        raise


def _dispatch(words: list[str]) -> int:
    from gnoctl import plain_search

    if (status := plain_search.run(words)) is not None:
        return status
    _check_text(words)
    if "_GNOCTL_COMPLETE" in os.environ:
        from gnoctl.app import complete

        complete()
    from gnoctl.arguments.command_line import read
    from gnoctl.arguments.help import show

    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if (status := show(words)) is not None:
        return status
    command, options = read(words)
    return command.run(options) or 0


def _check_text(words: list[str]) -> None:
    """Refuse words that are not UTF-8: msgspec would replace parts of them by question marks."""
    from gnod.errors import UsageError

    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{word!r} on the command line is not valid UTF-8") from None


def _report(error: GnoError, words: list[str]) -> int:
    from gnoctl.printing.output import report

    options = words[: words.index("--")] if "--" in words else words
    return report(error, as_json="--json" in options)


def _encode_output() -> None:
    """Write UTF-8 to files and pipes in every locale, and to a terminal what it can show."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="replace")
        else:
            sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")


if __name__ == "__main__":
    main()
