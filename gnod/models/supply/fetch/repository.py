"""A repository of the hub with safetensors: decide by its small files whether it can be converted, then download it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from huggingface_hub import HfApi

from gnod.errors import ModelNotFound, ModelRejected
from gnod.models.supply.convert import tokenizer
from gnod.models.supply.convert.layout import SMALL_FILES, modules_with_weights, read_modules, root, weight_files
from gnod.models.supply.convert.repository import ConversionPlan, Remote, read_config
from gnod.models.supply.convert.safetensors import LENGTH_BYTES, header_length
from gnod.models.supply.fetch import conversion, hub
from gnod.models.supply.fetch.hub_errors import translate
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Staged, check_space
from gnod.models.uris import HubRepository


def fetch(uri: HubRepository, folder: Path, report: OnProgress) -> Staged:
    """Download what the conversion needs into `folder`, continuing an earlier call's download, and convert it.

    Raises DownloadFailed, ModelNotFound, ModelRejected, Offline, StorageFailed, and ModelCorrupt.
    """
    model = folder / "repository"
    try:
        sizes = _listing(uri)
        small = {path: size for path, size in sizes.items() if path.rpartition("/")[2] in SMALL_FILES}
        if not small:
            raise ModelRejected(f"{uri} is not a model that gnod can convert: it has no config.json{_gguf(uri, sizes)}")
        # Look up the commit, so that a change of the repository cannot mix two models.
        commit = hub.look_up(str(uri), uri.repository, next(iter(small))).commit
        _download(uri, commit, small, model, _silent)
        with conversion.named(str(uri)):
            read_config(model / root(read_modules(model)))
        weights = _weights(uri, model, sizes)
        with conversion.named(str(uri)):
            ConversionPlan(model, str(uri), {path: _header(uri, commit, path) for path in weights})
        # There must be space for the files and the converted one.
        check_space(folder, 2 * sum(weights.values()))
        texts = {path: size for path, size in sizes.items() if path.rpartition("/")[2] in tokenizer.FILES}
        _download(uri, commit, texts | weights, model, report)
    except Exception as error:
        raise translate(error, str(uri), uri.repository, folder) from None
    return conversion.staged(model, folder, str(uri), f"https://huggingface.co/{uri.repository}", report)


def _listing(uri: HubRepository) -> dict[str, int]:
    """Return the sizes of the files in the repository and in the folders of its modules."""
    entries = hub.retrying(lambda: list(HfApi().list_repo_tree(uri.repository, recursive=True)))
    sizes = {entry.path: size for entry in entries if isinstance(size := getattr(entry, "size", None), int)}
    return {path: size for path, size in sizes.items() if path.count("/") <= 1}


def _weights(uri: HubRepository, model: Path, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes of the weights that the conversion needs. Raises ModelRejected."""
    needed = [path for module in modules_with_weights(model) for path in weight_files(model, module)]
    if missing := [path for path in needed if path not in sizes]:
        raise ModelRejected(
            f"{uri} has no safetensors ({missing[0]}), and gnod cannot convert other weights{_gguf(uri, sizes)}",
            {"uri": str(uri)},
        )
    return {path: sizes[path] for path in needed}


def _gguf(uri: HubRepository, sizes: Mapping[str, int]) -> str:
    names = sorted(path for path in sizes if path.lower().endswith(".gguf"))
    return f"; it has GGUF files: name one, as in {uri}/{names[0]}" if names else ": choose another model"


def _header(uri: HubRepository, commit: str | None, path: str) -> Remote:
    """Return the header of a file of weights, without the rest of it."""
    target = hub.look_up(str(uri), uri.repository, path, revision=commit)
    if target.bytes is None:
        raise ModelNotFound(f"{path} of {uri} has no size", {"uri": str(uri)})
    start = hub.retrying(lambda: hub.first_bytes(target, 0, LENGTH_BYTES))
    length = header_length(path, start, target.bytes)
    return Remote(hub.retrying(lambda: hub.first_bytes(target, LENGTH_BYTES, length)), target.bytes)


def _download(
    uri: HubRepository, commit: str | None, sizes: Mapping[str, int], model: Path, report: OnProgress
) -> None:
    total, done = sum(sizes.values()), 0
    for path, size in sizes.items():
        target = hub.look_up(f"{uri}/{path}", uri.repository, path, revision=commit)
        part = model / path
        part.parent.mkdir(parents=True, exist_ok=True)

        def advance(progress: FetchProgress, before: int = done) -> None:
            report(FetchProgress("download", before + progress.done, total))

        hub.download(target, part, advance)
        hub.check_size(target, part)
        hub.check_hash(target, part, _silent)
        done += size


def _silent(_: FetchProgress) -> None: ...
