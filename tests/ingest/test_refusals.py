"""Privacy settings of macOS, imitated: there the system answers EPERM to listing and opening, but not to stat."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnod.ingest.files.unreadable import why_refused
from tests.ingest.syncing import syncing
from tests.small_index import SmallIndex


def refusal(path: str, number: int = errno.EPERM) -> OSError:
    return OSError(number, os.strerror(number), path)


@pytest.mark.parametrize(
    ("path", "pane"),
    [
        ("~/Documents", "Files and Folders"),
        ("~/Desktop/notes/a.md", "Files and Folders"),
        ("~/Downloads/x", "Files and Folders"),
        ("/Volumes/STICK/notes", "Files and Folders"),
        ("~/Library/Mail", "Full Disk Access"),
        ("~/Documents-old", "Full Disk Access"),
    ],
)
def test_the_owner_learns_where_to_allow_it_and_for_which_program(path: str, pane: str) -> None:
    reason = why_refused(refusal(str(Path(path).expanduser())), "darwin")
    assert f"System Settings > Privacy & Security > {pane}," in reason
    assert "the terminal that started gnod" in reason
    assert os.path.realpath(sys.executable) in reason


@pytest.mark.parametrize(
    ("number", "platform"), [(errno.EACCES, "darwin"), (errno.EPERM, "linux"), (errno.EIO, "darwin")]
)
def test_other_refusals_are_said_as_the_system_says_them(number: int, platform: str) -> None:
    assert why_refused(refusal("/notes", number), platform) == os.strerror(number)
    assert why_refused(OSError(), platform) == "the system refuses it"


def refusing(call: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    def refuse(path: Any, *arguments: Any, **options: Any) -> Any:
        if str(path).rstrip("/").startswith(str(folder)):
            raise refusal(str(path))
        return call(path, *arguments, **options)

    return refuse


@pytest.mark.slow
async def test_documents_stay_when_the_permission_is_withdrawn(
    small_index: SmallIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "home"
    (root / "Documents").mkdir(parents=True)
    (root / "a.md").write_text("# Zebra\n")
    (root / "Documents/b.md").write_text("# Zebra too\n")
    async with syncing(small_index, root) as sync:
        await sync()
        with monkeypatch.context() as patched:
            patched.setattr(os, "scandir", refusing(os.scandir, root / "Documents"))
            report = await sync()
            assert (report.available, report.removed, report.failed) == (True, 0, 1)
            patched.setattr(os, "scandir", refusing(os.scandir, root))
            report = await sync()
            assert not report.available
            assert report.reason == f"the folder {root} cannot be read: Operation not permitted"
        assert small_index.search("zebra") == ["a.md", "Documents/b.md"]
        assert (await sync()).failed == 0
