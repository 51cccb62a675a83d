"""Files of cloud folders that are not on this machine: only their names are here. To read one would download it.

No function opens a file. On macOS, the system also refuses to download what this process reads (`refuse_downloads`):
reading fails with EDEADLK.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable

# The files that stand for others, by their names: iCloud before macOS 14; Nextcloud, ownCloud and odrive on Linux.
_STANDS_FOR = re.compile(r"\.(?P<icloud>.+)\.icloud|(?P<other>.+)\.(?:nextcloud|owncloud|cloudf?)")
_LARGEST = 4096  # bytes
# SF_DATALESS of macOS: iCloud, OneDrive, Dropbox and others keep the size of a file, but not its content.
_DATALESS = 0x40000000
# OneDrive's file system for Linux (onedriver) notes the state of each file.
_ONEDRIVER = "user.onedriver.status"
# Attributes of Windows: the content is recalled when a file is opened, or read.
_NTFS = "system.ntfs_attrib_be"
_OFFLINE = 0x1000 | 0x40000 | 0x400000

# Of sys/resource.h of macOS: IOPOL_TYPE_VFS_MATERIALIZE_DATALESS_FILES, IOPOL_SCOPE_PROCESS, and ..._OFF.
_POLICY = (3, 0, 1)
NOT_HERE = "in a cloud folder and not downloaded"

_attribute: Callable[[str, str], bytes] | None = getattr(os, "getxattr", None)


def not_downloaded(path: str, found: os.stat_result) -> str | None:
    """Return where the content of a file is; None if it is on this machine."""
    name = stands_for(os.path.basename(path))  # noqa: PTH119
    if name and found.st_size <= _LARGEST:
        return f"{name} is {NOT_HERE}."
    if is_dataless(found) or _of_attributes(path):
        return f"The file is {NOT_HERE}."
    return None


def stands_for(name: str) -> str | None:
    """Return the name of the file that a file with this name stands for, if it does."""
    found = _STANDS_FOR.fullmatch(name)
    return (found["icloud"] or found["other"]) if found else None


def is_dataless(found: os.stat_result) -> bool:
    """Tell whether macOS would fetch the content of a file, or the names in a folder."""
    return bool(getattr(found, "st_flags", 0) & _DATALESS)


def refuse_downloads() -> None:
    """Let no read of this process download a file. Its children inherit that."""
    if sys.platform == "darwin":
        import ctypes

        ctypes.CDLL(None).setiopolicy_np(*_POLICY)


def _of_attributes(path: str) -> bool:
    return _read(path, _ONEDRIVER) == b"Cloud" or bool(int.from_bytes(_read(path, _NTFS), "big") & _OFFLINE)


def _read(path: str, name: str) -> bytes:
    if _attribute is None:
        return b""
    with contextlib.suppress(OSError, ValueError):
        return _attribute(path, name)
    return b""
