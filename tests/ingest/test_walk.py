"""Test which files a walk lists and excludes, and the reasons."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from gnod.config.model import CollectionConfig
from gnod.errors import RootUnavailable
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.walk import Walk, walk, why_not_listed
from tests.systems import needs_any_name, not_as_root


def write(root: Path, *paths: str, text: str = "x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def collection(root: Path, **options: object) -> CollectionConfig:
    return CollectionConfig(name="c", path=str(root), **options)  # type: ignore[arg-type]


def listed(root: Path, **options: object) -> Walk:
    return walk(collection(root, **options), IgnoreFiles())


def test_default_excludes_at_any_depth(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "d/b.md", ".git/config", "d/node_modules/x.js", "build/y.md", "Thumbs.db")
    for hidden in (False, True):
        assert set(listed(tmp_path, hidden=hidden).files) == {"a.md", "d/b.md"}


def test_hidden_files_and_folders_are_excluded_and_counted(tmp_path: Path) -> None:
    of_programs = [".obsidian/app.json", ".trash/old.md", ".logseq/a.md", "d/.cache/deep/x.md", ".hidden.md", "d/.b.md"]
    write(tmp_path, "a.md", "d/b.c.md", "...md", ".later.md.icloud", *of_programs)
    found = listed(tmp_path)
    assert set(found.files) == {"a.md", "d/b.c.md", ".later.md.icloud"}
    assert (found.hidden, found.excluded) == (7, 3)
    everything = listed(tmp_path, hidden=True)
    assert set(everything.files) == {*found.files, *of_programs, "...md"}
    assert everything.hidden == 0
    for path in [*of_programs, "...md"]:
        assert "it is hidden" in str(why_not_listed(collection(tmp_path), path, IgnoreFiles()))
        assert why_not_listed(collection(tmp_path, hidden=True), path, IgnoreFiles()) is None


@pytest.mark.parametrize("above", ["build", ".config"])
def test_only_the_path_below_the_root_can_be_excluded_or_hidden(tmp_path: Path, above: str) -> None:
    root = tmp_path / above / "notes"
    write(root, "a.md", ".x/b.md")
    assert set(listed(root).files) == {"a.md"}


def test_gitignore_and_gnoignore_nested_and_negated(tmp_path: Path) -> None:
    write(tmp_path, "keep.log", "a.log", "sub/b.log", "sub/c.tmp", "sub/deep/c.tmp", "private/p.md")
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\n")
    (tmp_path / "sub/.gitignore").write_text("*.tmp\n!b.log\n")
    (tmp_path / ".gnoignore").write_text("private/\n")
    assert set(listed(tmp_path).files) == {"keep.log", "sub/b.log"}
    assert "private/p.md" in listed(tmp_path, gitignore=False).files


def test_an_ignore_file_that_changes_is_read_again(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md")
    ignores = IgnoreFiles()
    (tmp_path / ".gitignore").write_text("a.md\n")
    assert "a.md" not in walk(collection(tmp_path), ignores).files
    (tmp_path / ".gitignore").write_text("b.md # longer\nb.md\n")
    assert "a.md" in walk(collection(tmp_path), ignores).files


def test_pattern_and_extensions(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.TXT", "d/c.md", "d/e.pdf")
    assert set(listed(tmp_path, pattern="**/*.{md,pdf}").files) == {"a.md", "d/c.md", "d/e.pdf"}
    assert set(listed(tmp_path, pattern="*.md").files) == {"a.md"}
    assert set(listed(tmp_path, include=(".txt",)).files) == {"b.TXT"}


def test_links_pipes_and_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    write(tmp_path, "outside/secret.md", "root/real/a.md")
    (root / "out.md").symlink_to(tmp_path / "outside/secret.md")
    (root / "inside.md").symlink_to(root / "real/a.md")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(root)
    (root / "dangling.md").symlink_to(root / "nowhere")
    os.mkfifo(root / "pipe.md")
    with socket.socket(socket.AF_UNIX) as s:
        monkeypatch.chdir(root)
        s.bind("sock.md")
        found = listed(root)
    assert set(found.files) == {"real/a.md", "inside.md"}
    assert {"inside.md", "dangling.md"} <= found.links, "a link changes when its target changes or is created"
    assert "out.md" not in found.links


@needs_any_name
def test_a_name_that_is_not_text_is_reported(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("x")
    assert listed(tmp_path).undecodable == {"caf\\xe9.md": "caf\udce9.md"}


def test_very_deep_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "deep"
    root.mkdir()
    monkeypatch.chdir(root)
    try:
        for _ in range(1100):
            Path("dddd").mkdir()
            os.chdir("dddd")
        Path("deep.md").write_text("x")
        # The path is too long for one system call. The walk reports that and ends.
        listing = listed(root)
        assert listing.unreadable
        assert not listing.files
    finally:
        os.chdir(tmp_path)
        subprocess.run(["rm", "-rf", str(root)], check=True)  # Python's own rmtree recurses too deeply


@not_as_root
def test_a_folder_without_permission_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "closed/b.md")
    (tmp_path / "closed").chmod(0)
    listing = listed(tmp_path)
    (tmp_path / "closed").chmod(0o700)
    assert set(listing.files) == {"a.md"}
    assert set(listing.unreadable) == {"closed"}


def test_a_missing_root_is_unavailable_and_a_file_too(tmp_path: Path) -> None:
    write(tmp_path, "file")
    for root in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(RootUnavailable, match=r"does not exist|not a folder"):
            listed(root)


def test_why_a_path_is_not_listed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, "a.md", "node_modules/x.js", "b.log", "sub/d.tmp", "sub/f.md")
    write(tmp_path, "outside.md")
    (root / "out.md").symlink_to(tmp_path / "outside.md")
    (root / ".gitignore").write_text("*.log\n")
    (root / "sub/.gitignore").write_text("*.tmp\n")
    reasons = {
        "a.md": None,
        "sub/f.md": None,
        "node_modules/x.js": "the folder node_modules is excluded: the collection excludes it",
        "b.log": ".gitignore ignores it",
        "sub/d.tmp": "sub/.gitignore ignores it",
        "out.md": "it is a symbolic link out of the collection's folder",
        "sub": "it is a folder",
    }
    assert {path: why_not_listed(collection(root), path, IgnoreFiles()) for path in reasons} == reasons
    assert set(listed(root).files) == {path for path, reason in reasons.items() if reason is None}


def test_a_name_that_is_excluded_counts_at_every_depth_and_no_other_does(tmp_path: Path) -> None:
    for path in ("dist/a.md", "notes/dist/b.md", "notes/distance.md", "notes/dist.md", "notes/Dist/c.md", "a/dist"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    found = walk(CollectionConfig(name="c", path=str(tmp_path), exclude=("dist", "*.tmp")), IgnoreFiles()).files
    assert set(found) == {"notes/distance.md", "notes/dist.md", "notes/Dist/c.md"}
    back = CollectionConfig(name="c", path=str(tmp_path), exclude=("dist", "!notes/dist"))
    assert "notes/dist/b.md" in walk(back, IgnoreFiles()).files


def test_patterns_and_names_may_have_different_unicode_forms(tmp_path: Path) -> None:
    for one, other in [("\xfc", "u\u0308"), ("u\u0308", "\xfc")]:
        root = tmp_path / ascii(one)
        write(root, f"{one}/a.md", f"d/{one}.md", f"b{one}/x.md", "c.md")
        assert set(listed(root, exclude=(other,)).files) == {f"d/{one}.md", f"b{one}/x.md", "c.md"}
        assert set(listed(root, exclude=(f"b{other}*", f"{other}/")).files) == {f"d/{one}.md", "c.md"}
        assert set(listed(root, pattern=f"**/{other}.*").files) == {f"d/{one}.md"}
        write(root, f"{one}/.gitignore", text="a.md")
        write(root, ".gitignore", text=f"b{other}/\nd/{other}.md\n")
        assert set(listed(root).files) == {"c.md"}
