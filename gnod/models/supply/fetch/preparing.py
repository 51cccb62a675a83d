"""Make ready what was downloaded, or a folder of this machine: check a GGUF file, or write an encoder's files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models import encoder
from gnod.models.files import MAGIC, NO_PIN, Pin
from gnod.models.supply.fetch.check import check_model, sha256_of
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Staged


def staged(model: Path, folder: Path, name: str, report: OnProgress, pin: Pin = NO_PIN) -> Staged:
    """Return the GGUF file itself, or an encoder's files, in `folder`. Raises ModelCorrupt, ModelRejected."""
    files, profile = [model], None
    if not _begins(model, MAGIC):
        from gnod.models.supply.encoders import repository  # the import takes 0.3 s

        if not repository.accepts(model):
            raise ModelRejected(
                f"{name} is not a model that gnod can use: neither GGUF, nor a folder with config.json and weights",
                {"uri": name},
            )
        report(FetchProgress("prepare", 0))
        with named(name):
            profile = repository.prepare(model, folder / "encoder", name=name)
        files = [folder / "encoder" / each for each in (encoder.MODEL, encoder.TOKENIZER, encoder.SETTINGS)]
    else:
        check_model(model, name)
    size = files[0].stat().st_size
    digest = sha256_of(files[0], lambda done: report(FetchProgress("check", done, size)))
    return Staged(files, digest, pin, profile)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Say in an error of the preparation which model it is about."""
    try:
        yield
    except (ModelCorrupt, ModelRejected) as error:
        raise type(error)(f"{name} cannot be used: {error.message}", {"uri": name}) from None


def _begins(path: Path, magic: bytes) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(magic)) == magic
