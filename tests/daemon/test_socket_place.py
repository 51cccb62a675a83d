"""The path of the socket follows one rule in all environments of a user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnod import folders
from gnod.errors import Refused
from gnod.paths import check_owner, resolve
from tests.rpc.harness import short_folder
from tests.systems import needs_root


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine with a home folder, without a runtime folder and without gnod's variables."""
    for name in [name for name in os.environ if name.startswith(("GNO", "XDG"))]:
        monkeypatch.delenv(name)
    with short_folder() as folder:
        monkeypatch.setenv("HOME", str(folder / "home"))
        monkeypatch.setattr(folders, "_USER_RUNTIME_FOLDERS", str(folder / "run"))
        yield folder


def made(path: Path, mode: int = 0o700) -> Path:
    path.mkdir(parents=True)
    path.chmod(mode)
    return path


def test_cron_and_the_desktop_agree(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = made(home / "run" / str(os.getuid()))
    in_cron = folders.socket("default")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert folders.socket("default") == in_cron == f"{runtime}/gno/default.sock"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(made(home / "other")))
    assert folders.socket("default") == in_cron


def test_a_runtime_folder_elsewhere_is_used_if_there_is_no_usual_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(made(home / "session")))
    assert folders.socket("work") == f"{home}/session/gno/work.sock"


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o702])
@pytest.mark.parametrize("which", ["usual", "variable"])
def test_a_runtime_folder_that_others_can_write_is_not_used(
    mode: int, which: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(home / "run" / str(os.getuid()) if which == "usual" else home / "session", mode)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    assert folders.socket("default") == str(Path(folders.folder("cache")) / "default.sock")


@pytest.mark.parametrize("value", ["", "relative", "/no/such/folder", "/dev/null"])
def test_a_variable_that_names_no_folder_is_ignored(value: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", value)
    assert folders.socket("default") == str(Path(folders.folder("cache")) / "default.sock")


@needs_root
def test_a_folder_of_another_user_is_not_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`su` keeps XDG_RUNTIME_DIR."""
    for folder in (home / "run" / "0", home / "session"):
        os.chown(made(folder), 1234, 1234)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "session"))
    assert folders.socket("default") == str(Path(folders.folder("cache")) / "default.sock")


@pytest.mark.parametrize("length", [60, 90, 200])
def test_a_path_is_never_too_long_unless_somebody_chose_it(
    length: int, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", f"{home}/{'h' * length}")
    found = folders.socket("x" * 64)
    assert len(os.fsencode(found)) <= folders.SOCKET_PATH_LIMIT
    monkeypatch.setenv("HOME", f"{home}/{'i' * length}")
    assert folders.socket("x" * 64) != found, "a different home folder has a different socket"
    monkeypatch.setenv("GNO_SOCKET", f"/{'x' * 200}")
    assert folders.socket("default") == f"/{'x' * 200}"


def test_a_shorter_place_is_preferred_to_a_hash(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(made(home / ("r" * 90))))
    assert folders.socket("default") == str(Path(folders.folder("cache")) / "default.sock")


@pytest.mark.parametrize("value", ["", "home", "~"])
def test_without_a_home_folder_the_user_gets_a_message(value: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", value or "none")
    monkeypatch.chdir(home)
    with pytest.raises(Refused, match="there is no home folder"):
        resolve()
    assert list(home.iterdir()) == []
    for name in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"GNO_{name}_DIR", str(home / name))
    assert resolve().data_dir == home / "DATA"


@needs_root
def test_root_does_not_write_into_the_home_of_another_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(made(home / "home"), 1234, 1234)
    with pytest.raises(Refused, match=f"{home}/home belongs to user 1234, and you are root"):
        check_owner(resolve())
    monkeypatch.setenv("GNO_DATA_DIR", str(home / "home"))
    check_owner(resolve())  # a variable names the folder
    monkeypatch.delenv("GNO_DATA_DIR")
    made(resolve().data_dir)
    check_owner(resolve())  # root already has an index there
