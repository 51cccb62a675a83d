"""A real daemon with a real watcher finds all changes in a watched folder without a request."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.end_to_end.watched import Folder, watch
from tests.machine import Machine, temporary_machine
from tests.systems import needs_any_name

pytestmark = pytest.mark.slow

_numbers = count(1)


@pytest.fixture(scope="module")
def watched() -> Iterator[Machine]:
    """Two collections, `notes` and `other`, and a daemon that watches them for all tests of this file."""
    with temporary_machine() as machine:
        (machine.folder / "other").mkdir()
        machine.ok("collection", "add", str(machine.notes), "--name", "notes")
        machine.ok("collection", "add", str(machine.folder / "other"), "--name", "other")
        watch(machine)
        yield machine
        machine.end()
        # Status compares with the disk, and would have repaired the changes that the watcher missed.
        logs = (machine.folder / "data" / "logs").glob("*.log")
        assert not any("watch.missed" in log.read_text() for log in logs)


@pytest.fixture
def folder(watched: Machine) -> Iterator[Folder]:
    name = f"test{next(_numbers)}"
    folder = Folder(watched, watched.notes / name, "notes", f"{name}/")
    yield folder
    status = watched.quiet()
    assert status["freshness"]["unwatched"] == []
    folder.clear()


@pytest.fixture
def other(watched: Machine, folder: Folder) -> Iterator[Folder]:
    """A folder in the other collection."""
    other = Folder(watched, watched.folder / "other" / folder.path.name, "other", f"{folder.path.name}/")
    yield other
    other.clear()


@pytest.fixture
def outside(watched: Machine, folder: Folder) -> Path:
    """A folder on the same file system that is not watched."""
    outside = watched.folder / f"outside-{folder.path.name}"
    outside.mkdir()
    return outside


def test_created_modified_deleted(folder: Folder) -> None:
    file = folder.write("a.md", "# Zebra\n")
    folder.expect("zebra", "a.md")
    file.write_text("# Lion\n")
    folder.expect("lion", "a.md")
    assert folder.find("zebra") == []
    with file.open("a") as stream:
        stream.write("and a tiger\n")
    folder.expect("tiger", "a.md")
    file.unlink()
    folder.expect_documents()


def test_an_editor_with_swap_and_backup_files(folder: Folder) -> None:
    file = folder.write("a.md", "# Zebra\n")
    folder.expect("zebra", "a.md")
    swap, lock, backup = folder / ".a.md.swp", folder / ".#a.md", folder / "a.md~"
    swap.write_bytes(b"b0VIM 9.1\0\0\0\0" + bytes(4000))
    lock.symlink_to("user@machine.12345:1700000000")
    folder.write("4913", "").unlink()
    file.rename(backup)
    file.write_text("# Lion\n")
    folder.expect("lion", "a.md")
    for leftover in (backup, swap, lock):
        leftover.unlink()
    folder.expect_documents("a.md")
    folder.machine.quiet()
    assert folder.failed() == {}


def test_moved_between_collections(folder: Folder, other: Folder) -> None:
    folder.write("a.md", "# Zebra\n")
    folder.write("sub/b.md", "# Lion\n")
    folder.expect_documents("a.md", "sub/b.md")
    (folder / "a.md").rename(other / "a.md")
    (folder / "sub").rename(other / "sub")
    other.expect_documents("a.md", "sub/b.md")
    folder.expect_documents()
    (other / "sub" / "c.md").write_text("# Tiger\n")
    other.expect("tiger", "sub/c.md")
    (other / "sub").rename(folder / "back")
    folder.expect_documents("back/b.md", "back/c.md")
    other.expect_documents("a.md")


def test_trees_deleted_and_made_again(folder: Folder) -> None:
    names = [f"a/b{n}/c/{m}.md" for n in range(10) for m in range(5)]
    for round_number, word in enumerate(("zebra", "lion", "tiger", "giraffe")):
        for name in names:
            folder.write(f"tree/{name}", f"# {word}\n")
        if round_number != 2:  # in one round, delete without waiting for the daemon
            folder.expect(word, *(f"tree/{name}" for name in names))
            shutil.rmtree(folder / "tree")
        else:
            shutil.rmtree(folder / "tree")
    folder.expect_documents()
    folder.write("tree/a/b0/c/0.md", "# Camel\n")
    folder.expect_documents("tree/a/b0/c/0.md")


def test_folders_renamed_many_times_in_an_instant(folder: Folder) -> None:
    for number in range(30):
        folder.write(f"d{number}/sub/a.md", "# Zebra\n")
    folder.expect("zebra", *(f"d{n}/sub/a.md" for n in range(30)))
    for step in ("e", "f", "g"):
        for number in range(30):
            name = {"e": "d", "f": "e", "g": "f"}[step] + str(number)
            (folder / name).rename(folder / f"{step}{number}")
    folder.expect_documents(*(f"g{n}/sub/a.md" for n in range(30)))
    for number in range(30):
        folder.write(f"g{number}/sub/b.md", "# Lion\n")
    folder.expect("lion", *(f"g{n}/sub/b.md" for n in range(30)))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_checkout(folder: Folder) -> None:
    def git(*arguments: str) -> None:
        environment = {**folder.machine.environment, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        identity = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
        subprocess.run(
            ["git", *identity, *arguments], cwd=folder.path, env=environment, check=True, capture_output=True
        )

    ours = [f"d{n % 7}/{n}.md" for n in range(100)]
    theirs = [*ours[:50], *(f"new{n % 5}/sub/{n}.md" for n in range(60))]
    git("init", "--quiet", "--initial-branch=first")
    for name in ours:
        folder.write(name, f"# Zebra\n\nfrom {name}\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    git("checkout", "--quiet", "-b", "second")
    for name in ours[50:]:
        (folder / name).unlink()
    for name in theirs:
        folder.write(name, f"# Lion\n\nfrom {name}\n")
    git("add", "--all")
    git("commit", "--quiet", "-m", "second")
    for branch, word, names in [("first", "zebra", ours), ("second", "lion", theirs)] * 2:
        git("checkout", "--quiet", branch)
        folder.expect_documents(*names)
        folder.expect(word, *names)
    git("checkout", "--quiet", "first")
    git("checkout", "--quiet", "second")
    git("checkout", "--quiet", "first")
    folder.expect("zebra", *ours)
    folder.expect("lion")
    folder.expect_documents(*ours)
    assert folder.failed() == {}


def test_files_that_are_still_being_written(folder: Folder) -> None:
    with (folder / "slow.md").open("w") as slow, (folder / "open.md").open("w") as stays_open:
        stays_open.write("# Camel\n")
        stays_open.flush()
        for number in range(40):
            slow.write(f"Line {number} of something that takes its time.\n")
            slow.flush()
            time.sleep(0.03)
        folder.expect("camel", "open.md")  # the file is not closed yet
        slow.write("And in the end a zebra.\n")
    folder.expect("zebra", "slow.md")
    folder.machine.quiet()
    assert folder.failed() == {}


NAMES = [
    "with spaces and  more.md",
    "line\nbreak.md",
    "tab\tand\\backslash.md",
    "'quotes' \"and\" `ticks`.md",
    "-rf.md",
    "100%20.md",
    "a?b#c&d.md",
    "[x]{y}*.md",
    "not.hidden.md",
    "…ends with a dot..md",
    unicodedata.normalize("NFD", "Ångström.md"),
    unicodedata.normalize("NFC", "Ångström.md"),
    unicodedata.normalize("NFD", "한글.md"),
    "日本語 🦓.md",
    "n" * 252 + ".md",
]


def test_names(folder: Folder) -> None:
    for name in NAMES:
        folder.write(name, "# Zebra\n")
        folder.write(f"in/{name}/a.md", "# Lion\n")
    folder.expect("zebra", *NAMES)
    folder.expect("lion", *(f"in/{name}/a.md" for name in NAMES))
    for name in NAMES:
        folder.write(name, "# Tiger\n")
    folder.expect("tiger", *NAMES)
    for name in NAMES:
        (folder / name).unlink()
    shutil.rmtree(folder / "in")
    folder.expect_documents()


@needs_any_name
def test_a_file_name_that_is_not_utf8(folder: Folder) -> None:
    name = os.fsencode(folder.path) + b"/caf\xe9.md"
    Path(os.fsdecode(name)).write_text("# Zebra\n")
    folder.write("a.md", "# Zebra\n")
    folder.expect("zebra", "a.md")
    folder.machine.quiet()
    assert list(folder.failed().values()) == ["bad_name"]
    Path(os.fsdecode(name)).rename(folder / "café.md")
    folder.expect("zebra", "a.md", "café.md")
    folder.machine.quiet()
    assert folder.failed() == {}


def test_new_folders_filled_in_the_same_instant(folder: Folder) -> None:
    names = [f"n{n}/sub/sub/{m}.md" for n in range(60) for m in range(2)] + [f"n{n}/top.md" for n in range(60)]
    for name in names:
        folder.write(name, "# Zebra\n")
    for number in range(60):
        folder.write(f"tmp{number}/deep/a.md", "# Lion\n")
        (folder / f"tmp{number}").rename(folder / f"moved{number}")
    folder.expect("zebra", *names)
    folder.expect("lion", *(f"moved{n}/deep/a.md" for n in range(60)))
    folder.expect_documents(*names, *(f"moved{n}/deep/a.md" for n in range(60)))
    for number in range(60):
        folder.write(f"moved{number}/deep/b.md", "# Tiger\n")
    folder.expect("tiger", *(f"moved{n}/deep/b.md" for n in range(60)))


def test_a_folder_moved_in_and_out(folder: Folder, outside: Path) -> None:
    (outside / "tree" / "sub").mkdir(parents=True)
    (outside / "tree" / "sub" / "a.md").write_text("# Zebra\n")
    (outside / "tree").rename(folder / "tree")
    folder.expect("zebra", "tree/sub/a.md")
    folder.write("tree/sub/b.md", "# Lion\n")
    folder.expect("lion", "tree/sub/b.md")
    (folder / "tree").rename(outside / "tree")
    folder.expect_documents()
    (outside / "tree" / "sub" / "c.md").write_text("# Tiger\n")
    (outside / "tree" / "sub" / "a.md").write_text("# Giraffe\n")
    folder.machine.quiet()
    folder.expect_documents()
    (outside / "tree").rename(folder / "other")
    folder.expect_documents("other/sub/a.md", "other/sub/b.md", "other/sub/c.md")
    folder.expect("giraffe", "other/sub/a.md")


def test_very_deep(folder: Folder) -> None:
    deep = "/".join(["d"] * 600)
    folder.write(f"{deep}/a.md", "# Zebra\n")
    folder.expect("zebra", f"{deep}/a.md")
    folder.write(f"{deep}/a.md", "# Lion\n")
    folder.expect("lion", f"{deep}/a.md")
    (folder / "d").rename(folder / "e")
    moved = deep.replace("d", "e", 1)
    folder.expect_documents(f"{moved}/a.md")
    folder.write(f"{moved}/b.md", "# Tiger\n")
    folder.expect("tiger", f"{moved}/b.md")


def test_deeper_than_a_path_may_be_long(folder: Folder) -> None:
    pid = folder.machine.call("daemon.status")["pid"]
    name = "folder-with-a-long-name"
    at = os.open(folder.path, os.O_RDONLY)
    for _ in range(600):
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("too-deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)
    folder.write(f"{name}/{name}/a.md", "# Zebra\n")
    folder.expect("zebra", f"{name}/{name}/a.md")
    folder.machine.quiet()
    assert folder.failed(), "status reports the unreachable part"
    folder.write("b.md", "# Lion\n")
    folder.expect("lion", "b.md")
    folder.clear()
    folder.expect_documents()
    folder.machine.quiet()
    assert folder.failed() == {}
    folder.path.mkdir()
    folder.write("c.md", "# Tiger\n")
    folder.expect("tiger", "c.md")
    assert folder.machine.call("daemon.status")["pid"] == pid


def test_a_link_to_a_file_inside(folder: Folder) -> None:
    target = folder.write("targets/real.md", "# Zebra\n")
    (folder / "link.md").symlink_to(target)
    folder.expect("zebra", "link.md", "targets/real.md")
    target.write_text("# Lion\n")
    folder.expect("lion", "link.md", "targets/real.md")
    folder.write("targets/next", "# Tiger\n").replace(target)
    folder.expect("tiger", "link.md", "targets/real.md")
    second = folder.write("second.md", "# Camel\n")
    (folder / "link.md").unlink()
    (folder / "link.md").symlink_to(second.name)
    folder.expect("camel", "link.md", "second.md")
    second.unlink()
    folder.expect_documents("targets/real.md")
    second.write_text("# Giraffe\n")
    folder.expect("giraffe", "link.md", "second.md")


def test_a_link_to_a_folder_becomes_a_folder(folder: Folder, outside: Path) -> None:
    (outside / "a.md").write_text("# Zebra\n")
    (folder / "sub").symlink_to(outside)
    folder.write("b.md", "# Camel\n")
    folder.expect("camel", "b.md")
    folder.machine.quiet()
    folder.expect_documents("b.md")
    (folder / "sub").unlink()
    folder.write("sub/a.md", "# Lion\n")
    folder.expect("lion", "sub/a.md")


def test_gitignore_edited(folder: Folder) -> None:
    for name in ("a.md", "draft-b.md", "sub/draft-c.md", "private/d.md"):
        folder.write(name, "# Zebra\n")
    folder.expect("zebra", "a.md", "draft-b.md", "private/d.md", "sub/draft-c.md")
    folder.write(".gitignore", "draft-*\n")
    folder.expect("zebra", "a.md", "private/d.md")
    folder.write(".gitignore", "draft-*\nprivate/\n")
    folder.expect("zebra", "a.md")
    folder.write("private/d.md", "# Lion\n")
    folder.write("private/new/e.md", "# Lion\n")
    folder.write("draft-b.md", "# Lion\n")
    folder.machine.quiet()
    folder.expect("lion")
    folder.write("next", "sub/\n").replace(folder / ".gitignore")
    folder.expect("lion", "draft-b.md", "private/d.md", "private/new/e.md")
    folder.write("private/new/e.md", "# Tiger\n")
    folder.expect("tiger", "private/new/e.md")
    folder.write("sub/.gitignore", "!draft-c.md\n")  # the daemon does not enter an excluded folder
    (folder / ".gitignore").unlink()
    folder.expect("zebra", "a.md", "sub/draft-c.md")
    (folder / "sub" / ".gitignore").write_text("draft-c.md\n")
    folder.expect("zebra", "a.md")
    (folder / "sub" / ".gitignore").unlink()
    folder.expect("zebra", "a.md", "sub/draft-c.md")


def test_a_collection_inside_another(watched: Machine, folder: Folder) -> None:
    inner = Folder(watched, folder / "inner", "inner")
    inner.write("a.md", "# Zebra\n")
    watched.call("collection.add", path=str(inner.path), name="inner")
    try:
        watch(watched)
        folder.expect("zebra", "inner/a.md")
        inner.expect("zebra", "a.md")
        inner.write("sub/b.md", "# Lion\n")
        folder.expect("lion", "inner/sub/b.md")
        inner.expect("lion", "sub/b.md")
        (inner / "sub").rename(folder / "sub")
        folder.expect("lion", "sub/b.md")
        inner.expect_documents("a.md")
        shutil.rmtree(inner.path)
        folder.expect_documents("sub/b.md")
    finally:
        watched.call("collection.remove", name="inner")
    folder.write("inner/c.md", "# Tiger\n")
    folder.expect("tiger", "inner/c.md")


def test_a_collection_added_while_files_are_created(watched: Machine, outside: Path) -> None:
    added = Folder(watched, outside, "added")
    script = (
        "import pathlib, time\n"
        "for n in range(400):\n"
        "    path = pathlib.Path(f'd{n % 20}/s{n % 3}/{n}.md')\n"
        "    path.parent.mkdir(parents=True, exist_ok=True)\n"
        "    path.write_text('# Zebra\\n')\n"
        "    time.sleep(0.002)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=outside) as writing:
        time.sleep(0.2)
        watched.call("collection.add", path=str(outside), name="added")
        assert writing.wait(60) == 0
    try:
        added.expect("zebra", *(f"d{n % 20}/s{n % 3}/{n}.md" for n in range(400)))
    finally:
        watched.call("collection.remove", name="added")
