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
from gnod.errors import DownloadFailed, GnoError, Offline
from gnod.protocol import models as wire

_REASONS = {
    "languages": "does not read these languages",
    "memory": "needs more memory",
    "card": "needs a graphics card",
    "time": "would take over an hour to embed them",
    "reranking": "reads too slowly here to rerank",
    "download": "comes from the model hub, which cannot be reached now",
}
# Search needs these. The others are larger, and answer questions.
_SEARCH_ROLES = ("embed", "rerank")


def network() -> dict[str, str]:
    """Return the variables of this terminal for downloads. Programs that read them treat an empty one as unset."""
    return {name: value for name in wire.NETWORK_VARIABLES if (value := os.environ.get(name))}


def choose_preset(daemon: Connection, options: JsonOptions, *, yes: bool) -> wire.ModelsRecommendResult:
    """Choose a preset, write it to index.yml, and download its models for search if the user agrees. If the hub cannot
    be reached, choose again among those that do not need it."""
    chosen = _choose(daemon, options, without_hub=False)
    if chosen.preset and not _download(daemon, options, chosen, yes=yes):
        other = _recommended(daemon, without_hub=True)
        if other.preset not in (None, chosen.preset) and _needs_no_hub(other):
            line = f"{chosen.preset} would be better: run `gnoctl models use auto` when the hub can be reached"
            options.note(text.line(line))
            chosen = _choose(daemon, options, without_hub=True)
            _download(daemon, options, chosen, yes=yes)
    return chosen


def _recommended(daemon: Connection, *, without_hub: bool) -> wire.ModelsRecommendResult:
    return daemon.call(
        "models.recommend", wire.ModelsRecommendParams(without_hub=without_hub), wire.ModelsRecommendResult
    )


def _needs_no_hub(chosen: wire.ModelsRecommendResult) -> bool:
    return all(each.installed or not each.uri.startswith("hf:") for each in chosen.models if "embed" in each.roles)


def _choose(daemon: Connection, options: JsonOptions, *, without_hub: bool) -> wire.ModelsRecommendResult:
    chosen = _recommended(daemon, without_hub=without_hub)
    if chosen.preset is None:
        languages = ", ".join((*chosen.languages, *map(str.lower, chosen.scripts)))
        options.note(text.line(f"No preset reads these documents ({languages}): keyword search finds them"))
        return chosen
    use_preset(daemon, options, chosen.preset)
    if not options.json:
        for line in explained(chosen):
            print(text.line(line))
    return chosen


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
    # Models that can be downloaded later have a note of their own, and the user knows whether there is a card.
    reasons = [each for each in chosen.better if each.reason not in ("download", "card")] or chosen.better
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


def _download(daemon: Connection, options: JsonOptions, chosen: wire.ModelsRecommendResult, *, yes: bool) -> bool:
    """Download the models for search if the user agrees; otherwise, say what to do. Returns false if the hub, or the
    index, could not be reached."""
    missing = [model for model in chosen.models if not model.installed and _is_for_search(model)]
    failed = False
    if missing and _agreed(missing, yes=yes, asks=not options.json):
        params = wire.ModelsPullParams(models=[each.uri for each in missing], network=network())
        try:
            with options.progress() as progress:
                done = daemon.call("models.pull", params, wire.ModelsPullResult, on_progress=progress)
        except GnoError as error:  # the folder is indexed and the preset chosen, so the command has not failed
            options.note(text.line(f"The download failed: {error.message}"))
            failed = isinstance(error, DownloadFailed | Offline)
        else:
            missing = []
            if not options.json:
                print("\n".join(pulled(done)))
    if missing:
        roles = " ".join(role for each in missing for role in each.roles if role in _SEARCH_ROLES)
        options.note(f"Keyword search works now; `gnoctl models pull {roles}` downloads the rest")
    return not failed


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
