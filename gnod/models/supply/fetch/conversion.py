"""Make a GGUF file of what was downloaded, or of a folder of this machine, and check it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.files import MAGIC
from gnod.models.supply.fetch.check import check_model, sha256_of
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Staged


def staged(model: Path, folder: Path, name: str, source: str, report: OnProgress) -> Staged:
    """Return the model, converted in `folder` unless it is a GGUF file already. Raises ModelCorrupt, ModelRejected."""
    path, profile = model, None
    if not _begins(model, MAGIC):
        from gnod.models.run.llama import library
        from gnod.models.supply.convert import e5, repository  # the import takes 0.3 s

        report(FetchProgress("convert", 0))
        path = folder / "converted.gguf"
        if repository.accepts(model):
            with named(name):
                weights: repository.WeightsType = "bf16" if library.prefers_bf16() else "f16"
                profile = repository.convert(model, path, name=name, weights=weights)
        elif e5.accepts(model):
            e5.convert(model, path)
        else:
            raise ModelRejected(
                f"{name} is not a model that gnod can use: neither GGUF, nor a folder with config.json and "
                "model.safetensors",
                {"uri": name},
            )
    check_model(path, name)
    size = path.stat().st_size
    digest = sha256_of(path, lambda done: report(FetchProgress("check", done, size)))
    return Staged(path, digest, source, profile)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Say in an error of the conversion which model it is about."""
    try:
        yield
    except (ModelCorrupt, ModelRejected) as error:
        raise type(error)(f"{name} cannot be converted: {error.message}", {"uri": name}) from None


def _begins(path: Path, magic: bytes) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(magic)) == magic
