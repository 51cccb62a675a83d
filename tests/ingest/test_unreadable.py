"""Test files that cannot be read: placeholders of cloud folders, which are never opened, and files that the privacy
settings of macOS protect. The tests simulate those: the system returns EPERM for listing and opening, but not for
stat."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gnod.config.model import CollectionConfig
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.unreadable import is_dataless, not_downloaded, why_refused
from gnod.ingest.files.walk import walk
from gnod.ingest.workers.source_file import ReadFailed, read_source
from tests.ingest.syncing import syncing
from tests.small_index import SmallIndex


def found(**fields: int) -> os.stat_result:
    """Return a stat with the flags of macOS, which Linux does not have."""
    return cast(os.stat_result, SimpleNamespace(st_size=9000, **fields))


@pytest.mark.parametrize(
    ("name", "stands_for"),
    [
        (".plan.md.icloud", "plan.md"),
        (".Bericht 2026.pdf.icloud", "Bericht 2026.pdf"),
        ("plan.md.nextcloud", "plan.md"),
        ("plan.md.owncloud", "plan.md"),
        ("plan.md.cloud", "plan.md"),
    ],
)
def test_a_placeholder_is_not_read(tmp_path: Path, name: str, stands_for: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"bplist00")
    os.utime(path, ns=(0, 0))
    with pytest.raises(ReadFailed) as failed:
        read_source(str(path), 1000)
    assert failed.value.kind == "not_downloaded"
    assert failed.value.message.startswith(stands_for)
    assert path.stat().st_atime_ns == 0, "the file must not be opened"


@pytest.mark.parametrize("name", ["icloud.md", ".icloud", "plan.icloud", "nextcloud.md", "a.cloud.md"])
def test_other_files_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("text")
    assert read_source(str(tmp_path / name), 1000).data == b"text"


def test_a_large_file_with_such_a_name_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "backup.cloud").write_bytes(b"x" * 5000)
    assert read_source(str(tmp_path / "backup.cloud"), 10_000).stat.size == 5000


def test_a_dataless_file_of_macos(tmp_path: Path) -> None:
    assert is_dataless(found(st_flags=0x40000020))
    assert not is_dataless(found(st_flags=0x20))
    assert not_downloaded(str(tmp_path / "gone.md"), found(st_flags=0x40000000))
    assert not_downloaded(str(tmp_path / "gone.md"), found()) is None


def test_a_dataless_file_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.md"
    path.write_text("text")
    _let_be_dataless(path, monkeypatch)
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("the file was opened"))
    with pytest.raises(ReadFailed) as failed:
        read_source(str(path), 1000)
    assert failed.value.kind == "not_downloaded"


def test_an_ignore_file_that_becomes_dataless_still_excludes_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").touch()
    (tmp_path / "draft.md").touch()
    (tmp_path / ".gitignore").write_text("draft.md\n")
    ignores, config = IgnoreFiles(), CollectionConfig(name="c", path=str(tmp_path))
    assert set(walk(config, ignores).files) == {"a.md"}
    _let_be_dataless(tmp_path / ".gitignore", monkeypatch)
    (tmp_path / ".gitignore").write_text("# reading it would download it\n")
    assert set(walk(config, ignores).files) == {"a.md"}


def _let_be_dataless(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a file the stat that macOS returns for a file that is not downloaded."""
    stat = os.stat
    monkeypatch.setattr(
        os, "stat", lambda each, **more: _Dataless(stat(each)) if each == str(path) else stat(each, **more)
    )


class _Dataless:
    """The stat of a file, with the flags of macOS."""

    st_flags = 0x40000000

    def __init__(self, found: os.stat_result) -> None:
        self._found = found

    def __getattr__(self, name: str) -> object:
        return getattr(self._found, name)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no such attributes")
def test_onedrive_on_linux(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text("text")
    try:
        os.setxattr(path, "user.onedriver.status", b"Cloud")
    except OSError:
        pytest.skip("the file system does not store attributes")
    with pytest.raises(ReadFailed, match="cloud folder"):
        read_source(str(path), 1000)
    os.setxattr(path, "user.onedriver.status", b"Local")
    assert read_source(str(path), 1000).data == b"text"


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
def test_the_message_says_where_to_allow_access_and_for_which_program(path: str, pane: str) -> None:
    reason = why_refused(refusal(str(Path(path).expanduser())), "darwin")
    assert f"System Settings > Privacy & Security > {pane}," in reason
    assert "the terminal that started gnod" in reason
    assert os.path.realpath(sys.executable) in reason


@pytest.mark.parametrize(
    ("number", "platform"), [(errno.EACCES, "darwin"), (errno.EPERM, "linux"), (errno.EIO, "darwin")]
)
def test_other_refusals_have_the_message_of_the_system(number: int, platform: str) -> None:
    assert why_refused(refusal("/notes", number), platform) == os.strerror(number)
    assert why_refused(OSError(), platform) == "the system refuses access"


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
