"""A converter worker, `python -m bad_converter`, with an additional converter that behaves like a hijacked parser.

Everything else is the normal `gnod.ingest.workers.worker`. The text of a file has the name of a function of this module
and its arguments.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from gnod.ingest.formats.registry import REGISTRY
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.result import Converted
from gnod.ingest.workers import worker

C = ctypes.CDLL(None, use_errno=True)


def leave(status: str) -> None:
    os._exit(int(status))


def eat_in_python() -> None:
    pile = []
    while True:
        pile.append(bytearray(1 << 20))


def eat_with_numpy() -> None:
    import numpy

    pile = []
    while True:
        pile.append(numpy.ones(1 << 20))


def eat_in_c() -> None:
    """Behave like a C++ library after a fatal error: print the reason and abort."""
    C.malloc.restype = ctypes.c_void_p
    while C.malloc(ctypes.c_size_t(1 << 20)):
        pass
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
    os.abort()


def abort() -> None:
    os.abort()


def crash() -> None:
    ctypes.string_at(0)


def fork_without_end() -> None:
    """Use the C library, because audit hooks do not see its calls."""
    for _ in range(100):
        child = C.fork()
        if child < 0:
            raise OSError(ctypes.get_errno(), "fork")
        if child == 0:
            time.sleep(600)


def burn_in_threads() -> None:
    """Hashing releases the interpreter's lock, so the threads run in parallel."""
    import hashlib

    def burn() -> None:
        while True:
            hashlib.sha256(bytes(64 << 20))

    for _ in range(8):
        threading.Thread(target=burn, daemon=True).start()
    time.sleep(600)


def write(path: str) -> None:
    Path(path).write_text("was here")


def remove(path: str) -> None:
    Path(path).unlink()


def change_mode(path: str) -> None:
    Path(path).chmod(0o777)


def read(path: str) -> str:
    return Path(path).read_text()


def tell_environment() -> str:
    return "\n".join(f"{name}={value}" for name, value in os.environ.items())


def write_temporary() -> str:
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(b"x")
    return f"wrote {file.name}"


def fill_with_one_file() -> None:
    with tempfile.TemporaryFile() as file:
        while True:
            file.write(bytes(16 << 20))


def fill_with_many_files() -> None:
    folder = tempfile.gettempdir()
    for number in range(2_000):
        Path(folder, str(number)).touch()
    time.sleep(600)


def open_without_end() -> None:
    held = []
    while True:
        held.append(open("/dev/null"))  # noqa: PTH123, SIM115


def connect_tcp(port: str) -> None:
    socket.create_connection(("127.0.0.1", int(port)))


def connect_in_c(port: str) -> None:
    if (descriptor := C.socket(socket.AF_INET, socket.SOCK_STREAM, 0)) < 0:
        raise OSError(ctypes.get_errno(), "socket")
    address = b"\x02\x00" + int(port).to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
    if C.connect(descriptor, address, len(address)):
        raise OSError(ctypes.get_errno(), "connect")


def send_udp(port: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(b"was here", ("127.0.0.1", int(port)))


def connect_unix(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as out:
        out.connect(path)


def look_up(name: str) -> None:
    socket.getaddrinfo(name, 80)


def run_program(path: str) -> None:
    subprocess.run(["/bin/sh", "-c", f"echo was here > {path}"], check=True)


def run_in_c(path: str) -> None:
    """The program replaces the worker."""
    arguments = (ctypes.c_char_p * 4)(b"/bin/sh", b"-c", f"echo was here > {path}".encode(), None)
    C.execv(b"/bin/sh", arguments)
    raise OSError(ctypes.get_errno(), "execv")


def signal_parent() -> None:
    if C.kill(os.getppid(), signal.SIGTERM):
        raise OSError(ctypes.get_errno(), "kill")


def limit_parent() -> None:
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))


def trace_parent() -> None:
    attach = 16
    if C.ptrace(attach, os.getppid(), None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def look_into_parent() -> None:
    Path(f"/proc/{os.getppid()}/environ").read_bytes()


def outlive_parent() -> None:
    if C.prctl(1, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def babble() -> None:
    """Write to the socket of the daemon, and continue."""
    os.write(int(sys.argv[1]), b"\xff" * 200)
    time.sleep(600)


def hang_up() -> None:
    os.close(int(sys.argv[1]))
    time.sleep(600)


def answer_for_the_next() -> None:
    """Report twice that the job is taken."""
    from gnod.child import frames
    from gnod.ingest.workers.jobs import Taken

    os.write(int(sys.argv[1]), frames.encode(Taken()))
    time.sleep(600)


def map_without_end() -> None:
    """Reserve address space without writing to it."""
    held = []
    while True:
        held.append(mmap.mmap(-1, 256 << 20))


def _read_deed(content: FileContent) -> Converted:
    name, *arguments = content.text().split("\n")
    deed: Callable[..., str | None] = globals()[name]
    result = deed(*arguments)
    return Converted(markdown=result or "done", converter="bad/1")


REGISTRY.add(Converter(label="a deed", mime="text/plain", extensions="deed", is_text=True, read=_read_deed))

if __name__ == "__main__":
    sys.exit(worker.main(sys.argv[1:]))
