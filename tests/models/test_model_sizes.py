"""Sizes of downloads, asked of a hub and an index on loopback by the real child process."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gnod.models.supply.sizing.asking import ask_sizes
from tests.models import replicas
from tests.models.hub_imitation import HubImitation

pytestmark = pytest.mark.slow

FILE = "hf:org/file/model.gguf"
REPOSITORY = "hf:org/encoder"
WHEEL = "pypi:some-model==1.0#some_model/model"
LIMIT_S = 60.0


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubImitation]:
    folder = replicas.write(tmp_path / "encoder", replicas.EMBEDDERS["bert-dense"])
    encoder = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    others = {"pytorch_model.bin": b"x" * 10**6, "onnx/a/model.onnx": b"x" * 10**6}
    with HubImitation({"org/encoder": encoder | others, "org/file": {"model.gguf": b"GGUF" * 1000}}) as serving:
        yield serving


async def test_sizes_at_the_hub(hub: HubImitation) -> None:
    sizes = await ask_sizes(
        [FILE, REPOSITORY, "hf:org/nothing", "hf:org/file:Q8_0", "file:/m.gguf"],
        {"HF_ENDPOINT": hub.url, "NO_PROXY": "*"},
        LIMIT_S,
    )
    assert sizes[FILE].bytes == 4000
    needed = [data for path, data in hub.repositories["org/encoder"].items() if path.endswith(("json", "safetensors"))]
    assert sizes[REPOSITORY].bytes == sum(map(len, needed))
    assert "has no repository org/nothing" in (sizes["hf:org/nothing"].problem or "")
    assert (sizes["hf:org/file:Q8_0"].bytes, sizes["hf:org/file:Q8_0"].problem) == (None, None)
    assert not hub.downloads


async def test_a_hub_that_cannot_be_reached_or_does_not_answer(hub: HubImitation) -> None:
    nobody = await ask_sizes([REPOSITORY], {"HF_ENDPOINT": "http://127.0.0.1:1", "NO_PROXY": "*"}, LIMIT_S)
    assert (nobody[REPOSITORY].problem or "").startswith("no connection to 127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        mute = f"http://127.0.0.1:{silent.getsockname()[1]}"
        late = await ask_sizes([REPOSITORY], {"HF_ENDPOINT": mute, "NO_PROXY": "*"}, 0.1)
    assert late[REPOSITORY].problem == "no answer within 0.1 s"
    offline = await ask_sizes([REPOSITORY, WHEEL], {"GNO_OFFLINE": "1"})
    assert all("GNO_OFFLINE forbids that" in (each.problem or "") for each in offline.values())


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Path]:
    """The folder that an index on loopback serves; the file `url` has its address."""
    folder = tmp_path / "index"
    (folder / "some-model").mkdir(parents=True)

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    (folder / "url").write_text(f"http://127.0.0.1:{server.server_port}")
    try:
        yield folder
    finally:
        server.shutdown()
        server.server_close()


async def test_sizes_at_an_index(index: Path, tmp_path: Path) -> None:
    no_settings = tmp_path / "pip.conf"
    no_settings.write_text("[global]\n")
    url = (index / "url").read_text()
    variables = {"PIP_INDEX_URL": url, "PIP_CONFIG_FILE": str(no_settings), "NO_PROXY": "*"}
    page = index / "some-model" / "index.html"
    wheel = {"filename": "some_model-1.0-py3-none-any.whl", "size": 1234}

    async def asked(**more: str) -> tuple[int | None, str | None]:
        # Only these settings count, not those of the machine that runs the tests.
        found = await ask_sizes([WHEEL], variables | more, LIMIT_S)
        return found[WHEEL].bytes, found[WHEEL].problem

    page.write_text(json.dumps({"files": [wheel]}))
    assert await asked() == (1234, None)
    page.write_text(f'<a href="x">{wheel["filename"]}</a>')  # as older indexes answer
    assert await asked() == (None, None)
    page.write_text(json.dumps({"files": []}))
    assert await asked() == (None, "the package index has no wheel of some-model 1.0")
    no_settings.write_text(f"[global]\nextra-index-url = {index.as_uri()}\n")
    page.write_text("<a>some_model-1.0-py3-none-any.whl</a>")
    assert await asked(PIP_INDEX_URL="http://127.0.0.1:1") == (None, None)
    no_settings.write_text("[global]\n")
    assert await asked(PIP_INDEX_URL="http://127.0.0.1:1") == (None, "no connection to 127.0.0.1:1")
