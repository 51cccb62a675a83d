"""The daemon's memory service: locking, kills, damage, and the data that remains on the disk."""

from __future__ import annotations

import asyncio
import base64
import gc
import logging
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path

import keyring
import pytest
from keyrings.alt.file import PlaintextKeyring

from gnod.daemon import logs
from gnod.errors import (
    DatabaseCorrupt,
    ForeignDatabase,
    GnoError,
    KeyringFailed,
    MemoryLocked,
    NewerDatabase,
    WrongPassphrase,
)
from gnod.memory.key import keys
from gnod.memory.memories import Memories
from gnod.memory.recalling.ranking import SEARCH
from gnod.memory.records import Memory
from gnod.memory.service import MemoryService
from gnod.memory.transactions import MemoryChange, MemoryDraft
from tests.memory.memory_bench import Kept, harm, serving
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("keyring_file")]

PASSPHRASE = "correct horse, battery"
DRAFT = MemoryDraft("The zanzibar code is quuxolotl.", "fact", ["Xylophone topic"], "Wombat team")
CHANGED = "The zanzibar code is vorpalblade now."


class Slow(PlaintextKeyring):  # type: ignore[misc]
    """A keyring that waits for its owner."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = threading.Event()

    def set_password(self, service: str, username: str, password: str) -> None:
        self.answers.wait(60)
        super().set_password(service, username, password)


class TestLocking:
    async def test_the_keyring_opens_them_by_itself_and_after_a_restart(self, tmp_path: Path) -> None:
        async with serving(tmp_path) as served:
            state = await served.service.state()
            assert (state.is_unlocked, state.key, state.memories, state.unembedded) == (False, None, None, None)
            assert not (tmp_path / "memory.sqlite").exists(), "to ask makes nothing"
            (stored,) = await (await served.service.memories()).store([DRAFT])
            state = await served.service.state()
            assert (state.is_unlocked, state.key, state.namespaces) == (True, "keyring", ["personal", "wombat team"])
            assert (state.memories, state.unembedded, state.unindexed) == (1, 1, 0)
        async with serving(tmp_path) as served:
            assert (await served.service.state()).key == "keyring"
            assert await (await served.service.memories()).retrieve([stored.memory.name]) == [stored.memory]

    async def test_locked_by_hand_it_stays_locked(self, tmp_path: Path) -> None:
        async with serving(tmp_path) as served:
            memories = await served.service.memories()
            await memories.store([DRAFT])
            await served.service.lock()
            with pytest.raises(MemoryLocked):
                await served.service.memories()
            with pytest.raises(MemoryLocked):
                await served.service.recall("code", SEARCH, [], 1.0)
            with pytest.raises(MemoryLocked):
                await memories.store([DRAFT])
            await served.service.lock()
            await served.service.unlock(None)
            assert len((await served.service.memories()).resident) == 1

    @pytest.mark.usefixtures("no_keyring")
    async def test_a_passphrase(self, tmp_path: Path) -> None:
        async with serving(tmp_path) as served:
            with pytest.raises(MemoryLocked, match="asks for a passphrase instead"):
                await served.service.memories()
            await served.service.unlock(PASSPHRASE)
            (stored,) = await (await served.service.memories()).store([DRAFT])
        async with serving(tmp_path) as served:
            with pytest.raises(MemoryLocked, match="asks for their passphrase"):
                await served.service.memories()
            with pytest.raises(WrongPassphrase):
                await served.service.unlock("not the one")
            await served.service.unlock(PASSPHRASE)
            assert await (await served.service.memories()).retrieve([stored.memory.name]) == [stored.memory]

    async def test_to_unlock_again_checks_and_keeps(self, tmp_path: Path) -> None:
        async with serving(tmp_path) as served:
            memories = await served.service.memories()
            await served.service.unlock(None)
            assert await served.service.memories() is memories
            with pytest.raises(WrongPassphrase):
                await served.service.unlock(PASSPHRASE)

    async def test_all_at_once_make_one_key(self, tmp_path: Path, keyring_file: Path) -> None:
        async with serving(tmp_path) as served:
            tasks = [asyncio.create_task(served.service.memories()) for _ in range(8)]
            await asyncio.sleep(0)
            for task in tasks[:4]:
                task.cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
            await found[-1].store([DRAFT])  # type: ignore[union-attr]
        assert keyring_file.read_text().count(" = ") == 1
        async with serving(tmp_path) as served:
            assert len(await (await served.service.memories()).open_all([1])) == 1

    async def test_what_was_unlocked_is_freed(self, tmp_path: Path) -> None:
        async with serving(tmp_path) as served:
            memories = await served.service.memories()
            await memories.store([DRAFT])
            held = weakref.ref(memories.resident)
            del memories
            await served.service.lock()
            # A thread that has just finished may still hold its last task.
            await until(lambda: gc.collect() >= 0 and held() is None)

    async def test_locking_during_other_requests(self, tmp_path: Path, minilm_onnx: Path) -> None:
        async with serving(tmp_path, embed=minilm_onnx) as served:
            memories = await served.service.memories()
            done = []

            async def store(number: int) -> None:
                done.append(await memories.store([DRAFT._replace(text=f"text {number}")]))

            async def work() -> None:
                tasks = [asyncio.create_task(store(n)) for n in range(6)]
                tasks += [asyncio.create_task(self._search(served.service)) for _ in range(3)]
                await asyncio.sleep(0.02)
                await served.service.lock()
                for outcome in await asyncio.gather(*tasks, return_exceptions=True):
                    assert outcome is None or isinstance(outcome, MemoryLocked)

            await work()
            await served.service.unlock(None)
            assert len((await served.service.memories()).resident) == len(done)

    async def _search(self, served: MemoryService) -> None:
        await served.recall("text", SEARCH, [], 1.0)

    async def test_a_keyring_that_never_answers(
        self, tmp_path: Path, keyring_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        backend = Slow()
        backend.file_path = str(keyring_file)
        keyring.set_keyring(backend)  # the fixture restores the previous one
        monkeypatch.setattr(keys, "_KEYRING_LIMIT_S", 0.3)
        async with serving(tmp_path) as served:
            with pytest.raises(KeyringFailed, match="did not answer"):
                await served.service.memories()
            # It answers after the request timed out. The service must not keep or use a key whose record is not stored.
            backend.answers.set()
            await until(keyring_file.exists)
            await asyncio.sleep(0.1)
            assert not (await served.service.state()).is_unlocked
            monkeypatch.setattr(keys, "_KEYRING_LIMIT_S", 10)
            (stored,) = await (await served.service.memories()).store([DRAFT])
        async with serving(tmp_path) as served:
            assert await (await served.service.memories()).retrieve([stored.memory.name]) == [stored.memory]


class TestModels:
    async def test_memories_are_embedded_when_the_model_is_installed(self, tmp_path: Path, minilm_onnx: Path) -> None:
        async with serving(tmp_path, embed=tmp_path / "minilm" / "model.onnx") as served:
            memories = await served.service.memories()
            await memories.store([DRAFT._replace(text=f"text {n}") for n in range(12)])
            assert memories.resident.unembedded == 12
            (tmp_path / "minilm").symlink_to(minilm_onnx.parent)
            served.service.models_changed()
            await until(lambda: memories.resident.unembedded == 0)

    async def test_a_search_retries_failed_embeddings(self, tmp_path: Path, minilm_onnx: Path) -> None:
        async with serving(tmp_path, embed=tmp_path / "minilm" / "model.onnx") as served:
            memories = await served.service.memories()
            await memories.store([DRAFT])
            (tmp_path / "minilm").symlink_to(minilm_onnx.parent)
            found = await served.service.recall("code", SEARCH, [], 1.0)
            assert any("not embedded yet" in note for note in found.notes)
            await until(lambda: memories.resident.unembedded == 0)


class TestDamage:
    async def test_a_damaged_file_is_left_as_it_is(self, tmp_path: Path) -> None:
        path = tmp_path / "memory.sqlite"
        async with serving(tmp_path) as served:
            await (await served.service.memories()).store([DRAFT])
        whole = path.read_bytes()
        for harmed in (b"nothing of SQLite's " * 300, whole[:4096] + os.urandom(len(whole) - 4096), whole[:5000]):
            path.write_bytes(harmed)
            async with serving(tmp_path) as served:
                with pytest.raises(
                    (DatabaseCorrupt, ForeignDatabase), match="it is not changed; `gnoctl restore --mem"
                ):
                    await (await served.service.memories()).store([DRAFT])
            assert [each.name for each in tmp_path.glob("memory*") if each.suffix == ".sqlite"] == ["memory.sqlite"]
        path.write_bytes(whole)
        async with serving(tmp_path) as served:
            assert len((await served.service.memories()).resident) == 1

    async def test_a_damaged_record_of_the_key(self, tmp_path: Path) -> None:
        async with serving(tmp_path) as served:
            await served.service.memories()
        harm(tmp_path / "memory.sqlite", "UPDATE keys SET record = x'80'")
        async with serving(tmp_path) as served:
            for _ in range(2):
                with pytest.raises(GnoError, match="key record of the memories is damaged: run `gnoctl restore"):
                    await served.service.memories()
            with pytest.raises(GnoError, match="key record of the memories is damaged"):
                await served.service.unlock(PASSPHRASE)

    async def test_a_newer_one(self, tmp_path: Path) -> None:
        async with serving(tmp_path) as served:
            await served.service.memories()
        harm(tmp_path / "memory.sqlite", "UPDATE schema_meta SET value = '99' WHERE key = 'version'")
        async with serving(tmp_path) as served:
            with pytest.raises(NewerDatabase):
                await served.service.memories()


STORING = """
import asyncio, sys
from pathlib import Path
from gnod.memory.transactions import MemoryDraft
from tests.memory.memory_bench import Kept

