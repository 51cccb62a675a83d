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
from gnod.presets import PRESETS
from tests.models import shapes
from tests.models.gguf_models import Config
from tests.models.shapes import BGE_M3, ETTIN_17M, GRANITE_97M, QWEN3_EMBEDDING

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the memory")]

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


@pytest.mark.parametrize("lanes", [pytest.param(2, marks=pytest.mark.stress), pytest.param(4, marks=pytest.mark.stress), 8])
@pytest.mark.parametrize(
    ("model", "window"), [("MiniLM", 256), ("e5", 512), ("leaf-ir", 512), ("granite", None), ("ettin", None)]
)
async def test_small_presets(
    model: str, window: int | None, lanes: int, minilm_onnx: Path, e5_onnx: Path, tmp_path: Path
) -> None:
    paths = {"MiniLM": minilm_onnx, "leaf-ir": minilm_onnx, "e5": e5_onnx}
    if model == "granite":
        paths[model] = shapes.write_onnx(tmp_path / model, GRANITE_97M._replace(layers=LAYERS))
    if model == "ettin":
        paths[model] = shapes.write_onnx(tmp_path / model, ETTIN_17M._replace(layers=LAYERS), seed=2)
    served = Inference(idle_unload_s=60)
    try:
        spec = ModelSpec(path=str(paths[model]), window=window, threads=lanes)
        await served.embed(spec, [f"{number} {LONG}" for number in range(lanes)], interactive=False)
        status = Path(f"/proc/{served.status().pid}/status").read_text()
    finally:
        await served.close()
    (peak,) = (int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    print(model, lanes, peak / _MB, (peak - paths[model].stat().st_size) / _MB)


@pytest.mark.parametrize(
    ("config", "tokenizer", "pooling", "tokens"),
    [(QWEN3_EMBEDDING, "qwen", PoolingType.LAST, 2048), (BGE_M3, "pieces", PoolingType.CLS, 536)],
)
def test_no_logits_are_kept(
    config: Config, tokenizer: str, pooling: PoolingType, tokens: int, tmp_path: Path
) -> None:
    """They would be 4 bytes for each token and each word of the vocabulary: 1,200 MB and 540 MB."""
    small = {**config, "num_hidden_layers": LAYERS}
    path = shapes.write_gguf(tmp_path / "model.gguf", small, tokenizer, pooling)
    done = subprocess.run([sys.executable, "-c", LANE, str(path), str(tokens)], capture_output=True, check=True, text=True)
    print(int(done.stdout) / 1000)
