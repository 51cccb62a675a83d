"""A repository of the hub with an encoder: decide by its small files whether gnod can use it, then download it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gnod.errors import ModelRejected
from gnod.models.supply.encoders.files import SMALL_FILES
from gnod.models.supply.encoders.repository import EncoderPlan
from gnod.models.supply.fetch import hub, preparing
from gnod.models.supply.fetch.hub_errors import translate
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Staged, check_space
from gnod.models.uris import HubRepository


def fetch(uri: HubRepository, folder: Path, report: OnProgress) -> Staged:
    """Download what gnod needs into `folder`, continuing an earlier call's download, and make an encoder of it.

    Raises DownloadFailed, ModelNotFound, ModelRejected, Offline, StorageFailed, and ModelCorrupt.
    """
    model = folder / "repository"
    try:
        sizes = _listing(uri)
        small = {path: size for path, size in sizes.items() if path.rpartition("/")[2] in SMALL_FILES}
        if not any(path.endswith("config.json") for path in small):
            raise ModelRejected(f"{uri} is not a model that gnod can use: it has no config.json{_gguf(uri, sizes)}")
        # Look up the commit, so that a change of the repository cannot mix two models.
        commit = hub.look_up(str(uri), uri.repository, next(iter(small))).commit
        _download(uri, commit, small, model, _silent)
        with preparing.named(str(uri)):
            large = {path: sizes[path] for path in EncoderPlan(model, str(uri), list(sizes)).large}
        # There must be space for the files and the encoder.
        check_space(folder, 2 * sum(large.values()))
        _download(uri, commit, large, model, report)
    except Exception as error:
        raise translate(error, str(uri), uri.repository, folder) from None
    return preparing.staged(model, folder, str(uri), f"https://huggingface.co/{uri.repository}", report)


def _listing(uri: HubRepository) -> dict[str, int]:
    """Return the sizes of the files in the repository and in the folders of its modules."""
    entries = hub.retrying(lambda: hub.tree(uri.repository))
    return {entry.path: entry.size for entry in entries if entry.type == "file" and entry.path.count("/") <= 1}


def _gguf(uri: HubRepository, sizes: Mapping[str, int]) -> str:
    names = sorted(path for path in sizes if path.lower().endswith(".gguf"))
    return f"; it has GGUF files: name one, as in {uri}/{names[0]}" if names else ": choose another model"


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
