"""`gnoctl models pull`: fetch models, with a bar."""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import field

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.progress import Progress
from gnoctl.wording import size
from gnod.protocol.params import NETWORK_VARIABLES, ModelsPullParams
from gnod.protocol.results import ModelsPullResult

HELP = """Fetch the models that are used and not here yet.

Ctrl-C stops it; the next pull goes on from there. Proxies (HTTPS_PROXY, …), mirrors (HF_ENDPOINT, PIP_INDEX_URL) and
HF_TOKEN are those of this terminal. HF_HUB_OFFLINE=1 and GNO_OFFLINE=1 forbid downloads.

Examples:

  gnoctl models pull

  gnoctl models pull embed

  gnoctl models pull hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf
"""


class PullOptions(JsonOptions, frozen=True, kw_only=True):
    models: Annotated[
        list[str],
        argument(
            "[ROLE|ADDRESS]...",
            help="embed, rerank, expand, answer, or an address (default: all that are used).",
            complete="embed|rerank|expand|answer",
        ),
    ] = field(default_factory=list)
    force: Annotated[bool, option("--force", help="Fetch them again, also when they are here.")] = False


def pull(options: PullOptions) -> None:
    # An empty variable is as good as none for every program that reads these.
    network = {name: value for name in NETWORK_VARIABLES if (value := os.environ.get(name))}
    params = ModelsPullParams(models=options.models, force=options.force, network=network)
    with options.connect() as daemon, Progress(quiet=options.quiet, no_color=options.no_color) as progress:
        result = daemon.call("models.pull", params, ModelsPullResult, on_progress=progress)
    if options.json:
        print_json(result)
        return
    for each in result.models:
        if each.fetched:
            print(text.line(f"fetched {each.uri}: {size(each.bytes)} · {each.took_ms / 1000:.1f} s"))
        else:
            print(text.line(f"here already: {each.uri}"))
    if not result.models:
        note("No models are used, so there is nothing to fetch", quiet=options.quiet)


COMMAND = Command(PullOptions, pull, HELP)
