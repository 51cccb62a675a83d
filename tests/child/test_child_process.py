"""Real children: what they find, how they end, and that they do not outlive their parent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import psutil
import pytest

from gnod.child import frames
from gnod.child.process import ChildProcess, launch

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


async def test_messages_go_there_and_back() -> None:
    async with echo() as child:
        for message in ("", "日本語", "x" * (5 << 20)):
            assert await ask(child, message) == message


async def test_what_a_child_finds(capfd: pytest.CaptureFixture[str]) -> None:
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


async def test_an_exit_status_is_put_into_words() -> None:
    async with echo() as child:
        assert await ask(child, "exit 3") == "exit 3"
        assert await frames.read(child.reader, ANYTHING) is None
        assert await child.ended() == "exit status 3"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV])
async def test_a_death_by_signal_is_put_into_words(number: signal.Signals) -> None:
    async with echo() as child:
        await ask(child, "be deaf")
        os.kill(child.pid, number)
        assert await child.ended() == f"signal {number.name}"


async def test_even_a_stopped_child_can_be_killed() -> None:
    async with echo() as child:
        await ask(child, "be deaf")
        assert child.resident_bytes() > 1_000_000
        os.kill(child.pid, signal.SIGSTOP)
        child.kill()
        assert await child.ended() == "signal SIGKILL"
        child.kill()
        assert await child.ended() == "signal SIGKILL"
        assert child.resident_bytes() == 0


async def test_a_child_ignores_ctrl_c() -> None:
    async with echo() as child:
        await ask(child, "ready")
        os.kill(child.pid, signal.SIGINT)
        assert await ask(child, "still there") == "still there"


async def test_nothing_can_be_sent_to_a_child_that_is_gone() -> None:
    async with echo() as child:
        await ask(child, "exit 0")
        assert await child.ended() == "exit status 0"
        with pytest.raises(ConnectionError):
            await child.send(frames.encode("anybody?"))


async def test_a_child_that_cannot_be_started_leaves_nothing_open() -> None:
    before = psutil.Process().num_fds()
    with pytest.raises(OSError, match="too long"):
        await launch("echo_child", environment={"TOO_LONG": "x" * (8 << 20)})
    assert psutil.Process().num_fds() == before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a child has to read the stream to know")
def test_even_a_deaf_child_dies_with_its_parent() -> None:
    program = (
        "import asyncio, os, signal\nfrom gnod.child import frames, process\nimport msgspec\n"
        "async def main():\n"
        f"    child = await process.launch('echo_child', ['0'], environment={{'PYTHONPATH': {FOLDER!r}}})\n"
        "    await child.send(frames.encode('be deaf'))\n"
        "    await frames.read(child.reader, msgspec.msgpack.Decoder())\n"
        "    print(child.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())"
    )
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert parent.returncode == -signal.SIGKILL, parent.stderr
    while not gone(int(parent.stdout)):
        time.sleep(0.01)


def test_a_child_whose_parent_died_before_it_settled_ends() -> None:
    stranger = subprocess.run(
        [sys.executable, "-c", "from gnod.child.settle import settle\nsettle(-1)\nprint('lives')"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (stranger.returncode, stranger.stdout, stranger.stderr) == (0, "", "")


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
