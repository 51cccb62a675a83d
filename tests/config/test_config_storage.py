"""The config file is replaced completely or not at all, with its mode, through symlinks."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gnod.config import edit, storage
from gnod.config.model import CollectionConfig
from gnod.errors import StorageFailed
from tests.systems import not_as_root


def test_mode_is_kept_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "index.yml"
    path.write_text("old")
    path.chmod(0o640)
    storage.write(path, "neu ü")
    assert path.read_text(encoding="utf-8") == "neu ü"
    assert path.stat().st_mode & 0o7777 == 0o640
    assert os.listdir(tmp_path) == ["index.yml"]  # noqa: PTH208


def test_a_symlink_is_written_through(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "gno.yml"
    target.parent.mkdir()
    target.write_text("")
    link = tmp_path / "index.yml"
    link.symlink_to("dotfiles/gno.yml")
    edit.add_collection(link, CollectionConfig(name="a", path="/a"))
    assert link.is_symlink()
    assert "name: a" in target.read_text()


def test_a_dangling_symlink_gets_its_target(tmp_path: Path) -> None:
    link = tmp_path / "index.yml"
    link.symlink_to("not-yet/gno.yml")
    assert edit.create(link)
    assert (tmp_path / "not-yet/gno.yml").read_text() == edit.STARTER


def test_a_folder_in_the_way_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match=r"cannot be written: ") as caught:
        edit.create(tmp_path / "file" / "index.yml")
    assert caught.value.details["errno"] in (errno.ENOTDIR, errno.EEXIST)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_existing_device_is_never_replaced() -> None:
    assert not edit.create(Path("/dev/full"))


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """A limit on file sizes simulates a full disk. It applies to a process, so the edit runs in its own."""
    path = tmp_path / "index.yml"
    path.write_text("# " + "x" * 3000 + "\n")
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from gnod.config import edit\n"
        "from gnod.config.model import CollectionConfig\n"
        "from gnod.errors import StorageFailed\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    edit.add_collection(Path(sys.argv[1]), CollectionConfig(name='a', path='/a'))\n"
        "except StorageFailed as error:\n"
        "    print(error.message)\n"
    )
    run = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert "cannot be written: File too large" in run.stdout
    assert path.read_text() == "# " + "x" * 3000 + "\n"
    assert os.listdir(tmp_path) == ["index.yml"]  # noqa: PTH208


@not_as_root
def test_a_protected_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "index.yml"
    path.write_text("")
    path.chmod(0o400)
    with pytest.raises(StorageFailed, match="permission denied"):
        storage.write(path, "new")
