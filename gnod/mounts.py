"""Finds mount points, and file systems that other machines change without causing events here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

_MOUNT_INFO = Path("/proc/self/mountinfo")
# Network file systems, and those shared with a host or guest. FUSE (`fuse.sshfs`, `fuse.rclone`) is remote, except for
# those that present a local disk.
_REMOTE = frozenset(
    [
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "gfs2", "glusterfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "orangefs", "prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
    ]
)
_LOCAL_FUSE = frozenset({"fuse.ntfs-3g", "fuse.exfat", "fuse.gocryptfs", "fuse.encfs", "fuse.cryfs", "fuse.ext4"})
_OCTAL = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    point: str
    kind: str


def why_without_events(root: str) -> str | None:
    """Return why events do not report all changes below a folder, in words, or None."""
    mounts = _mounts()
    # Resolving links on an unreachable network drive would hang, so check the unresolved path first.
    mount = remote_mount(root, mounts) or remote_mount(os.path.realpath(root), mounts)
    if mount is None:
        return None
    return f"{mount.point} is of type {mount.kind}: changes by other machines cause no events"


def is_mount_point(folder: str) -> bool:
    """Tell whether something is mounted at this folder; a bind mount counts."""
    real = os.path.realpath(folder)
    return os.path.ismount(real) or any(mount.point == real for mount in _mounts())


def parse(text: str) -> list[Mount]:
    """Return the mounts of /proc/self/mountinfo, in its order: later ones cover earlier ones."""
    found = []
    for line in text.splitlines():
        fields, _, rest = line.partition(" - ")
        parts = fields.split(" ")
        if len(parts) > 4 and rest:
            point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), parts[4])
            found.append(Mount(point, rest.split(" ")[0]))
    return found


def remote_mount(root: str, mounts: list[Mount]) -> Mount | None:
    """Return the mount that holds `root`, or one below it, if that is remote."""
    holding = Mount("", "")
    for mount in mounts:
        if _holds(mount.point, root) and len(mount.point) >= len(holding.point):
            holding = mount
    below = [mount for mount in mounts if mount.point != root and _holds(root, mount.point)]
    return next((mount for mount in [holding, *below] if _is_remote(mount.kind)), None)


def _mounts() -> list[Mount]:
    try:
        return parse(_MOUNT_INFO.read_text(errors="surrogateescape"))
    except OSError:  # not Linux
        return []


def _is_remote(kind: str) -> bool:
    return kind in _REMOTE or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE) or kind == "fuse"


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
