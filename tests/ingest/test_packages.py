"""Test folders that macOS shows as one file, and the files that macOS writes next to others."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.hostile_samples import zipped
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.scope import of_paths
from gnod.ingest.files.walk import walk, why_not_listed
from gnod.ingest.formats import convert
from gnod.ingest.reading.result import ConversionFailed
from tests.ingest.syncing import syncing
from tests.ingest.test_walk import collection, listed, write
from tests.pdf_files import pdf
from tests.small_index import SmallIndex

WITHOUT_TEXT = (
    *("Holiday.photoslibrary/originals/0/a.jpg", "Film.imovielibrary/Event/notes.txt", "Old.sparsebundle/bands/0"),
    *("Editor.app/Contents/Info.plist", "Editor.app/Contents/Resources/help.html"),
    *("lib/Export.wflow.action/Contents/Info.plist", "lib/Export.wflow.action/Contents/readme.md"),
)
PARTS = (
    *("New.pages/Index.zip", "Letter.rtfd/TXT.rtf", "d/Plan.Pages/QuickLook/Preview.pdf", "Old.key/index.apxl.gz"),
    "Book.numbers/preview.pdf",
)
OTHER_PARTS = (
    *("New.pages/Metadata/Properties.plist", "New.pages/Data/cat.jpg", "Letter.rtfd/picture.png"),
    *(
        "d/Plan.Pages/QuickLook/Thumbnail.jpg",
        "d/Plan.Pages/index.xml",
        "Old.key/theme/a.txt",
        "Book.numbers/Index.zip",
    ),
)
# Plain folders with names like packages.
PLAIN = ("site.app/index.md", "company.pages/index.md", "door.key/a.md", "x.rtfd/b.md", "my.band.notes/c.md")


def test_only_the_part_of_a_package_with_the_text_is_listed(tmp_path: Path) -> None:
    write(tmp_path, *WITHOUT_TEXT, *PARTS, *OTHER_PARTS, *PLAIN)
    for gitignore in (True, False):
        assert set(listed(tmp_path, gitignore=gitignore).files) == {*PARTS, *PLAIN}


@pytest.mark.parametrize("path", [*WITHOUT_TEXT, *OTHER_PARTS])
def test_the_message_says_why_other_parts_are_excluded(tmp_path: Path, path: str) -> None:
    write(tmp_path, *WITHOUT_TEXT, *PARTS, *OTHER_PARTS)
    assert "is a macOS package" in str(why_not_listed(collection(tmp_path), path, IgnoreFiles()))


@pytest.mark.parametrize(
    "changed", ["d", "d/Plan.Pages", "d/Plan.Pages/QuickLook", "d/Plan.Pages/QuickLook/Preview.pdf"]
)
def test_a_changed_package_is_listed_as_in_a_whole_walk(tmp_path: Path, changed: str) -> None:
    write(tmp_path, *PARTS, *OTHER_PARTS)
    found = walk(collection(tmp_path), IgnoreFiles(), of_paths([changed, "Letter.rtfd/picture.png"]))
    assert set(found.files) == {"d/Plan.Pages/QuickLook/Preview.pdf", "Letter.rtfd/TXT.rtf"}


def test_a_new_part_of_a_package_concerns_the_others(tmp_path: Path) -> None:
    write(tmp_path, "d/New.pages/Index.zip", "Tool.x/help.md")
    assert set(listed(tmp_path).files) == {"d/New.pages/Index.zip", "Tool.x/help.md"}
    new = ["d/New.pages/QuickLook/Preview.pdf", "Tool.x/Contents/Info.plist"]
    write(tmp_path, *new)
    changed = of_paths(new)
    assert changed.paths == frozenset({"d/New.pages", "Tool.x"})
    assert set(walk(collection(tmp_path), IgnoreFiles(), changed).files) == {"d/New.pages/QuickLook/Preview.pdf"}


def test_files_that_macos_writes_next_to_others_are_excluded(tmp_path: Path) -> None:
    beside = [".DS_Store", "d/.DS_Store", "._a.md", "d/._b.md", ".Trashes/501/c.md", ".fseventsd/0001"]
    write(tmp_path, "a.md", ".b.md", "_.md", *beside, ".Spotlight-V100/Store-V2/d.md")
    assert set(listed(tmp_path).files) == {"a.md", "_.md"}
    assert set(listed(tmp_path, hidden=True).files) == {"a.md", ".b.md", "_.md"}
    assert "macOS" in str(why_not_listed(collection(tmp_path, hidden=True), "d/._b.md", IgnoreFiles()))


async def test_a_package_has_its_own_name_as_the_title(small_index: SmallIndex, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    write(root, "Letter.rtfd/TXT.rtf", text=r"{\rtf1 a zebra}")
    write(root, "Plan.pages/QuickLook/Thumbnail.jpg", "Empty.pages/Index.zip")
    (root / "Plan.pages/QuickLook/Preview.pdf").write_bytes(pdf(["a camel"], title=""))
    (root / "Empty.pages/Index.zip").write_bytes(zipped({"Index/Document.iwa": b"\0"}))
    async with syncing(small_index, root) as sync:
        report = await sync()
    assert (report.added, report.failed, report.skipped) == (2, 0, 1)
    assert small_index.rows("SELECT title FROM documents ORDER BY title") == [("Letter",), ("Plan",)]


@pytest.mark.parametrize("name", ["a.pages", "a.numbers", "a.key", "renamed.bin"])
def test_the_preview_of_a_zip_is_read(name: str) -> None:
    data = zipped({"Index/Document.iwa": b"\0", "QuickLook/Preview.pdf": pdf(["a zebra"])})
    converted = convert(data, name, max_characters=1000)
    assert "a zebra" in converted.markdown
    assert converted.locations
    assert converted.locations.kind == "page"


@pytest.mark.parametrize("members", [["Index/Document.iwa", "preview.jpg"], ["index.apxl"], ["Index.zip"]])
def test_without_a_preview_the_message_says_what_to_do(members: list[str]) -> None:
    data = zipped(dict.fromkeys(members, b"\0"))
    with pytest.raises(ConversionFailed, match="without a preview of its pages: export it as PDF") as failed:
        convert(data, "a.pages", max_characters=1000)
    assert failed.value.kind == "unsupported"


def test_a_private_key_is_not_a_document() -> None:
    with pytest.raises(ConversionFailed) as failed:
        convert(b"-----BEGIN PRIVATE KEY-----\nMIIEvQ\n", "server.key", max_characters=1000)
    assert failed.value.kind == "unsupported"
