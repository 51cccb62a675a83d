"""What the sandbox blocks and allows, in new processes on the current kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.child.sandboxed import after, has_landlock

pytestmark = pytest.mark.skipif(not has_landlock(), reason="this system has no Landlock")
CONFINE = "confine(writable='.', readable=[])"


@pytest.mark.parametrize(
    "statement",
    [
        "socket.socket()",
        "socket.socketpair()",
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.kill(parent, 0)",
        "os.mkdir('folder')",
        "os.symlink('/', 'link')",
        "os.mkfifo('pipe')",
        "open('../new', 'w')",
        "open('../text').read()",
        "os.listdir('..')",
        "os.rename('../text', 'text')",
        "os.truncate('../text', 0)",
        "os.chmod('../text', 0o777)",
        "os.utime('../text')",
        "os.setxattr('../text', 'user.x', b'x')",
        "os.memfd_create('x')",
        "os.setpriority(os.PRIO_PROCESS, parent, 19)",
        "os.sched_setaffinity(parent, {0})",
        "os.pidfd_open(parent)",
        "open(f'/proc/{parent}/environ').read()",
        "__import__('fcntl').fcntl(0, 8, parent)",
    ],
)
def test_the_sandbox_blocks(statement: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("zqx18")
    folder = tmp_path / "own"
    folder.mkdir()
    assert after(CONFINE, statement, folder) == "PermissionError"
    assert (tmp_path / "text").read_text() == "zqx18"
    assert list(folder.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "open('new', 'w').close(); os.truncate('new', 9); os.remove('new')",
        "__import__('tempfile').TemporaryFile(dir='.').write(b'x')",
        "open('/dev/null', 'w').write('x')",
        "os.urandom(9); open('/proc/self/status').read(); open('/etc/passwd').read()",
        "[t := threading.Thread(target=time.sleep, args=(0.01,)), t.start(), t.join()]",
        "os.kill(own, 0)",
        "__import__('resource').setrlimit(0, (99, 99))",
        "import json.tool, sqlite3, decimal, numpy",
    ],
)
def test_the_sandbox_allows(statement: str, tmp_path: Path) -> None:
    assert after(CONFINE, statement, tmp_path) == "done"


def test_abort_still_ends_the_process(tmp_path: Path) -> None:
    assert after(CONFINE, "os.abort()", tmp_path).startswith("status -6")


def test_existing_threads_are_confined_too(tmp_path: Path) -> None:
    confine = (
        "confine; go = threading.Event(); out = []\n"
        "def late():\n    go.wait()\n    try: socket.socket()\n    except OSError: out.append(1)\n"
        f"t = threading.Thread(target=late); t.start(); sandbox.{CONFINE}; go.set(); t.join()"
    )
    assert after(confine, "assert out == [1]", tmp_path) == "done"


def test_reading_is_not_limited_without_a_list_of_readable_folders(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("zqx18")
    assert after("confine(writable=None, readable=None)", "open('text').read()", tmp_path) == "done"
    assert after("confine(writable=None, readable=None)", "open('text', 'a')", tmp_path) == "PermissionError"


@pytest.mark.parametrize(
    ("statement", "result"),
    [
        ("socket.socket()", "PermissionError"),
        ("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)", "PermissionError"),
        ("os.execv('/bin/true', ['true'])", "PermissionError"),
        ("socket.socket(socket.AF_UNIX).close()", "done"),
        ("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()", "done"),
        ("open('cache', 'w').close(); os.mkdir('folder'); os.chmod('cache', 0o700)", "done"),
    ],
)
def test_the_confinement_for_graphics_cards_allows_drivers(statement: str, result: str, tmp_path: Path) -> None:
    assert after("stay_local()", statement, tmp_path) == result


def test_confine_reports_active_protections(tmp_path: Path) -> None:
    printed = after("confine(writable=None, readable=[])", "print(*held, sep='; ')", tmp_path)
    assert printed.startswith("Landlock (reading, writing")
    assert "seccomp (network, programs, other processes)" in printed


def test_hard_links_to_files_outside_are_blocked(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("zqx18")
    (tmp_path / "own").mkdir()
    assert after(CONFINE, "os.link('../text', 'text')", tmp_path / "own") == "OSError"
    assert list((tmp_path / "own").iterdir()) == []