async def main() -> None:
    memories = await Kept(Path(sys.argv[1])).opened()
    for n in range(10_000):
        await memories.store([MemoryDraft(f"memory {n}", "fact", [f"topic {n}"])])
        print(n, flush=True)

asyncio.run(main())
"""


def test_killed_while_it_stores(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    with subprocess.Popen([sys.executable, "-c", STORING, str(path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        for _ in range(30):
            child.stdout.readline()
        child.kill()
        told = 30 + sum(line.endswith("\n") for line in child.stdout)
    kept = Kept(path)
    memories, opened = asyncio.run(_all(kept))
    assert [each.text for each in opened.values()] == [f"memory {n}" for n in range(len(opened))]
    assert len(opened) in (told, told + 1)
    assert memories.resident.unembedded == 0
    kept.database.close()


async def _all(kept: Kept) -> tuple[Memories, Mapping[int, Memory]]:
    memories = await kept.opened()
    return memories, await memories.open_all([row.id for row in memories.resident.rows()])


SECRETS = [
    *("zanzibar", "quuxolotl", "vorpalblade", "Xylophone", "xylophone", "Wombat", "wombat"),
    PASSPHRASE,
    "a query about snarks",
    "snarks",
]


def assert_nothing_in(folder: Path, secrets: list[bytes]) -> None:
    """Search every file, as it is and as UTF-16."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "keys.cfg":
            content = path.read_bytes()
            for secret in secrets:
                assert secret not in content, f"{secret!r} in {path.name}"


