"""Test the preview of a folder before it is added as a collection."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.config.model import CollectionConfig
from gnod.errors import RootUnavailable
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.preview import FolderPreview, preview, subfolders
from tests.ingest.test_walk import write


def seen(root: Path, limit_s: float = 60.0, **options: object) -> FolderPreview:
    collection = CollectionConfig(name="c", path=str(root), **options)  # type: ignore[arg-type]
    return preview(collection, IgnoreFiles(), limit_s)


def test_files_are_counted_by_kind_with_the_rules_of_a_collection(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "d/B.MD", "d/c.pdf", "x.mp4", "d/Makefile", "odd.zqx", "none")
    write(tmp_path, ".obsidian/app.json", "node_modules/x.js", "log.tmp")
    (tmp_path / ".gitignore").write_text("*.tmp\n")
    (tmp_path / "away").symlink_to("/etc/hostname")
    found = seen(tmp_path)
    assert found.kinds == {
        ("Markdown", True): 2,
        ("PDF document", True): 1,
        ("video", False): 1,
        ("source code", True): 1,
        ("other files", True): 2,
    }
    assert found.is_complete
    assert found.excluded == 3  # log.tmp, .gitignore, and the link out of the folder


def test_counting_stops_when_the_time_is_up(tmp_path: Path) -> None:
    write(tmp_path, *(f"{folder}/{number}.md" for folder in range(5) for number in range(30)))
    found = seen(tmp_path, limit_s=-1)
    assert not found.is_complete
    assert found.kinds.total() < 150
    with pytest.raises(RootUnavailable):
        seen(tmp_path / "gone")


def test_subfolders_are_in_order_without_hidden_ones_links_and_files(tmp_path: Path) -> None:
    for name in ("b", "A", "c", ".git"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert subfolders(str(tmp_path), 3) == (["A", "b", "c"], True)
    assert subfolders(str(tmp_path), 2) == (["A", "b"], False)
    with pytest.raises(NotADirectoryError):
        subfolders(str(tmp_path / "file"), 2)
