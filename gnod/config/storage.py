"""Writes a file so that a crash or a full disk leaves either the old file or the new one, complete."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gnod.atomic_file import replacing
from gnod.errors import StorageFailed
from gnod.private import private_folder

_REASONS = {
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "the operation is not permitted",
}


def write(path: Path, text: str) -> None:
    """Replace the file's content and keep its mode and owner. A symlink stays, and its target is replaced.

    Creates missing folders. Raises StorageFailed.
    """
    with _translated(path):
        target = Path(os.path.realpath(path))
        private_folder(target.parent)
        # os.replace needs permission only for the folder, so it would replace even a read-only file.
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        before = target.stat() if target.exists() else None
        with replacing(target, mode=stat.S_IMODE(before.st_mode) if before else 0o600) as file:
            if before:
                with suppress(PermissionError):
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
            file.write(text.encode())
        sync_folder(target.parent)


def create(path: Path, text: str) -> bool:
    """Write a new file. If it exists, leave it alone and return False. Raises StorageFailed."""
    with _translated(path):
        target = Path(os.path.realpath(path))
        private_folder(target.parent)
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return False
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(descriptor)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
        return True


def sync_folder(folder: Path) -> None:
    """Flush a folder's names to disk, on file systems that support this."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        details: dict[str, object] = {"file": str(path), "errno": error.errno}
        raise StorageFailed(f"{path} cannot be written: {reason}", details) from error
