"""Test hostile files that hijack a converter, in real workers. Each attack becomes a failure of the file that names the
cause, the next file is read, and nothing is left behind. bad_converter.py has the attacks."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from gnod.ingest.workers.jobs import Failure, FileJob, Outcome
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.tables.records import PreparedDocument
from tests.child.sandboxed import has_landlock

pytestmark = pytest.mark.slow
FOLDER = str(Path(__file__).parent)  # the folder of bad_converter
linux = pytest.mark.skipif(not has_landlock(), reason="this system has no sandbox")


def _command(process: psutil.Process) -> str:
    """Return the command line; it is empty for a process that has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


class Collection:
    """A folder of files, a pool that reads it, and a folder next to it that must stay unchanged."""

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.outside = folder / "outside"
        self.outside.mkdir()
        self.secret = self.outside / "secret"
        self.secret.write_text("zqx17")
        self.scratch = folder / "scratch"
        self.roots = [str(self.notes)]
        self.pool: WorkerPool

    @asynccontextmanager
    async def served(self, *, timeout_s: float = 60, memory_mb: int = 1024) -> AsyncIterator[None]:
        self.pool = WorkerPool(
            size=1,
            timeout_s=timeout_s,
            memory_mb=memory_mb,
            roots=lambda: self.roots,
            scratch_folder=self.scratch,
            module="bad_converter",
        )
        try:
            async with asyncio.timeout(100):
                yield
        finally:
            await self.pool.close()
            assert not self.scratch.exists()
            assert not any(FOLDER in _command(child) for child in psutil.Process().children())

    async def does(self, deed: str, *arguments: object) -> Outcome:
        """Run an attack from a file. Afterwards, the next file must be readable, and nothing may have changed."""
        path = self.notes / "bad.deed"
        path.write_text("\n".join([deed, *map(str, arguments)]))
        before = set(self.outside.iterdir())
        outcome = await self.read(path)
        good = self.notes / "good.md"
        good.write_text("# Good\n")
        after = await self.read(good)
        assert isinstance(after, PreparedDocument)
        assert after.title == "Good"
        assert set(self.outside.iterdir()) == before
        assert self.secret.read_text() == "zqx17"
        assert {file.name for file in self.notes.iterdir()} == {"bad.deed", "good.md"}
        workers = [Path(folder) for folder in self.scratch.iterdir()]
        assert [file.name for folder in workers for file in folder.iterdir()] == ["errors"]
        return outcome

    async def read(self, path: Path) -> Outcome:
        job = FileJob(path=str(path), relative_path=path.name, max_bytes=1 << 20, max_characters=1 << 20)
        return await self.pool.run(job)


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([FOLDER, os.environ.get("PYTHONPATH", "")]))
    return Collection(tmp_path)


def fails(outcome: Outcome, kind: str, words: str) -> None:
    assert isinstance(outcome, Failure), outcome
    assert (outcome.stage, outcome.kind) == ("convert", kind)
    assert words in outcome.message
    assert outcome.stat is not None


@pytest.mark.stress
async def test_it_ends_the_process(collection: Collection) -> None:
    async with collection.served():
        fails(await collection.does("leave", 3), "crashed", "exit status 3")
        fails(await collection.does("leave", 0), "crashed", "exit status 0")
        fails(await collection.does("abort"), "crashed", "SIGABRT")
        fails(await collection.does("crash"), "crashed", "SIGSEGV")


@linux
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="with one processor, the time limit comes first")
@pytest.mark.stress
async def test_it_computes_in_many_threads(collection: Collection) -> None:
    """The limit is on CPU time, which is as slow as real time if other processes use the processors."""
    async with collection.served(timeout_s=4):
        outcome = await collection.does("burn_in_threads")
        fails(outcome, "timeout", "The file took")


@linux
async def test_it_takes_memory_without_end(collection: Collection) -> None:
    async with collection.served(memory_mb=600):
        for deed in ("eat_in_python", "eat_with_numpy", "eat_in_c", "map_without_end"):
            outcome = await collection.does(deed)
            assert isinstance(outcome, Failure), deed
            assert outcome.kind == "memory", (deed, outcome.message)
            assert "memory" in outcome.message


@linux
async def test_it_starts_processes(collection: Collection) -> None:
    async with collection.served():
        fails(await collection.does("fork_without_end"), "refused", "fork")
        fails(await collection.does("run_program", collection.outside / "new"), "refused", "subprocess.Popen")
        fails(await collection.does("run_in_c", collection.outside / "new"), "refused", "execv")


@linux
async def test_it_writes_elsewhere(collection: Collection) -> None:
    async with collection.served():
        where = [collection.outside / "new", collection.notes / "new", collection.secret, Path.home() / "new"]
        for path in [*where, Path("/tmp/gnod-was-here"), Path("/dev/shm/gnod-was-here")]:
            fails(await collection.does("write", path), "refused", str(path))
            assert path == collection.secret or not path.exists()
        fails(await collection.does("remove", collection.secret), "refused", "secret")
        fails(await collection.does("remove", collection.notes / "bad.deed"), "refused", "bad.deed")
        fails(await collection.does("change_mode", collection.secret), "refused", "secret")


