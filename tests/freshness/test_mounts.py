"""Which folders get no events of what others change."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.mounts import Mount, parse, remote_mount, why_without_events

MOUNTS = parse(
    "\n".join(
        [
            "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
            "40 21 0:35 / /home/ann/team rw,nosuid - nfs4 server:/team rw,vers=4.2",
            "41 21 0:36 / /home/ann/my\\040drive rw - fuse.sshfs host: rw",
            "42 21 8:17 / /media/stick rw - fuseblk /dev/sdb1 rw",
            "43 40 0:40 / /home/ann/team/local rw - tmpfs tmpfs rw",
            "44 21 0:44 / /home/ann/vault rw - fuse.gocryptfs /home/ann/.vault rw",
            "45 21 0:45 / /srv rw - nfs a:/ rw",
            "46 21 8:33 / /srv rw - ext4 /dev/sdc1 rw",
            "nonsense",
        ]
    )
)


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
        ("/home/ann", "/home/ann/team"),  # a part of it is remote
        ("/srv/docs", None),  # a local disk lies over it
    ],
)
def test_remote_folders_are_known(root: str, point: str | None) -> None:
    found = remote_mount(root, MOUNTS)
    assert (found.point if found else None) == point


def test_the_reason_names_the_mount_and_its_type() -> None:
    assert remote_mount("/home/ann/team", MOUNTS) == Mount("/home/ann/team", "nfs4")


def test_a_folder_of_this_machine_has_events(tmp_path: Path) -> None:
    assert why_without_events(str(tmp_path)) is None
