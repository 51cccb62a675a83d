"""Explain to users why a file cannot be read: the system refuses, or a cloud folder has only its name on this machine,
so that reading would download it.

No function opens a file. On macOS, this process also tells the system not to download files that it reads
(`refuse_downloads`); such reads fail with EDEADLK.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable

# Names of placeholder files: iCloud before macOS 14; Nextcloud, ownCloud and odrive on Linux.
_STANDS_FOR = re.compile(r"\.(?P<icloud>.+)\.icloud|(?P<other>.+)\.(?:nextcloud|owncloud|cloudf?)")
_LARGEST = 4096  # bytes
# SF_DATALESS of macOS: iCloud, OneDrive, Dropbox and others store the size of a file, but not its content.
_DATALESS = 0x40000000
# OneDrive's file system for Linux (onedriver) stores the state of each file in this attribute.
_ONEDRIVER = "user.onedriver.status"
# Windows attributes of files whose content is downloaded when they are opened or read.
_NTFS = "system.ntfs_attrib_be"
_OFFLINE = 0x1000 | 0x40000 | 0x400000

# From sys/resource.h of macOS: IOPOL_TYPE_VFS_MATERIALIZE_DATALESS_FILES, IOPOL_SCOPE_PROCESS, and ..._OFF.
_POLICY = (3, 0, 1)
NOT_HERE = "in a cloud folder and not downloaded"
# macOS lists these folders of the home folder in Privacy & Security > Files and Folders. Full Disk Access covers the
# rest.
_LISTED = ("Desktop", "Documents", "Downloads")
_VOLUMES = "/Volumes"

_attribute: Callable[[str, str], bytes] | None = getattr(os, "getxattr", None)


def not_downloaded(path: str, found: os.stat_result) -> str | None:
    """Return a sentence that says where the content of a file is; None if it is on this machine."""
    name = stands_for(os.path.basename(path))  # noqa: PTH119
    if name and found.st_size <= _LARGEST:
        return f"{name} is {NOT_HERE}."
    if is_dataless(found) or _of_attributes(path):
        return f"The file is {NOT_HERE}."
    return None


def stands_for(name: str) -> str | None:
    """Return the name of the file that a placeholder with this name represents; None if it is not a placeholder."""
    found = _STANDS_FOR.fullmatch(name)
    return (found["icloud"] or found["other"]) if found else None


def is_dataless(found: os.stat_result) -> bool:
    """Return whether macOS would download the content of a file, or the names in a folder."""
    return bool(getattr(found, "st_flags", 0) & _DATALESS)


def refuse_downloads() -> None:
    """Prevent downloads by reads of this process. Child processes inherit this."""
    if sys.platform == "darwin":
        import ctypes

        ctypes.CDLL(None).setiopolicy_np(*_POLICY)


def why_refused(error: OSError, platform: str = sys.platform) -> str:
    """Return why the system does not list a folder or read a file. Permissions of the file cause EACCES; the privacy
    settings of macOS cause EPERM."""
    if platform == "darwin" and error.errno == errno.EPERM:
        return (
            f"macOS does not allow it. Allow it in System Settings > Privacy & Security > {_pane(error.filename)}, "
            f"for the terminal that started gnod; if gnod is a service, for {os.path.realpath(sys.executable)}"
        )
    return error.strerror or "the system refuses access"


def _of_attributes(path: str) -> bool:
    return _read(path, _ONEDRIVER) == b"Cloud" or bool(int.from_bytes(_read(path, _NTFS), "big") & _OFFLINE)


def _read(path: str, name: str) -> bytes:
    if _attribute is None:
        return b""
    with contextlib.suppress(OSError, ValueError):
        return _attribute(path, name)
    return b""


def _pane(name: str | bytes | int | None) -> str:
    """Return the pane of the settings that has the permission for a path."""
    path = os.fsdecode(name) if isinstance(name, str | bytes) else ""
    home = os.path.expanduser("~")  # noqa: PTH111
    listed = (_VOLUMES, *(f"{home}/{folder}" for folder in _LISTED))
    return "Files and Folders" if f"{path}/".startswith(tuple(f"{each}/" for each in listed)) else "Full Disk Access"