async def test_it_writes_temporary_files(collection: Collection) -> None:
    """The files are removed before the next file, as `does` checks. The worker stays."""
    async with collection.served():
        outcome = await collection.does("write_temporary")
        assert isinstance(outcome, PreparedDocument)
        assert f"wrote {collection.scratch}" in outcome.markdown
        before = collection.pool.statuses()[0].pid
        assert isinstance(await collection.does("write_temporary"), PreparedDocument)
        assert collection.pool.statuses()[0].pid == before


@pytest.mark.stress
async def test_it_fills_its_temporary_folder(collection: Collection) -> None:
    async with collection.served():
        fails(await collection.does("fill_with_one_file"), "failed", "limit of temporary files")
        fails(await collection.does("fill_with_many_files"), "failed", "limit of temporary files")
        fails(await collection.does("open_without_end"), "failed", "limit of open files")


@linux
async def test_it_reads_elsewhere(collection: Collection) -> None:
    async with collection.served():
        files = (path for path in Path.home().iterdir() if path.is_file() and not path.is_symlink())
        at_home = min(files, default=collection.secret)
        for path in (collection.secret, at_home, f"/proc/{os.getpid()}/environ"):
            fails(await collection.does("read", path), "refused", str(path))
        assert isinstance(await collection.does("read", collection.notes / "good.md"), PreparedDocument)


async def test_it_finds_no_secret_in_its_environment(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "zqx17")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "zqx17")
    async with collection.served():
        outcome = await collection.does("tell_environment")
    assert isinstance(outcome, PreparedDocument)
    assert "TMPDIR=" in outcome.markdown
    assert "zqx17" not in outcome.markdown


@linux
async def test_it_uses_the_network(collection: Collection, short_tmp: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        udp.bind(("127.0.0.1", 0))
        unix.bind(str(short_tmp / "s"))
        unix.listen()
        for listening in (tcp, udp, unix):
            listening.settimeout(0)
        async with collection.served():
            fails(await collection.does("connect_tcp", tcp.getsockname()[1]), "refused", "socket")
            fails(await collection.does("connect_in_c", tcp.getsockname()[1]), "refused", "socket")
            fails(await collection.does("send_udp", udp.getsockname()[1]), "refused", "Operation not permitted")
            fails(await collection.does("connect_unix", short_tmp / "s"), "refused", "Operation not permitted")
            fails(await collection.does("look_up", "example.org"), "refused", "socket.getaddrinfo")
        for accept in (tcp.accept, unix.accept, lambda: udp.recv(99)):
            with pytest.raises(BlockingIOError):
                accept()


@linux
async def test_it_meddles_with_the_daemon(collection: Collection) -> None:
    got: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: got.append(number))
    try:
        async with collection.served():
            fails(await collection.does("signal_parent"), "refused", "kill")
            fails(await collection.does("limit_parent"), "refused", "Operation not permitted")
            fails(await collection.does("trace_parent"), "refused", "ptrace")
            fails(await collection.does("look_into_parent"), "refused", "environ")
            fails(await collection.does("outlive_parent"), "refused", "prctl")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert got == []


@pytest.mark.stress
async def test_it_writes_to_the_pipe_of_the_daemon(collection: Collection) -> None:
    async with collection.served():
        fails(await collection.does("babble"), "crashed", "invalid reply")
        fails(await collection.does("answer_for_the_next"), "crashed", "invalid reply")
        fails(await collection.does("hang_up"), "crashed", "signal SIGKILL")


async def test_the_active_limits_are_reported(collection: Collection) -> None:
    async with collection.served():
        await collection.does("write_temporary")
        assert has_landlock() == any("Landlock (reading, writing" in held for held in collection.pool.protections)


async def test_a_root_that_is_another_folder_now(collection: Collection) -> None:
    """This simulates a drive that was removed and inserted again. Rules of Landlock apply to the old folder."""
    async with collection.served():
        await collection.does("write_temporary")
        shutil.rmtree(collection.notes)
        collection.outside.rename(collection.notes)
        read = await collection.read(collection.notes / "secret")
        assert isinstance(read, PreparedDocument)
        assert read.markdown == "zqx17\n"
        collection.notes.rename(collection.outside)
        collection.notes.mkdir()


async def test_a_collection_that_is_added(collection: Collection) -> None:
    async with collection.served():
        await collection.does("write_temporary")
        collection.roots.append(str(collection.outside))
        read = await collection.read(collection.secret)
        assert isinstance(read, PreparedDocument)
        assert isinstance(await collection.does("read", collection.secret), PreparedDocument)


async def test_left_overs_of_a_daemon_that_was_killed(collection: Collection) -> None:
    (collection.scratch / "worker" / "deep").mkdir(parents=True)
    async with collection.served():
        await collection.does("write_temporary")


async def test_files_are_read_on_a_full_disk(collection: Collection) -> None:
    """The folder for temporary files cannot be created; here, because its parent is a file."""
    collection.scratch = collection.secret / "scratch"
    async with collection.served():
        good = collection.notes / "good.md"
        good.write_text("# Good\n")
        assert isinstance(await collection.read(good), PreparedDocument)
