"""Why the system refuses to list a folder or to read a file, in words for its owner. Reads nothing."""

from __future__ import annotations

import errno
import os
import sys

# Privacy & Security > Files and Folders has these, below the home folder; Full Disk Access has the rest.
_LISTED = ("Desktop", "Documents", "Downloads")
_VOLUMES = "/Volumes"


def why_refused(error: OSError, platform: str = sys.platform) -> str:
    """Return the reason. What the modes of a file forbid is EACCES; macOS says EPERM where its privacy settings keep
    programs out."""
    if platform == "darwin" and error.errno == errno.EPERM:
        return (
            f"macOS does not allow it. Allow it in System Settings > Privacy & Security > {_pane(error.filename)}, "
            f"for the terminal that started gnod; if gnod is a service, for {os.path.realpath(sys.executable)}"
        )
    return error.strerror or "the system refuses it"


def _pane(name: str | bytes | int | None) -> str:
    """Return where the settings have the permission for a path."""
    path = os.fsdecode(name) if isinstance(name, str | bytes) else ""
    home = os.path.expanduser("~")  # noqa: PTH111
    listed = (_VOLUMES, *(f"{home}/{folder}" for folder in _LISTED))
    return "Files and Folders" if f"{path}/".startswith(tuple(f"{each}/" for each in listed)) else "Full Disk Access"
