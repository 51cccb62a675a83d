"""`gnoctl models path`: for other programs that want to load the same file."""

from __future__ import annotations

from typing import Annotated

from gnoctl import text
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument
from gnod.protocol.params import ModelsPathParams
from gnod.protocol.results import ModelsPathResult

HELP = """Print the path of a model's file, or of the folder of all models.

Examples:

  gnoctl models path

  llama-cli -m "$(gnoctl models path answer)"
"""


class PathOptions(JsonOptions, frozen=True, kw_only=True):
    model: Annotated[
        str | None,
        argument(
            "[ROLE|ADDRESS]",
            help="embed, rerank, expand, answer, or an address (default: the folder).",
            complete="embed|rerank|expand|answer",
        ),
    ] = None


def path(options: PathOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("models.path", ModelsPathParams(model=options.model), ModelsPathResult)
    if options.json:
        print_json(result)
    else:
        print(text.line(result.path))


COMMAND = Command(PathOptions, path, HELP)