@pytest.mark.parametrize("with_passphrase", [False, True])
@pytest.mark.stress
async def test_nothing_is_left_in_clear(
    tmp_path: Path, keyring_file: Path, minilm_onnx: Path, monkeypatch: pytest.MonkeyPatch, with_passphrase: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    logs.configure(tmp_path / "gnod.log", "debug")
    secrets = [secret.encode() for secret in SECRETS] + [secret.encode("utf-16-le") for secret in SECRETS]
    try:
        async with serving(tmp_path, embed=minilm_onnx) as served:
            if with_passphrase:
                await served.service.unlock(PASSPHRASE)
            memories = await served.service.memories()
            vault = served.service._vault
            assert vault is not None
            _, key = vault.fetch(PASSPHRASE if with_passphrase else None)
            secrets += [key, base64.b64encode(key), key.hex().encode()]
            (stored,) = await memories.store([DRAFT])
            vector = memories.resident._matrix
            assert vector is not None
            secrets.append(vector.reader()(vector.rows_of(vector.ids())).tobytes()[:64])
            assert_nothing_in(tmp_path, secrets)
            await served.service.recall("a query about snarks", SEARCH, [], 1.0)
            assert_nothing_in(tmp_path, secrets)
            await memories.update(stored.memory.name, MemoryChange(text=CHANGED))
            await memories.publish([stored.memory.name], "wombat herd")
            assert_nothing_in(tmp_path, secrets)
            # The log must not contain texts even after errors, expected and unexpected ones.
            with pytest.raises(GnoError) as raised:
                await memories.store([DRAFT._replace(topics=["zanzibar" * 20])])
            for failing in ("vorpalblade", "quuxolotl"):
                try:
                    memories.sealer.seal(failing, b"")  # type: ignore[arg-type]
                except TypeError as error:
                    try:
                        raise ValueError(f"what is this: {failing}") from error
                    except ValueError:
                        logging.getLogger("gnod.rpc.dispatcher").exception("request.failed")
            assert raised.value.code == 309
            await memories.forget([stored.memory.name])
            await served.service.lock()
            assert_nothing_in(tmp_path, secrets)
        assert_nothing_in(tmp_path, secrets)
        log = (tmp_path / "gnod.log").read_text()
        assert "memory.unlocked" in log
        assert log.count("request.failed") == 2
    finally:
        logs.flush()
        for handler in list(logging.getLogger().handlers):
            if isinstance(handler, RotatingFileHandler):
                logging.getLogger().removeHandler(handler)
                handler.close()
        logging.getLogger("gnod").setLevel(logging.NOTSET)


async def test_what_is_forgotten_or_changed_is_overwritten(tmp_path: Path, keyring_file: Path) -> None:
    path = tmp_path / "memory.sqlite"
    async with serving(tmp_path) as served:
        memories = await served.service.memories()
        found = await memories.store([DRAFT._replace(text=f"text {n} " + "long " * n * 100) for n in range(12)])
        database = served.service._database
        assert database is not None

        def sealed(name: str) -> bytes:
            rows = database.submit_read(lambda c: c.execute("SELECT body FROM memories WHERE name = ?", (name,)).get)
            return bytes(rows.result())

        names = [each.memory.name for each in found]
        bodies = [sealed(name) for name in names]
        files = [path, path.with_name(path.name + "-wal")]
        assert all(any(body[-40:] in file.read_bytes() for file in files) for body in bodies)
        await memories.update(names[3], MemoryChange(text="another one"))
        await memories.forget([name for n, name in enumerate(names) if n % 2 == 0])
        gone = [body for n, body in enumerate(bodies) if n % 2 == 0 or n == 3]
        content = b"".join(file.read_bytes() for file in files if file.exists())
        for body in gone:
            assert body[:40] not in content
            assert body[-40:] not in content
        assert bodies[5][-40:] in content
