"""In every environment, gnoctl finds the daemon of its user, or prints one sentence that says why not.

The processes are real, and inherit nothing from the environment of the tests. Each machine has an index with a unique
name, so that no test finds the daemon of the person who runs the tests.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from gnod.lock_holder import holder_of
from tests.machine import alive, wait_until
from tests.rpc.harness import short_folder
from tests.systems import needs_linux, needs_root

pytestmark = [
    pytest.mark.slow,
    needs_linux("the environments and the namespaces of Linux"),
]

_PATH = "/usr/bin:/bin"


class User:
    """A user with an empty home folder. `index`: a name that only this user has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.index = f"env-{folder.name[-8:].replace('_', '-')}"
        self.lock_file = self.home / ".local/share/gno" / f"index-{self.index}.lock"

    @property
    def gnoctl(self) -> list[str]:
        return [sys.executable, "-m", "gnoctl", "--index", self.index]

    def run(
        self, environment: Mapping[str, str], *words: str, below: tuple[str, ...] = (), umask: int = 0o022
    ) -> subprocess.CompletedProcess[str]:
        """Run gnoctl with only these environment variables, `below` another program."""
        return subprocess.run(
            [*below, *self.gnoctl, *words],
            env=environment,
            umask=umask,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def pid(self, environment: Mapping[str, str]) -> int:
        """Return the process id of the daemon that answers in this environment, without starting one."""
        result = self.run(environment, "daemon", "status", "--json")
        assert result.returncode == 0, result.stderr
        return int(json.loads(result.stdout)["pid"])

    def socket(self, environment: Mapping[str, str]) -> Path:
        return Path(self.run(environment, "socket").stdout.strip())

    def cron(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": _PATH, "SHELL": "/bin/sh", "LOGNAME": getpass.getuser()}

    def ssh(self) -> dict[str, str]:
        """Return the variables of `ssh host command`: those of a session, without its runtime folder."""
        variables = {"SSH_CLIENT": "127.0.0.1 50000 22", "SSH_CONNECTION": "127.0.0.1 50000 127.0.0.1 22"}
        return self.cron() | variables | {"USER": getpass.getuser(), "LANG": "C.UTF-8"}

    def desktop(self) -> dict[str, str]:
        runtime = self.folder / "runtime"
        runtime.mkdir(mode=0o700, exist_ok=True)
        return self.ssh() | {"XDG_RUNTIME_DIR": str(runtime), "DISPLAY": ":0"}

    def workaround(self) -> dict[str, str]:
        """Return a folder that every user can write to. Users choose one if XDG_RUNTIME_DIR is missing."""
        return self.cron() | {"XDG_RUNTIME_DIR": "/tmp"}

    def end(self) -> None:
        holder = holder_of(self.lock_file)
        if holder is not None:
            os.kill(holder.pid, signal.SIGKILL)
            wait_until(lambda: not alive(holder.pid))


@pytest.fixture
def user() -> Iterator[User]:
    with short_folder() as folder, contextlib.ExitStack() as stack:
        user = User(folder)
        stack.callback(user.end)
        yield user


def is_told(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """Check that the last line for the user is one sentence with these parts."""
    assert done.returncode in (1, 2), (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("gnoctl: ")
    for part in parts:
        assert part in last


@pytest.mark.stress
def test_all_environments_of_a_user_meet_the_daemon_that_cron_has_started(user: User) -> None:
    assert user.run(user.cron(), "status", umask=0).returncode == 0
    pid = user.pid(user.cron())
    environments: list[Mapping[str, str]] = [user.desktop(), user.ssh(), user.workaround()]
    for environment in environments:
        assert user.pid(environment) == pid, environment
    path = user.socket(user.desktop())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert user.run(user.desktop(), "daemon", "stop").returncode == 0
    assert holder_of(user.lock_file) is None


@pytest.mark.stress
def test_a_runtime_folder_that_all_can_write_is_reported(user: User) -> None:
    result = user.run(user.workaround(), "doctor")
    assert "! runtime folder: /tmp can be written by others" in result.stdout
    assert not user.socket(user.workaround()).is_relative_to("/tmp/gno")


@cache
def _problem(*options: str) -> str | None:
    tried = subprocess.run(["unshare", *options, "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else None


def below(*options: str) -> tuple[str, ...]:
    if reason := _problem(*options):
        pytest.skip(f"no namespace with {' '.join(options)}: {reason}")
    return ("unshare", *options)


# A user id without an entry in /etc/passwd, and without root privileges.
_NOBODY = ("--user", "--map-user=12345")


@pytest.mark.stress
def test_a_container_without_a_home(user: User) -> None:
    container = below(*_NOBODY)
    for words in (["search", "zebra"], ["daemon", "status"], ["mcp"], ["socket"]):
        done = user.run({}, *words, below=container)
        is_told(done, "there is no home folder", "user 12345 has no entry in /etc/passwd", "Set HOME")
    assert sorted(path.name for path in user.folder.iterdir()) == ["home"]
    folders = {f"GNO_{name}_DIR": str(user.folder / name) for name in ("CONFIG", "DATA", "CACHE")}
    user.lock_file = user.folder / "DATA" / user.lock_file.name
    assert user.run(folders, "status", below=container).returncode == 0
    assert user.run(folders, "daemon", "stop", below=container).returncode == 0


@pytest.mark.stress
def test_a_home_that_is_read_only(user: User) -> None:
    user.home.chmod(0o555)
    done = user.run(user.cron(), "search", "zebra", below=below(*_NOBODY))
    is_told(done, "gnod cannot write to", str(user.home), "set GNO_DATA_DIR to another folder")
    data = {"GNO_DATA_DIR": str(user.folder / "data")}  # the cache is not writable either
    done = user.run(user.cron() | data, "search", "zebra", below=below(*_NOBODY))
    is_told(done, "cannot create the socket", str(user.home))


# Everything that a command writes into the folder disappears afterwards.
_OVERLAY = """
overlay() {
    mkdir -p "$1/$2/upper" "$1/$2/work"
    mount -t overlay overlay -o "lowerdir=$3,upperdir=$1/$2/upper,workdir=$1/$2/work" "$3"
}
mount -t tmpfs tmpfs "$SCRATCH"
"""


def in_overlay(user: User, script: str, *options: str) -> str:
    """Run a shell script in a mount namespace, and return its output."""
    program = below("--mount", *options)
    scratch = user.folder / "scratch"
    scratch.mkdir()
    variables = {"PATH": f"{_PATH}:/usr/sbin:/sbin", "SCRATCH": str(scratch), "GNOCTL": " ".join(user.gnoctl)}
    command = [*program, "sh", "-e", "-c", _OVERLAY + script]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=150, check=False)
    if "mount:" in done.stderr:
        pytest.skip(f"no overlay file systems here: {done.stderr}")
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


@pytest.mark.stress
def test_an_environment_without_any_variable(user: User) -> None:
    home = os.path.expanduser(f"~{getpass.getuser()}")  # noqa: PTH111
    script = f"""
        overlay "$SCRATCH" home {home}
        env -i $GNOCTL status
        env -i $GNOCTL socket
        HOME={home} $GNOCTL daemon stop
    """
    output = in_overlay(user, script, *(() if os.getuid() == 0 else ("--map-root-user",)))
    assert f"/{user.index}.sock\n" in output
    assert "stopped gnod (pid " in output


@pytest.mark.stress
@needs_root
def test_another_user_of_the_machine(user: User) -> None:
    """Run `su - user -c`. The user exists only in this namespace."""
    user.folder.chmod(0o755)
    script = f"""
        overlay "$SCRATCH" etc /etc
        overlay "$SCRATCH" root /root
        chmod 755 /root "$SCRATCH"
        useradd --create-home --base-dir "$SCRATCH" {user.index}
        su - {user.index} -c "$GNOCTL search zebra; $GNOCTL socket; $GNOCTL daemon stop"
    """
    output = in_overlay(user, script)
    assert f"scratch/{user.index}/.cache/gno/{user.index}.sock\n" in output
    assert "stopped gnod (pid " in output
