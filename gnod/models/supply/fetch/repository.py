"""A repository of the hub with an encoder: decide by its small files whether gnod can use it, then download it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gnod.errors import ModelRejected
from gnod.models.files import Pin
from gnod.models.supply.encoders.files import SMALL_FILES
from gnod.models.supply.encoders.repository import EncoderPlan
from gnod.models.supply.fetch.check import Expected
from gnod.models.supply.fetch.hub import Hub
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Staged, check_space, named, staged
from gnod.models.uris import HubRepository


def fetch(uri: HubRepository, folder: Path, report: OnProgress, expected: Expected) -> Staged:
    """Download what gnod needs into `folder`, continuing an earlier call's download, and make an encoder of it.

    Raises DownloadFailed, ModelNotFound, ModelRejected, StorageFailed, and ModelCorrupt.
    """
    model, hub = folder / "repository", Hub(uri, expected)
    sizes = {entry.path: entry.size for entry in hub.files() if entry.type == "file" and entry.path.count("/") <= 1}
    small = {path: size for path, size in sizes.items() if path.rpartition("/")[2] in SMALL_FILES}
    if not any(path.endswith("config.json") for path in small):
        raise ModelRejected(f"{uri} is not a model that gnod can use: it has no config.json{_gguf(uri, sizes)}")
    hashes = _download(hub, small, model, lambda _: None)
    with named(str(uri)):
        large = {path: sizes[path] for path in EncoderPlan(model, str(uri), list(sizes)).large}
    # There must be space for the files and the encoder.
    check_space(folder, 2 * sum(large.values()))
    hashes |= _download(hub, large, model, report)
    return staged(model, folder, str(uri), report, Pin(hub.revision, hashes))


def _gguf(uri: HubRepository, sizes: Mapping[str, int]) -> str:
    names = sorted(path for path in sizes if path.lower().endswith(".gguf"))
    return f"; it has GGUF files: name one, as in {uri}/{names[0]}" if names else ": choose another model"


def _download(hub: Hub, sizes: Mapping[str, int], model: Path, report: OnProgress) -> dict[str, str]:
    """Download files and return their hashes."""
    hashes, total, done = {}, sum(sizes.values()), 0
    for path, size in sizes.items():
        part = model / path
        part.parent.mkdir(parents=True, exist_ok=True)

        def advance(progress: FetchProgress, before: int = done) -> None:
            if progress.stage == "download":
                report(FetchProgress("download", before + progress.done, total))

        hashes[path] = hub.download(path, part, advance)
        done += size
    return hashes
