"""What a sandbox bars and what it leaves, in new processes and on the kernel that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.child.sandboxed import after, has_landlock

pytestmark = pytest.mark.skipif(not has_landlock(), reason="this system gives no sandbox")
CONFINE = "confine(writable='.', readable=[])"


@pytest.mark.parametrize(
    "deed",
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
def test_what_is_barred(deed: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("zqx18")
    folder = tmp_path / "own"
    folder.mkdir()
    assert after(CONFINE, deed, folder) == "PermissionError"
    assert (tmp_path / "text").read_text() == "zqx18"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "deed",
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
def test_what_is_left(deed: str, tmp_path: Path) -> None:
    assert after(CONFINE, deed, tmp_path) == "done"


def test_an_abort_is_still_one(tmp_path: Path) -> None:
    assert after(CONFINE, "os.abort()", tmp_path).startswith("status -6")


def test_threads_that_were_there_are_held_too(tmp_path: Path) -> None:
    confine = (
        "confine; go = threading.Event(); out = []\n"
        "def late():\n    go.wait()\n    try: socket.socket()\n    except OSError: out.append(1)\n"
        f"t = threading.Thread(target=late); t.start(); sandbox.{CONFINE}; go.set(); t.join()"
    )
    assert after(confine, "assert out == [1]", tmp_path) == "done"


def test_reading_is_left_alone_where_nobody_says_what_may_be_read(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("zqx18")
    assert after("confine(writable=None, readable=None)", "open('text').read()", tmp_path) == "done"
    assert after("confine(writable=None, readable=None)", "open('text', 'a')", tmp_path) == "PermissionError"


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        ("socket.socket()", "PermissionError"),
        ("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)", "PermissionError"),
        ("os.execv('/bin/true', ['true'])", "PermissionError"),
        ("socket.socket(socket.AF_UNIX).close()", "done"),
        ("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()", "done"),
        ("open('cache', 'w').close(); os.mkdir('folder'); os.chmod('cache', 0o700)", "done"),
    ],
)
def test_beside_a_graphics_card(deed: str, said: str, tmp_path: Path) -> None:
    assert after("stay_local()", deed, tmp_path) == said


def test_what_holds_is_told(tmp_path: Path) -> None:
    said = after("confine(writable=None, readable=[])", "print(*held, sep='; ')", tmp_path)
    assert said.startswith("Landlock (reading, writing")
    assert "seccomp (network, programs, other processes)" in said


def test_no_second_name_for_a_file_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("zqx18")
    (tmp_path / "own").mkdir()
    assert after(CONFINE, "os.link('../text', 'text')", tmp_path / "own") == "OSError"
    assert list((tmp_path / "own").iterdir()) == []
