"""After any interruption, the next sync makes the published collection equal to the one in the index."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnod.errors import GnoError
from gnod.shared.milvus.engine import MilvusEngine
from tests.shared.milvus_server import MilvusServer, connect_to
from tests.shared.proxy import CuttingProxy
from tests.shared.published import URI, Published
from tests.small_index import SmallIndex

pytestmark = pytest.mark.slow

WORDS = ["refund", "travel", "expense", "rule", "holiday", "invoice", "office", "team", "badge", "kitchen"]
FILES = 400


def change(index: SmallIndex, chance: random.Random, files: int) -> None:
    """Write, remove and embed some documents."""
    paths = [f"{chance.randrange(FILES)}.md" for _ in range(files)]
    index.add({path: f"# {path}\n\n{' '.join(chance.choices(WORDS, k=chance.randrange(3, 60)))}" for path in paths})
    index.remove(*(f"{chance.randrange(FILES)}.md" for _ in range(files // 4)))
    index.embed(URI, limit=files // 2)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SmallIndex]:
    made = SmallIndex(tmp_path / "index.sqlite")
    yield made
    made.close()


@pytest.mark.stress
@pytest.mark.timeout(1800)
def test_a_hundred_kills_of_the_publisher(index: SmallIndex, milvus: MilvusServer, tmp_path: Path) -> None:
    chance = random.Random(100)
    engine, early = milvus.engine("killed"), 0
    arguments = [str(tmp_path / "index.sqlite"), str(tmp_path / "ledger.sqlite"), str(milvus.port), "killed"]
    for _ in range(100):
        change(index, chance, 120)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.shared.publisher_process", *arguments], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout
        assert process.stdout.readline() == "begins\n"
        time.sleep(chance.uniform(0, 1.5))
        process.kill()
        early += "ended" not in process.communicate()[0]
    published = Published(index, engine, tmp_path / "ledger.sqlite")
    published.sync()
    published.check()
    published.stop()
    engine.drop()
    engine.close()
    assert early > 30, "most came before the end of what was published"


@pytest.mark.parametrize("cuts", [3, pytest.param(100, marks=[pytest.mark.stress, pytest.mark.timeout(1800)])])
def test_connections_are_cut(index: SmallIndex, milvus: MilvusServer, tmp_path: Path, cuts: int) -> None:
    chance = random.Random(cuts)
    proxy = CuttingProxy(milvus.port)
    engine = MilvusEngine(connect_to(milvus.address("cut", proxy.port), timeout_s=0.7))
    published = Published(index, engine, tmp_path / "ledger.sqlite")
    failed = 0
    try:
        for _ in range(cuts):
            change(index, chance, 60)
            proxy.allow(int(10 ** chance.uniform(2, 5.5)))
            failed += fails(published)
            proxy.allow(None)
        published.stop()
        engine.close()
        engine = milvus.engine("cut")
        published.engine = engine
        published.start()
        published.sync()
        published.check()
        assert failed > cuts / 3
    finally:
        published.stop()
        engine.drop()
        engine.close()
        proxy.close()


@pytest.mark.stress
@pytest.mark.timeout(1800)
def test_thirty_kills_of_the_engine(index: SmallIndex, tmp_path: Path) -> None:
    chance = random.Random(30)
    server = MilvusServer(tmp_path / "milvus")
    server.start()
    published = Published(index, server.engine("engine", timeout_s=3.0), tmp_path / "ledger.sqlite")
    try:
        for _ in range(30):
            change(index, chance, 100)
            killer = Killer(server, chance.uniform(0, 0.8))
            fails(published)
            killer.join()
            server.start()
        until_it_answers(published)
        published.check()
    finally:
        published.stop()
        published.engine.close()
        server.kill()


class Killer(threading.Thread):
    def __init__(self, server: MilvusServer, after_s: float) -> None:
        super().__init__()
        self._server, self._after_s = server, after_s
        self.start()

    def run(self) -> None:
        time.sleep(self._after_s)
        self._server.kill()


def fails(published: Published) -> bool:
    try:
        published.sync()
    except GnoError:
        return True
    return False


def until_it_answers(published: Published) -> None:
    """Wait for a server that was killed, and for its client. Both may need a moment."""
    deadline = time.monotonic() + 60
    while fails(published):
        assert time.monotonic() < deadline
        time.sleep(0.1)
