"""What the sandbox blocks and allows, in new processes on the current kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.child.sandboxed import after, has_landlock

pytestmark = pytest.mark.skipif(not has_landlock(), reason="this system has no Landlock")
CONFINE = "confine(writable='.', readable=[])"


BLOCKED = [
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
]
ALLOWED = [
    "open('new', 'w').close(); os.truncate('new', 9); os.remove('new')",
    "__import__('tempfile').TemporaryFile(dir='.').write(b'x')",
    "open('/dev/null', 'w').write('x')",
    "os.urandom(9); open('/proc/self/status').read(); open('/etc/passwd').read()",
    "[t := threading.Thread(target=time.sleep, args=(0.01,)), t.start(), t.join()]",
    "os.kill(own, 0)",
    "__import__('resource').setrlimit(0, (99, 99))",
    "import json.tool, sqlite3, decimal, numpy",
]


def test_the_sandbox_blocks(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("zqx18")
    folder = tmp_path / "own"
    folder.mkdir()
    found = dict(zip(BLOCKED, after(CONFINE, *BLOCKED, cwd=folder), strict=True))
    assert found == dict.fromkeys(BLOCKED, "PermissionError")
    assert after(CONFINE, "os.link('../text', 'text')", cwd=folder) == ["OSError"]
    assert (tmp_path / "text").read_text() == "zqx18"
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_the_sandbox_allows(tmp_path: Path) -> None:
    assert dict(zip(ALLOWED, after(CONFINE, *ALLOWED, cwd=tmp_path), strict=True)) == dict.fromkeys(ALLOWED, "done")


def test_abort_still_ends_the_process(tmp_path: Path) -> None:
    assert after(CONFINE, "os.abort()", cwd=tmp_path)[0].startswith("status -6")


def test_existing_threads_are_confined_too(tmp_path: Path) -> None:
    confine = (
        "confine; go = threading.Event(); out = []\n"
        "def late():\n    go.wait()\n    try: socket.socket()\n    except OSError: out.append(1)\n"
        f"t = threading.Thread(target=late); t.start(); sandbox.{CONFINE}; go.set(); t.join()"
    )
    assert after(confine, "assert out == [1]", cwd=tmp_path) == ["done"]


def test_reading_is_not_limited_without_a_list_of_readable_folders(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("zqx18")
    statements = ("open('text').read()", "open('text', 'a')")
    assert after("confine(writable=None, readable=None)", *statements, cwd=tmp_path) == ["done", "PermissionError"]


def test_the_confinement_for_graphics_cards_allows_drivers(tmp_path: Path) -> None:
    blocked = [
        "socket.socket()",
        "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
        "os.execv('/bin/true', ['true'])",
    ]
    allowed = [
        "socket.socket(socket.AF_UNIX).close()",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()",
        "open('cache', 'w').close(); os.mkdir('folder'); os.chmod('cache', 0o700)",
    ]
    found = dict(zip([*blocked, *allowed], after("stay_local()", *blocked, *allowed, cwd=tmp_path), strict=True))
    assert found == dict.fromkeys(blocked, "PermissionError") | dict.fromkeys(allowed, "done")


def test_confine_reports_active_protections(tmp_path: Path) -> None:
    printed = after("confine(writable=None, readable=[])", "print(*held, sep='; ')", cwd=tmp_path)[0]
    assert printed.startswith("Landlock (reading, writing")
    assert "seccomp (network, programs, other processes)" in printed
