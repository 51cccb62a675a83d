"""Every kind of change of a file, as a function that makes it in a folder, and the contents of a folder afterwards.

Each function takes two folders, one inside the collection and one outside it, and changes the files that `begin` made
there. If a program can do so, the size and the modification time stay the same.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from gnod.store import packing

Change = Callable[[Path, Path], None]

_NAMES = ("a.md", "b.md", "d/a.md", "e/a.md", "data.txt")
_GIT = ("git", "-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "init.defaultBranch=main")


def text(path: Path, word: str) -> bytes:
    """Return a text that names its place. Words of the same length give texts of the same length."""
    return f"# {path.parent.name} {path.name}\n\n{word} {path.parent.parent.name}\n".encode()


def begin(folder: Path, outside: Path) -> None:
    for name in _NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text(path, "before"))
    outside.mkdir(parents=True)
    (folder / "data.txt").write_bytes(b"\0" * 40)  # a binary file, which is skipped
    (folder / "link.md").symlink_to("a.md")
    (folder / "folder-link").symlink_to("d")
    (folder / "twin.md").hardlink_to(folder / "b.md")
    (outside / "twin.md").hardlink_to(folder / "e/a.md")


def make_repository(folder: Path) -> None:
    """Make the repository that `checked_out` needs."""
    subprocess.run([*_GIT, "init", "-q", folder / "repository"], check=True)
    for branch in ("main", "other"):
        path = folder / "repository/a.md"
        _git(folder, "checkout", "-q", "-B", branch)
        path.write_bytes(text(path, f"{branch:>6}"))
        _git(folder, "add", "a.md")
        _git(folder, "commit", "-q", "-m", branch)
    _git(folder, "checkout", "-q", "main")


@contextlib.contextmanager
def same_time(path: Path) -> Iterator[None]:
    """Restore the times of a file afterwards."""
    found = path.stat()
    yield
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def rewrite(path: Path, word: str = "after ") -> None:
    """Write another word of six letters into a file. It keeps its inode, size and modification time."""
    at = path.read_bytes().index(b"\n\n") + 2
    before = path.stat()
    with same_time(path), path.open("r+b") as file:
        file.seek(at)
        file.write(word.encode())
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns, before.st_ino) == (after.st_size, after.st_mtime_ns, after.st_ino)


def in_place(folder: Path, _: Path) -> None:
    rewrite(folder / "a.md")
    with same_time(folder / "d/a.md"):  # one byte
        descriptor = os.open(folder / "d/a.md", os.O_WRONLY)
        os.pwrite(descriptor, b"B", len(text(folder / "d/a.md", "")) - 8)
        os.close(descriptor)


def touch_with_a_reference(folder: Path, outside: Path) -> None:
    shutil.copystat(folder / "a.md", outside / "twin.md")
    (folder / "a.md").write_bytes(text(folder / "a.md", "after "))
    subprocess.run(["touch", "-r", outside / "twin.md", folder / "a.md"], check=True)


def touch_to_another_time(folder: Path, _: Path) -> None:
    for name, date in (("a.md", "1970-01-02"), ("d/a.md", "2100-01-01"), ("e/a.md", "1901-12-14")):
        rewrite(folder / name)
        subprocess.run(["touch", "-d", date, folder / name], check=True)


def atomic_save(folder: Path, _: Path) -> None:
    path, temporary = folder / "a.md", folder / ".a.md.tmp"
    temporary.write_bytes(text(path, "after "))
    shutil.copystat(path, temporary)
    temporary.replace(path)


def removed_and_made_again(folder: Path, _: Path) -> None:
    path = folder / "a.md"
    found = path.stat()
    path.unlink()
    path.write_bytes(text(path, "after "))  # the new file often gets the same inode
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def through_a_symbolic_link(folder: Path, _: Path) -> None:
    rewrite(folder / "link.md")


def through_a_linked_folder(folder: Path, _: Path) -> None:
    rewrite(folder / "folder-link/a.md")


def another_target(folder: Path, _: Path) -> None:
    os.utime(folder / "a.md", (1, 1))
    os.utime(folder / "b.md", (1, 1))
    (folder / "link.md").unlink()
    (folder / "link.md").symlink_to("b.md")


def through_a_hard_link(folder: Path, outside: Path) -> None:
    rewrite(folder / "twin.md")
    rewrite(outside / "twin.md")


def only_the_case(folder: Path, _: Path) -> None:
    (folder / "a.md").rename(folder / "A.md")
    (folder / "d").rename(folder / "D")


def copied_over(folder: Path, outside: Path) -> None:
    source = _source(folder, outside)
    subprocess.run(["cp", "-p", source, folder / "a.md"], check=True)
    shutil.copyfile(source, folder / "d/a.md")
    shutil.copystat(source, folder / "d/a.md")


def synchronised(folder: Path, outside: Path) -> None:
    """Imitate `rsync -t` and `rsync -t --inplace`, both even if size and time are equal (`-I`)."""
    source = _source(folder, outside)
    if shutil.which("rsync"):
        subprocess.run(["rsync", "-It", source, folder / "a.md"], check=True)
        subprocess.run(["rsync", "-It", "--inplace", source, folder / "d/a.md"], check=True)
    else:
        shutil.copy2(source, folder / ".a.md.x7Gk2q")
        (folder / ".a.md.x7Gk2q").replace(folder / "a.md")


def checked_out(folder: Path, _: Path) -> None:
    with same_time(folder / "repository/a.md"):
        _git(folder, "checkout", "-q", "other")


def through_a_memory_map(folder: Path, _: Path) -> None:
    path = folder / "a.md"
    new = text(path, "after ")
    with same_time(path), path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = new


def truncated_and_grown(folder: Path, _: Path) -> None:
    path = folder / "a.md"
    with same_time(path):
        os.truncate(path, 0)
        with path.open("ab") as file:
            file.write(text(path, "after "))
    os.truncate(folder / "b.md", len(text(folder / "b.md", "before")) - 3)
    (folder / "e/a.md").write_bytes(b"")


def sparse(folder: Path, _: Path) -> None:
    """Make holes of zeros in a file, so that it is no longer text."""
    with (folder / "a.md").open("r+b") as file:
        file.seek(100_000)
        file.write(b"end\n")


def from_data_to_text(folder: Path, _: Path) -> None:
    path = folder / "data.txt"
    with same_time(path), path.open("r+b") as file:
        file.write(b"plain words".ljust(40))


def folder_over_folder(folder: Path, _: Path) -> None:
    shutil.copystat(folder / "d/a.md", folder / "e/a.md")
    (folder / "d").rename(folder / "f")
    (folder / "e").rename(folder / "d")


def something_else_for_a_while(folder: Path, _: Path) -> None:
    for path, make in (
        (folder / "a.md", Path.mkdir),
        (folder / "d/a.md", os.mkfifo),
        (folder / "e/a.md", lambda path: path.symlink_to("../b.md")),
    ):
        found = path.stat()
        path.unlink()
        make(path)
        path.rmdir() if path.is_dir() else path.unlink()
        path.write_bytes(text(path, "after "))
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def something_else(folder: Path, _: Path) -> None:
    for name in ("a.md", "b.md", "d/a.md"):
        (folder / name).unlink()
    (folder / "a.md").mkdir()
    (folder / "a.md/in.md").write_bytes(text(folder / "a.md/in.md", "after "))
    os.mkfifo(folder / "b.md")
    (folder / "d/a.md").symlink_to("../e/a.md")


def without_permission_for_a_while(folder: Path, _: Path) -> None:
    path = folder / "a.md"
    path.chmod(0)
    path.chmod(0o600)
    rewrite(path)


def only_attributes(folder: Path, _: Path) -> None:
    (folder / "a.md").chmod(0o600)
    os.utime(folder / "d/a.md", (1, 1))


def many_saves(folder: Path, _: Path) -> None:
    """Save a file many times within one tick of the clock, so that many versions have the same time."""
    for number in range(300):
        rewrite(folder / "a.md", f"{number:06}")
        rewrite(folder / "d/a.md", f"{number:06}")


CHANGES: tuple[Change, ...] = (
    in_place,
    touch_with_a_reference,
    touch_to_another_time,
    atomic_save,
    removed_and_made_again,
    through_a_symbolic_link,
    through_a_linked_folder,
    another_target,
    through_a_hard_link,
    only_the_case,
    copied_over,
    synchronised,
    checked_out,
    through_a_memory_map,
    truncated_and_grown,
    sparse,
    from_data_to_text,
    folder_over_folder,
    something_else_for_a_while,
    something_else,
    without_permission_for_a_while,
    only_attributes,
    many_saves,
)


def on_disk(root: Path) -> dict[str, str]:
    """Return the texts that an index of this folder should have, without trailing whitespace, which it drops."""
    found = {}
    for path in root.rglob("*.*"):
        is_listed = not any(part.startswith(".") for part in path.relative_to(root).parts)
        if is_listed and path.is_file() and (data := path.read_bytes()) and b"\0" not in data:
            found[str(path.relative_to(root))] = data.decode().rstrip()
    return found


def in_index(database: Path, collection: str) -> dict[str, str]:
    """Return the texts of a collection from the database. A request to the daemon might make it check the disk."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(10_000)
    packing.register(connection)
    rows = connection.execute(
        "SELECT d.path, k.markdown FROM documents d JOIN content k USING (mirror_hash)"
        " JOIN collections c ON c.id = d.collection_id WHERE c.name = ? AND d.active",
        (collection,),
    )
    try:
        return {path: markdown.rstrip() for path, markdown in rows}
    finally:
        connection.close()


def _source(folder: Path, outside: Path) -> Path:
    """Return a file with a new text, but the size and times of `a.md` and `d/a.md`."""
    source = outside / "source.md"
    source.write_bytes(text(folder / "a.md", "after "))
    shutil.copystat(folder / "a.md", source)
    shutil.copystat(folder / "a.md", folder / "d/a.md")
    return source


def _git(folder: Path, *words: str) -> None:
    subprocess.run([*_GIT, "-C", folder / "repository", *words], check=True)
