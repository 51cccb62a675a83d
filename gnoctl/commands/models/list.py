"""`gnoctl models list`: the presets, and the models that are used or on this machine."""

from __future__ import annotations

from collections.abc import Iterator

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.table import columns
from gnoctl.terminal import BOLD, Terminal
from gnoctl.wording import size
from gnod.protocol.params import NoParams
from gnod.protocol.results import ModelInfo, ModelPreset, ModelsListResult

HELP = """List the presets and the models.

The preset in use is marked; `gnoctl models use` changes it. Of each model: what for, whether it is on this machine,
and its address. A collection may have its own, in index.yml.
"""


def list_models(options: JsonOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("models.list", NoParams(), ModelsListResult)
    if options.json:
        print_json(result)
        return
    for line in render(result, options.terminal):
        print(line)
    if any(each.uses and not each.installed for each in result.models):
        note("Not all models are on this machine: `gnoctl models pull`, or `… pull embed` alone", quiet=options.quiet)


def render(result: ModelsListResult, terminal: Terminal) -> Iterator[str]:
    for preset in result.presets:
        line = text.line(_preset(preset))
        yield terminal.paint(f"* {line}", BOLD) if preset.active else f"  {line}"
    yield ""
    rows = [[_purpose(each), _state(each), _size(each), each.name, each.uri] for each in result.models]
    yield from columns(["used for", "here", "size", "model", "address"], rows, terminal)
    yield ""
    yield text.line(f"{size(result.total_bytes)} in {result.models_dir}")


def _preset(preset: ModelPreset) -> str:
    """Return the preset with what it can do; what is missing there, it does without."""
    roles = [role for role, uri in preset.models.items() if uri]
    return f"{preset.name:<17}  {', '.join(roles)}"


def _purpose(model: ModelInfo) -> str:
    uses = [use.role if use.collection is None else f"{use.role} of {use.collection}" for use in model.uses]
    return ", ".join(uses) or "nothing"


def _state(model: ModelInfo) -> str:
    if model.fetching:
        return "being fetched"
    if model.installed:
        return "yes"
    return "in part" if model.partial_bytes else "no"


def _size(model: ModelInfo) -> str:
    there = model.bytes or model.partial_bytes
    return size(there) if there else "-"


COMMAND = Command(JsonOptions, list_models, HELP)
