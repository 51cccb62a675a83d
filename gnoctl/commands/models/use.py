"""`gnoctl models use`: choose a preset."""

from __future__ import annotations

from typing import Annotated

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument
from gnoctl.wording import count
from gnod.protocol.params import ModelsUseParams
from gnod.protocol.results import ModelsUseResult

HELP = """Choose which preset of models is used.

It is written into index.yml. The models themselves are fetched by `gnoctl models pull`; until documents are embedded
with the new model, the old one's vectors go on answering.

Examples:

  gnoctl models use mini-multilingual

  gnoctl models pull embed
"""


class UseOptions(JsonOptions, frozen=True, kw_only=True):
    preset: Annotated[
        str,
        argument(
            "PRESET",
            help="mini, mini-multilingual, slim, multilingual, balanced or quality.",
            complete="mini|mini-multilingual|slim|multilingual|balanced|quality",
        ),
    ]


def use(options: UseOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("models.use", ModelsUseParams(preset=options.preset), ModelsUseResult)
    if options.json:
        print_json(result)
        return
    if result.preset == result.previous:
        print(text.line(f"{result.preset} is the preset in use already"))
    else:
        print(text.line(f"{result.preset} is the preset in use now, instead of {result.previous}"))
    if result.missing:
        listed = "".join(f"\n  {uri}" for uri in result.missing)
        note(
            f"{count(len(result.missing), 'model')} to be fetched with `gnoctl models pull` (search by meaning needs no"
            f" more than `gnoctl models pull embed`):{listed}",
            quiet=options.quiet,
        )


COMMAND = Command(UseOptions, use, HELP)
