"""`gnoctl embed`: follow how chunks are embedded."""

from __future__ import annotations

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.progress import Progress
from gnoctl.wording import count, duration
from gnod.errors import EXIT_RUNTIME
from gnod.protocol.params import IndexEmbedParams
from gnod.protocol.results import IndexEmbedResult

HELP = """Follow the embedding of chunks, until all have a vector.

The daemon embeds by itself what is new or changed; this shows how far it is. Ctrl-C stops the watching, not
the work: that is `gnoctl pause`, and `gnoctl resume`.
"""


def embed(options: JsonOptions) -> int:
    with options.connect() as daemon, Progress(quiet=options.quiet, no_color=options.no_color) as progress:
        result = daemon.call("index.embed", IndexEmbedParams(), IndexEmbedResult, on_progress=progress)
    if options.json:
        print_json(result)
    else:
        _report(result)
    return EXIT_RUNTIME if result.reason else 0


def _report(result: IndexEmbedResult) -> None:
    took = duration(result.took_ms / 1000)
    if result.reason:
        note(text.line(f"{result.state}: {result.reason}"))
        if result.pending:
            note(f"{count(result.pending, 'chunk')} left to embed")
    elif result.done:
        print(f"embedded {count(result.done, 'chunk')} in {took}")
    else:
        print("every chunk has its vector")
    if result.failed:
        note(f"{count(result.failed, 'chunk')} cannot be embedded: `gnoctl daemon logs` says more")


COMMAND = Command(JsonOptions, embed, HELP)
