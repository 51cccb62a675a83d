"""Finds mount points, and file systems that other machines change without causing events here. Asks the system for its
list, so it never waits for a server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

import psutil

# Network file systems, and those shared with a host or guest. FUSE (`fuse.sshfs`, `fuse.rclone`, `fuse.gvfsd-fuse`) is
# remote, except for those that present a local disk.
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
    """Return what is mounted now. Of several file systems at one point, the last one covers the others."""
    return {mount.mountpoint: mount.fstype for mount in psutil.disk_partitions(all=True)}


def remote_mount(path: str, mounted: Mounts) -> RemoteMount | None:
    """Return the mount that holds an absolute path, or one below it, if that is remote. Links are not followed."""
    holding = max((point for point in mounted if holds(point, path)), key=len, default="/")
    below = (point for point in mounted if holds(path, point))
    remote = (point for point in (holding, *below) if _is_remote(mounted.get(point, "")))
    return next((RemoteMount(point, mounted[point]) for point in remote), None)


def is_mount_point(folder: str) -> bool:
    """Tell whether something is mounted at this folder; a bind mount counts."""
    real = os.path.realpath(folder)
    return os.path.ismount(real) or real in mounts()


def holds(folder: str, path: str) -> bool:
    """Tell whether a path is a folder, or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_remote(kind: str) -> bool:
    return kind in _REMOTE or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)
