"""`gnoctl models clear`: free the disk."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.standard_input import confirmed
from gnoctl.wording import size
from gnod.errors import UsageError
from gnod.protocol.params import ModelsClearParams
from gnod.protocol.results import ModelsClearResult

HELP = """Remove models from this machine.

Searches that need one then do without, until `gnoctl models pull` fetches it again. Files of `file:` addresses are
yours, and stay.

Examples:

  gnoctl models clear answer

  gnoctl models clear --all
"""


class ClearOptions(JsonOptions, frozen=True, kw_only=True):
    models: Annotated[
        list[str],
        argument(
            "[ROLE|ADDRESS]...",
            help="embed, rerank, expand, answer, or an address.",
            complete="embed|rerank|expand|answer",
        ),
    ] = field(default_factory=list)
    everything: Annotated[
        bool, option("--all", help="All of them, also those that nothing uses, and unfinished ones.")
    ] = False
    yes: Annotated[bool, option("-y", "--yes", help="Do not ask.")] = False


def clear(options: ClearOptions) -> int:
    if bool(options.models) == options.everything:
        raise UsageError("say which models (a role or an address), or --all; `gnoctl models list` shows them")
    what = "all models" if options.everything else ", ".join(options.models)
    if not options.yes and not confirmed(f"Remove {what} from this machine?"):
        note("Nothing was removed")
        return 1
    params = ModelsClearParams(models=options.models, everything=options.everything)
    with options.connect() as daemon:
        result = daemon.call("models.clear", params, ModelsClearResult)
    if options.json:
        print_json(result)
        return 0
    for each in result.models:
        print(text.line(f"removed {each.uri}" if each.freed_bytes else f"was not here: {each.uri}"))
    for uri in result.kept:
        note(text.line(f"kept {uri}: the file is yours"), quiet=options.quiet)
    print(f"freed {size(result.freed_bytes)}")
    return 0


COMMAND = Command(ClearOptions, clear, HELP)
