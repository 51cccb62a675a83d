"""Find mount points, and file systems that other machines can change without events on this machine.

The system has a list of them, so this module never waits for a server.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

import psutil

# Network file systems, and file systems shared with a host or guest. FUSE (`fuse.sshfs`, `fuse.rclone`,
# `fuse.gvfsd-fuse`) counts as remote, except for types that present a local disk.
_REMOTE = frozenset(
    [
        *("9p", "afs", "autofs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "gfs2", "glusterfs", "lustre"),
        *("ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
        # macOS and BSD
        *("acfs", "afpfs", "ftp", "fuse", "fuse4x", "fusefs", "macfuse", "osxfuse", "osxfusefs", "webdav"),
    ]
)
_LOCAL_FUSE = frozenset({"fuse.ntfs-3g", "fuse.exfat", "fuse.gocryptfs", "fuse.encfs", "fuse.cryfs", "fuse.ext4"})

Mounts = Mapping[str, str]
"""Mount points, and the types of their file systems."""


class RemoteMount(NamedTuple):
    point: str
    kind: str


def mounts() -> Mounts:
    """Return the current mounts. If several file systems are mounted at one point, the last one hides the others."""
    return {mount.mountpoint: mount.fstype for mount in psutil.disk_partitions(all=True)}


def remote_mount(path: str, mounted: Mounts) -> RemoteMount | None:
    """Return the mount that holds an absolute path, or a mount below it, if it is remote. Links are not followed."""
    holding = max((point for point in mounted if holds(point, path)), key=len, default="/")
    below = (point for point in mounted if holds(path, point))
    remote = (point for point in (holding, *below) if _is_remote(mounted.get(point, "")))
    return next((RemoteMount(point, mounted[point]) for point in remote), None)


def is_mount_point(folder: str) -> bool:
    """Return whether something is mounted at this folder; a bind mount counts."""
    real = os.path.realpath(folder)
    return os.path.ismount(real) or real in mounts()


def holds(folder: str, path: str) -> bool:
    """Return whether a path is the folder itself or is below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_remote(kind: str) -> bool:
    return kind in _REMOTE or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)
