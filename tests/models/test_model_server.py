"""Models behind llama-cpp-python's own server: the same vectors as in our worker, and a chat with a grammar."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gnod.models.embedding_profiles import EmbeddingText
from gnod.models.files import ModelFiles
from gnod.models.remote.addresses import RequestLimits
from gnod.models.run.inference import Inference
from gnod.models.run.roles import Embedder, Generator, Message
from tests.models.remote_bench import remote

pytestmark = [
    pytest.mark.slow,
    pytest.mark.stress,  # loads two models in a server that takes 20 s to start
    pytest.mark.skipif(
        importlib.util.find_spec("fastapi") is None, reason="llama-cpp-python's server is not installed"
    ),
]

_START_S = 120.0
# On a busy machine, loading a model may take long.
PATIENT = RequestLimits(interactive_s=120, background_s=240)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, minilm_gguf: Path, smollm_gguf: Path) -> Iterator[str]:
    """Yields the address of a server with two models, up to `#`. e5's file has a tokenizer, as programs other than gnod
    need it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shared = {"n_threads": 2, "verbose": False}
    models = [
        {"model": str(minilm_gguf), "model_alias": "all-MiniLM-L6-v2", "embedding": True, "n_ctx": 512, **shared},
        {"model": str(smollm_gguf), "model_alias": "smollm", "n_ctx": 1024, "chat_format": "chatml", **shared},
    ]
    config = tmp_path_factory.mktemp("server") / "server.json"
    config.write_text(json.dumps({"host": "127.0.0.1", "port": port, "models": models}))
    process = subprocess.Popen(
        [sys.executable, "-m", "llama_cpp.server"],
        env={**os.environ, "CONFIG_FILE": str(config), "OMP_WAIT_POLICY": "passive"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    base = f"http://127.0.0.1:{port}/v1"
    try:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{base}/models", timeout=5):
                break
            assert process.poll() is None, "the server ended"
            time.sleep(0.1)
        yield base
    finally:
        process.kill()
        process.wait()


async def test_its_vectors_are_those_of_our_worker(server: str, minilm_gguf: Path, tmp_path: Path) -> None:
    chunks = [EmbeddingText("Birds", "Birds > Herons", f"Heron number {number} wades. " * 30) for number in range(4)]
    inference = Inference(idle_unload_s=60)
    try:
        ours = Embedder(f"file:{minilm_gguf}", files=ModelFiles(tmp_path), inference=inference, gpu=False, threads=2)
        expected = await ours.documents(chunks)
    finally:
        await inference.close()
    async with remote(PATIENT) as it:
        found = await it.embedder(f"{server}#all-MiniLM-L6-v2").documents(chunks)
    for pieces, same in zip(found, expected, strict=True):
        assert [piece[1:] for piece in pieces] == [piece[1:] for piece in same]
        cosines = [float(piece.vector @ other.vector) for piece, other in zip(pieces, same, strict=True)]
        assert np.min(cosines) > 0.9999


async def test_it_writes_within_a_grammar(server: str) -> None:
    parts: list[str] = []
    async with remote(PATIENT) as it:
        generator = it.make(Generator, f"{server}#smollm")
        said = await generator.generate(
            [Message("user", "Name a bird.")],
            max_tokens=30,
            grammar='root ::= "lex: " ("heron" | "otter") "\\n"',
            on_text=parts.append,
        )
    assert said.text in ("lex: heron\n", "lex: otter\n")
    assert said.finish == "stop"
    assert "".join(parts) == said.text
