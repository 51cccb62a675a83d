"""Test which folders get no events for changes by other machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.disks.mounts import mounts, remote_mount
from gnod.freshness.events import open_source
from gnod.freshness.events.source import FileEvents, NotWatchable

MOUNTED = {
    "/": "ext4",
    "/home/ann/team": "nfs4",
    "/home/ann/my drive": "fuse.sshfs",
    "/home/ann/team/local": "tmpfs",
    "/home/ann/vault": "fuse.gocryptfs",
    "/media/stick": "fuseblk",
    "/run/user/1000/gvfs": "fuse.gvfsd-fuse",
    "/mnt/cloud": "fuse.rclone",
    "/net": "autofs",
    "/Volumes/Team": "smbfs",
    "/Volumes/Old Mac": "afpfs",
    "/Volumes/Stick": "exfat",
}


@pytest.mark.parametrize(
    ("root", "point"),
    [
        ("/home/ann/notes", None),
        ("/home/ann/team", "/home/ann/team"),
        ("/home/ann/team/2026/plans", "/home/ann/team"),
        ("/home/ann/teamwork", None),
        ("/home/ann/my drive/x", "/home/ann/my drive"),
        ("/media/stick/notes", None),
        ("/home/ann/team/local/x", None),
        ("/home/ann/vault", None),
        ("/home/ann", "/home/ann/team"),  # a part of the folder is remote
        ("/run/user/1000/gvfs/smb-share:server=nas/docs", "/run/user/1000/gvfs"),
        ("/mnt/cloud/docs", "/mnt/cloud"),
        ("/net/server", "/net"),
        ("/Volumes/Team/docs", "/Volumes/Team"),
        ("/Volumes/Old Mac", "/Volumes/Old Mac"),
        ("/Volumes/Stick", None),
    ],
)
def test_remote_folders_are_known(root: str, point: str | None) -> None:
    found = remote_mount(root, MOUNTED)
    assert (found.point if found else None) == point


def test_the_mounts_of_this_machine_are_known(tmp_path: Path) -> None:
    assert "/" in mounts()
    assert remote_mount(str(tmp_path), mounts()) is None


async def test_a_network_folder_cannot_be_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[FileEvents] = []
    monkeypatch.setattr("gnod.freshness.events.mounts", lambda: MOUNTED)
    with pytest.raises(NotWatchable, match=r"network folder \(smbfs at /Volumes/Team\)"):
        open_source("/Volumes/Team/docs", heard.append)
