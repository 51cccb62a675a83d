"""Real child processes: their environment, how they end, and that they do not outlive their parent."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import psutil
import pytest

from gnod.child import frames
from gnod.child.process import ChildProcess, MemoryUse, kill_group, launch, memory_use
from tests.machine import wait_until
from tests.systems import needs_linux

FOLDER = str(Path(__file__).parent)  # of echo_child
ANYTHING = msgspec.msgpack.Decoder()


@asynccontextmanager
async def echo(nice: int = 0) -> AsyncIterator[ChildProcess]:
    child = await launch("echo_child", [str(nice)], environment={"PYTHONPATH": FOLDER, "ECHO_WORD": "ü"})
    try:
        async with asyncio.timeout(60):
            yield child
    finally:
        child.kill()
        await child.ended()


async def ask(child: ChildProcess, message: str) -> object:
    await child.send(frames.encode(message))
    return await frames.read(child.reader, ANYTHING)


async def test_messages_are_echoed() -> None:
    async with echo() as child:
        for message in ("", "日本語", "x" * (5 << 20)):
            assert await ask(child, message) == message


async def test_the_environment_of_a_child(capfd: pytest.CaptureFixture[str]) -> None:
    nice = min(os.getpriority(os.PRIO_PROCESS, 0) + 3, 19)
    async with echo(nice=3) as child:
        assert await ask(child, "facts") == {
            "folder": "/",
            "nice": nice,
            "core": [0, 0],
            "leads_session": True,
            "safe_path": True,
            "word": "ü",
            "home": os.environ.get("HOME"),
            "asyncio": False,
            "input": "",
        }
    assert capfd.readouterr() == ("", "")


async def test_the_end_of_the_stream_ends_a_child() -> None:
    async with echo() as child:
        await ask(child, "ready")
        assert await child.ended() == "exit status 0"


async def test_the_exit_status_is_described() -> None:
    async with echo() as child:
        assert await ask(child, "exit 3") == "exit 3"
        assert await frames.read(child.reader, ANYTHING) is None
        assert await child.ended() == "exit status 3"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV])
async def test_a_fatal_signal_is_described(number: signal.Signals) -> None:
    async with echo() as child:
        await ask(child, "sleep")
        os.kill(child.pid, number)
        assert await child.ended() == f"signal {number.name}"


async def test_a_stopped_child_can_be_killed() -> None:
    async with echo() as child:
        await ask(child, "sleep")
        assert child.memory().resident_bytes > 1_000_000
        os.kill(child.pid, signal.SIGSTOP)
        child.kill()
        assert await child.ended() == "signal SIGKILL"
        child.kill()
        assert await child.ended() == "signal SIGKILL"
        assert child.memory() == MemoryUse(0, 0)


@pytest.mark.parametrize("number", [errno.ESRCH, errno.EPERM])
def test_a_group_that_has_ended_is_not_an_error(number: int) -> None:
    """macOS says EPERM of a group of zombies, Linux ESRCH of one without processes."""

    def killpg(group: int, signal_: int) -> None:
        raise OSError(number, os.strerror(number))

    kill_group(os.getpid(), killpg)


def test_what_the_limit_of_memory_counts() -> None:
    """A new process on macOS has 400 GB of address space: it did not run out of memory."""
    assert memory_use(50 << 20, 400 << 30, "darwin") == (50 << 20, 50 << 20)
    assert memory_use(50 << 20, 2 << 30, "linux") == (50 << 20, 2 << 30)


async def test_a_child_ignores_ctrl_c() -> None:
    async with echo() as child:
        await ask(child, "ready")
        os.kill(child.pid, signal.SIGINT)
        assert await ask(child, "still running") == "still running"


async def test_sending_to_an_ended_child_fails() -> None:
    async with echo() as child:
        await ask(child, "exit 0")
        assert await child.ended() == "exit status 0"
        with pytest.raises(ConnectionError):
            await child.send(frames.encode("message"))


async def test_a_failed_start_leaks_no_descriptors() -> None:
    before = psutil.Process().num_fds()
    for _ in range(10):
        with pytest.raises(OSError, match="too long"):
            await launch("echo_child", environment={"TOO_LONG": "x" * (8 << 20)})
    assert psutil.Process().num_fds() < before + 10, "other tests of this process may open and close some"


@needs_linux("other systems detect it only by reading the stream")
def test_a_sleeping_child_ends_with_its_parent() -> None:
    program = (
        "import asyncio, os, signal\nfrom gnod.child import frames, process\nimport msgspec\n"
        "async def main():\n"
        f"    child = await process.launch('echo_child', ['0'], environment={{'PYTHONPATH': {FOLDER!r}}})\n"
        "    await child.send(frames.encode('sleep'))\n"
        "    await frames.read(child.reader, msgspec.msgpack.Decoder())\n"
        "    print(child.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())"
    )
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert parent.returncode == -signal.SIGKILL, parent.stderr
    wait_until(lambda: gone(int(parent.stdout)))


def test_a_child_whose_parent_ended_during_setup_ends() -> None:
    orphan = subprocess.run(
        [sys.executable, "-c", "from gnod.child.child_setup import set_up_child\nset_up_child(-1)\nprint('lives')"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (orphan.returncode, orphan.stdout, orphan.stderr) == (0, "", "")


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
