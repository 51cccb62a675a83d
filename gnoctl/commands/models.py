"""`gnoctl models …`: the language models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.standard_input import confirmed
from gnoctl.command import JsonOptions, command
from gnoctl.preset_choice import choose_preset, network, note_in_force, pulled
from gnoctl.printing import text
from gnoctl.printing.output import note, print_json
from gnoctl.printing.terminal import BOLD, columns
from gnoctl.printing.wording import count, size
from gnod.errors import EXIT_RUNTIME, UsageError
from gnod.presets import MODEL_ROLES, NO_PRESET, PRESETS
from gnod.protocol import models as wire
from gnod.protocol.base import NoParams


def _model(default: str = "") -> object:
    more = f" [default: {default}]" if default else ""
    return argument(
        "MODEL", f"A role (embed, rerank, expand, answer) or an address{more}", complete="|".join(MODEL_ROLES)
    )


@command("models list", JsonOptions)
def list_models(options: JsonOptions) -> None:
    """List the presets and the models.

    Marks the active preset; `gnoctl models use` changes it. For each preset: the memory that a search needs with its
    models loaded. For each model: its use, whether it is installed, and its
    address. A collection may have its own models, set in index.yml. `~` marks the size of a download.
    """
    result = options.call("models.list", NoParams(), wire.ModelsListResult)
    options.show(result, _list(result, options))


def _list(result: wire.ModelsListResult, options: JsonOptions) -> Iterator[str]:
    for preset in result.presets:
        line = text.line(_preset(preset))
        yield options.terminal.paint(f"* {line}", BOLD) if preset.active else f"  {line}"
    yield ""
    rows = [[_uses(model), _state(model), _size(model), model.name, model.uri] for model in result.models]
    yield from columns(["used for", "installed", "size", "model", "address"], rows, options.terminal)
    yield ""
    yield from map(text.line, _reading(result))
    yield text.line(f"{size(result.total_bytes)} in {result.models_dir}")
    if any(model.uses and not (model.installed or model.remote) for model in result.models):
        options.note("Some models are not installed: run `gnoctl models pull`, or `gnoctl models pull embed` for one")


def _reading(result: wire.ModelsListResult) -> Iterator[str]:
    for model in result.models:
        if model.measuring:
            yield f"{model.name}: what it can read is being measured"
        if model.reads:
            languages = f"reads {', '.join(sorted(model.reads.languages))}"
            unread = ", ".join(script.lower() for script in model.reads.unread_scripts)
            yield f"{model.name} {languages}{f'; cannot read the scripts {unread}' if unread else ''}"


def _preset(preset: wire.ModelPreset) -> str:
    roles = [role for role, uri in preset.models.items() if uri]
    return f"{preset.name:<18}  {size(preset.memory_bytes):>8}  {', '.join(roles)}"


def _uses(model: wire.ModelInfo) -> str:
    uses = [use.role if use.collection is None else f"{use.role} of {use.collection}" for use in model.uses]
    return ", ".join(uses) or "nothing"


def _state(model: wire.ModelInfo) -> str:
    if model.fetching:
        return "downloading"
    if model.remote:
        return "on a server"
    if model.installed:
        return "yes"
    return "partly" if model.partial_bytes else "no"


def _size(model: wire.ModelInfo) -> str:
    if model.installed or model.partial_bytes:
        return size(model.bytes or model.partial_bytes)
    return f"~{size(model.download_bytes)}" if model.download_bytes else "-"


_PRESET_CHOICES = ("auto", NO_PRESET, *PRESETS)


class UseOptions(JsonOptions, frozen=True, kw_only=True):
    preset: Annotated[
        str,
        argument("PRESET", f"auto, none, or one of {', '.join(PRESETS)}", complete="|".join(_PRESET_CHOICES)),
    ]
    yes: Annotated[bool, option("-y, --yes", "With auto: download the models without asking")] = False


@command("models use", UseOptions)
def use(options: UseOptions) -> int:
    """Choose the preset of models.

    Writes it to index.yml. `gnoctl models pull` downloads the models. Until all documents have vectors of the new
    model, searches use the old vectors. `auto` chooses by the graphics card, the number of cores,
    the free memory and the languages of your documents, says why, and asks before it downloads anything. `none` leaves
    keyword search. A model that index.yml names itself, for a role or a collection, stays in force: the command says
    which.

    Examples:
      gnoctl models use auto
      gnoctl models use mini-multilingual
      gnoctl models pull embed
    """
    if options.preset == "auto":
        with options.connect() as daemon:
            chosen = choose_preset(daemon, options, yes=options.yes)
        if options.json:
            print_json(chosen)
        return 0 if chosen.preset else EXIT_RUNTIME
    result = options.call("models.use", wire.ModelsUseParams(preset=options.preset), wire.ModelsUseResult)
    if result.preset == result.previous:
        line = f"{result.preset} is already the active preset"
    else:
        line = f"{result.preset} is now the active preset (before: {result.previous})"
    options.show(result, text.line(line))
    note_in_force(options, result)
    if result.missing and not options.json:
        listed = "".join(f"\n  {uri}" for uri in result.missing)
        missing = f"{count(len(result.missing), 'model')} not installed: run `gnoctl models pull`"
        options.note(f"{missing} (for vector search, `gnoctl models pull embed` is enough):{listed}")
    return 0


class PullOptions(JsonOptions, frozen=True, kw_only=True):
    models: Annotated[list[str], _model("all models in use")] = []
    force: Annotated[bool, option("--force", "Download installed models again")] = False
    accept: Annotated[str, option("--accept", "Accept a file with another hash than known", "SHA256")] = ""


@command("models pull", PullOptions)
def pull(options: PullOptions) -> None:
    """Download the models that are in use and not installed.

    Ctrl-C stops the download; the next pull continues it. Proxies (HTTPS_PROXY, …), mirrors (HF_ENDPOINT,
    PIP_INDEX_URL) and HF_TOKEN are taken from this terminal. HF_HUB_OFFLINE=1 and GNO_OFFLINE=1 forbid downloads.

    A model that a server runs (https://host:port/v1#model) is not downloaded. With --force and its whole address, gnod
    accepts that the server has another model now, and embeds everything again.

    Examples:
      gnoctl models pull
      gnoctl models pull embed
      gnoctl models pull hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf
    """
    params = wire.ModelsPullParams(models=options.models, force=options.force, accept=options.accept, network=network())
    result = options.call("models.pull", params, wire.ModelsPullResult, shows_progress=True)
    options.show(result, pulled(result))
    if not result.models and not options.json:
        options.note("There is nothing to download: no model is in use that this machine runs")


class ClearOptions(JsonOptions, frozen=True, kw_only=True):
    models: Annotated[list[str], _model()] = []
    everything: Annotated[bool, option("--all", "All models, including unused and incomplete ones")] = False
    yes: Annotated[bool, option("-y, --yes", "Do not ask")] = False


@command("models clear", ClearOptions)
def clear(options: ClearOptions) -> int:
    """Delete models from the disk.

    Searches do without a deleted model until `gnoctl models pull` downloads it again. Files of `file:` addresses are
    yours and stay.

    Examples:
      gnoctl models clear answer
      gnoctl models clear --all
    """
    if bool(options.models) == options.everything:
        raise UsageError("name the models (roles or addresses), or use --all; `gnoctl models list` shows them")
    what = "all models" if options.everything else ", ".join(options.models)
    if not options.yes and not confirmed(f"Delete {what} from this machine?"):
        note("Nothing was deleted")
        return 1
    params = wire.ModelsClearParams(models=options.models, everything=options.everything)
    result = options.call("models.clear", params, wire.ModelsClearResult)
    options.show(result, _cleared(result, options))
    return 0


def _cleared(result: wire.ModelsClearResult, options: ClearOptions) -> Iterator[str]:
    for model in result.models:
        yield text.line(f"deleted {model.uri}" if model.freed_bytes else f"not installed: {model.uri}")
    for uri in result.kept:
        options.note(text.line(f"kept {uri}: {'the file is yours' if uri.startswith('file:') else 'a server runs it'}"))
    yield f"freed {size(result.freed_bytes)}"


class PathOptions(JsonOptions, frozen=True, kw_only=True):
    model: Annotated[str | None, _model("the folder of all models")] = None


@command("models path", PathOptions)
def path(options: PathOptions) -> None:
    """Print the path of a model file, or of the folder of all models.

    Examples:
      gnoctl models path
      llama-cli -m "$(gnoctl models path answer)"
    """
    result = options.call("models.path", wire.ModelsPathParams(model=options.model), wire.ModelsPathResult)
    options.show(result, text.line(result.path))
