"""If the folder of a collection vanishes, or a file must not be read, its documents stay, and status reports it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.namespace import namespace
from tests.end_to_end.watched import Folder, watch
from tests.machine import Machine, temporary_machine, wait_until

pytestmark = pytest.mark.slow

# Root without the capability to read everything.
NO_OVERRIDE = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@pytest.fixture(scope="module")
def daemon() -> Iterator[Machine]:
    """A machine with a daemon that watches the collections of all tests in turn."""
    with temporary_machine() as machine:
        machine.start()
        yield machine


@pytest.fixture(scope="module")
def permitted_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """The same, but its daemon needs permission to read a file."""
    probe = tmp_path_factory.mktemp("permitted") / "probe"
    probe.touch(mode=0o000)
    below = NO_OVERRIDE if os.geteuid() == 0 else ()
    if shutil.which("setpriv") is None and below:
        pytest.skip("permissions do not restrict root, and setpriv is not installed")
    if subprocess.run([*below, "cat", str(probe)], capture_output=True, check=False).returncode == 0:
        pytest.skip("permissions do not restrict this user")
    with temporary_machine() as machine:
        machine.start(*below)
        yield machine


@pytest.fixture
def notes(daemon: Machine) -> Iterator[Folder]:
    yield from watched(daemon)


@pytest.fixture
def permitted(permitted_daemon: Machine) -> Iterator[Folder]:
    yield from watched(permitted_daemon)


def watched(machine: Machine) -> Iterator[Folder]:
    """A watched collection in its own folder, with two documents: `a.md` with a zebra and `sub/b.md` with a camel."""
    with tempfile.TemporaryDirectory(dir=machine.folder) as folder:
        notes = Folder(machine, Path(folder) / "notes", "notes")
        notes.write("a.md", "# Zebra\n")
        notes.write("sub/b.md", "# Camel\n")
        machine.call("collection.add", path=str(notes.path), name="notes")
        watch(machine)
        yield notes
        machine.call("collection.remove", name="notes")


def state(folder: Folder) -> dict[str, Any]:
    (status,) = folder.machine.call("index.status")["collections"]
    return dict(status)


def expect_gone(folder: Folder) -> None:
    """Wait until status reports the collection as unavailable. Its documents must stay."""

    def freshness() -> dict[str, Any]:
        return dict(folder.machine.call("search.lexical", query="zebra")["freshness"])

    wait_until(lambda: freshness()["unavailable"] == ["notes"])
    assert freshness()["unwatched"] == ["notes"]
    assert not freshness()["current"]
    status = state(folder)
    assert not status["available"]
    assert status["reason"]
    assert status["watch"] != "events"
    assert status["watch_reason"]
    assert folder.find("zebra") == ["a.md"]
    assert folder.find("camel") == ["sub/b.md"]
    assert folder.documents() == ["a.md", "sub/b.md"]


def expect_back(folder: Folder, **words: list[str]) -> None:
    for word, paths in words.items():
        folder.expect(word, *paths, timeout_s=90)
    wait_until(lambda: state(folder)["watch"] == "events", 90)
    status = folder.machine.quiet()
    assert status["freshness"]["current"], status
    folder.write("sub/later.md", "# Giraffe\n")
    folder.expect("giraffe", "sub/later.md")


def _rename(root: Path, away: Path) -> Callable[[], object]:
    root.rename(away)
    return lambda: away.rename(root)


def _replace_by_a_file(root: Path, away: Path) -> Callable[[], object]:
    root.rename(away)
    root.write_text("a file\n")

    def back() -> None:
        root.unlink()
        away.rename(root)

    return back


def _replace_by_a_dangling_link(root: Path, away: Path) -> Callable[[], object]:
    root.rename(away)
    root.symlink_to(root.with_name("nowhere"))

    def back() -> None:
        root.unlink()
        away.rename(root)

    return back


def _rename_and_copy_back(root: Path, away: Path) -> Callable[[], object]:
    root.rename(away)
    return lambda: shutil.copytree(away, root)


def _delete(root: Path, away: Path) -> Callable[[], object]:
    shutil.copytree(root, away)
    shutil.rmtree(root)
    return lambda: away.rename(root)


@pytest.mark.parametrize(
    "vanish", [_rename, _replace_by_a_file, _replace_by_a_dangling_link, _rename_and_copy_back, _delete]
)
@pytest.mark.stress
def test_a_root_vanishes_and_comes_back(notes: Folder, vanish: Callable[[Path, Path], Callable[[], object]]) -> None:
    away = notes.path.parent / "away"
    back = vanish(notes.path, away)
    expect_gone(notes)
    (away / "a.md").write_text("# Lion\n")
    (away / "sub" / "b.md").unlink()
    (away / "new").mkdir()
    (away / "new" / "c.md").write_text("# Tiger\n")
    back()
    expect_back(notes, lion=["a.md"], tiger=["new/c.md"], zebra=[], camel=[])


@pytest.mark.stress
def test_the_folder_above_the_root_is_renamed(machine: Machine) -> None:
    notes = Folder(machine, machine.folder / "above", "root")
    notes.write("root/a.md", "# Zebra\n")
    notes.write("root/sub/b.md", "# Camel\n")
    machine.ok("init", str(notes / "root"))
    watch(machine)
    notes.path.rename(machine.folder / "away")
    wait_until(lambda: machine.call("search.lexical", query="zebra")["freshness"]["unavailable"] == ["root"])
    assert notes.documents() == ["a.md", "sub/b.md"]
    (machine.folder / "away" / "root" / "a.md").write_text("# Lion\n")
    (machine.folder / "away").rename(notes.path)
    notes.expect("lion", "a.md", timeout_s=90)


@pytest.mark.stress
def test_another_folder_takes_the_roots_place_at_once(notes: Folder) -> None:
    other = Folder(notes.machine, notes.path.parent / "other", "other")
    other.write("c.md", "# Lion\n")
    notes.path.rename(notes.path.parent / "away")
    other.path.rename(notes.path)
    notes.expect_documents("c.md")
    notes.write("sub/d.md", "# Tiger\n")
    notes.expect("tiger", "sub/d.md")


def test_deleting_all_files_does_not_look_like_a_vanished_root(notes: Folder) -> None:
    for path in notes.path.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    notes.expect_documents()
    assert state(notes)["available"]


def test_a_root_that_comes_only_later(machine: Machine) -> None:
    machine.notes.rmdir()
    machine.configure()
    machine.ok("daemon", "start")
    wait_until(lambda: not machine.call("index.status")["collections"][0]["available"])
    notes = Folder(machine, machine.notes, "notes")
    notes.write("a.md", "# Zebra\n")
    notes.write("sub/b.md", "# Camel\n")
    expect_back(notes, zebra=["a.md"], camel=["sub/b.md"])


@pytest.mark.stress
def test_a_link_as_the_root(machine: Machine) -> None:
    first, second = machine.folder / "first", machine.folder / "second"
    machine.notes.rename(first)
    machine.notes.symlink_to(first)
    (second / "sub").mkdir(parents=True)
    notes = Folder(machine, machine.notes, "notes")
    notes.write("a.md", "# Zebra\n")
    machine.ok("init", str(machine.notes))
    watch(machine)
    (second / "sub" / "b.md").write_text("# Lion\n")
    machine.notes.unlink()
    machine.notes.symlink_to(second)
    notes.expect_documents("sub/b.md")
    notes.write("sub/c.md", "# Tiger\n")
    notes.expect("tiger", "sub/c.md")


@pytest.mark.parametrize(
    "kind", ["its own file system", pytest.param("a folder bound to it", marks=pytest.mark.stress)]
)
def test_a_drive_is_unmounted_and_mounted_again(machine: Machine, kind: str) -> None:
    """Without the drive, the empty folder below it is visible. The daemon must not take this for deleted files."""
    notes = Folder(machine, machine.notes, "notes")
    drive = machine.folder / "drive"
    drive.mkdir()
    fill = "mkdir -p notes/sub && echo '# Zebra' > notes/a.md && echo '# Camel' > notes/sub/b.md"
    with namespace(machine, "--mount") as inside:
        mount = "mount -t tmpfs none notes" if kind == "its own file system" else "mount --bind drive notes"
        inside.run(f"cd {machine.folder} && {mount} && {fill}")
        inside.start_daemon()
        machine.call("collection.add", path=str(machine.notes), name="notes")
        watch(machine)
        assert notes.documents() == ["a.md", "sub/b.md"]
        inside.run("umount notes")
        expect_gone(notes)
        time.sleep(4)  # a drive that returns at once has the same numbers, and may be noticed only a minute later
        inside.run(f"{mount} && {fill} && echo '# Lion' > notes/c.md && rm notes/sub/b.md")
        notes.expect("lion", "c.md", timeout_s=90)
        notes.expect_documents("a.md", "c.md")
        wait_until(lambda: state(notes)["watch"] == "events", 90)
        inside.run("echo '# Tiger' > notes/sub/d.md")
        notes.expect("tiger", "sub/d.md")


@pytest.mark.stress
def test_a_drive_that_is_not_there_at_the_start(machine: Machine) -> None:
    notes = Folder(machine, machine.notes, "notes")
    fill = "mkdir -p notes/sub && echo '# Zebra' > notes/a.md && echo '# Camel' > notes/sub/b.md"
    with namespace(machine, "--mount") as inside:
        inside.run(f"cd {machine.folder} && mount -t tmpfs none notes && {fill}")
        inside.start_daemon()
        machine.call("collection.add", path=str(machine.notes), name="notes")
        watch(machine)
        pid = machine.call("daemon.status")["pid"]
        machine.hang_up()
        machine.ok("daemon", "stop")
        inside.run(f"wait {pid}; umount notes")
        inside.start_daemon()
        expect_gone(notes)
        inside.run(f"mount -t tmpfs none notes && {fill} && echo '# Lion' > notes/c.md")
        notes.expect("lion", "c.md", timeout_s=90)


@pytest.mark.stress
def test_a_root_without_permission(permitted: Folder) -> None:
    permitted.path.chmod(0o000)
    expect_gone(permitted)
    permitted.path.chmod(0o755)
    permitted.write("a.md", "# Lion\n")
    expect_back(permitted, lion=["a.md"], camel=["sub/b.md"])


def test_a_folder_without_permission_keeps_its_documents(permitted: Folder) -> None:
    (permitted / "sub").chmod(0o000)
    wait_until(lambda: permitted.failed() == {"sub": "unreadable"})
    assert permitted.find("camel") == ["sub/b.md"]
    (permitted / "sub").chmod(0o755)
    permitted.write("sub/c.md", "# Lion\n")
    permitted.expect("lion", "sub/c.md")
    wait_until(lambda: permitted.failed() == {})
    (permitted / "sub").chmod(0o000)
    wait_until(lambda: permitted.failed() == {"sub": "unreadable"})
    (permitted / "sub").rename(permitted / "moved")
    permitted.expect("camel")
    (permitted / "moved").chmod(0o755)
    permitted.expect("camel", "moved/b.md")
    permitted.machine.quiet()
    assert permitted.failed() == {}


def test_a_file_without_permission(permitted: Folder) -> None:
    secret = permitted.machine.folder / "secret.md"
    secret.write_text("# Lion\n")
    secret.chmod(0o000)
    secret.rename(permitted / "secret.md")
    wait_until(lambda: permitted.failed() == {"secret.md": "unreadable"})
    (permitted / "secret.md").chmod(0o644)
    permitted.expect("lion", "secret.md")
    wait_until(lambda: permitted.failed() == {})
    (permitted / "secret.md").chmod(0o000)
    permitted.machine.quiet()
    assert permitted.find("lion") == ["secret.md"]
    (permitted / "secret.md").unlink()
    permitted.expect_documents("a.md", "sub/b.md")
    assert permitted.failed() == {}


def test_a_new_folder_without_permission_at_first(permitted: Folder) -> None:
    made = permitted.machine.folder / "made"
    (made / "sub").mkdir(parents=True)
    (made / "sub" / "c.md").write_text("# Lion\n")
    made.chmod(0o000)
    made.rename(permitted / "made")
    wait_until(lambda: permitted.failed() == {"made": "unreadable"})
    (permitted / "made").chmod(0o755)
    permitted.expect("lion", "made/sub/c.md")
    permitted.write("made/sub/d.md", "# Tiger\n")
    permitted.expect("tiger", "made/sub/d.md")
    permitted.machine.quiet()
    assert permitted.failed() == {}
