"""Tiny models with random weights, in the layout of their repositories.

`expected/` has what transformers computes from them. The weights come from a generator whose numbers
NumPy guarantees, so they are not stored; the tokenizers are small real ones (`expected/tokenizers`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.models import gguf_models, tiny_bert
from tests.models.gguf_models import Part, affine
from tests.models.tiny_bert import Floats, Tensors

EXPECTED = Path(__file__).parent / "expected"
TOKENIZERS = EXPECTED / "tokenizers"
SAMPLES = Path(__file__).parents[2] / "gnod" / "models" / "language_samples.json"
# There is one language for each script.
LANGUAGES = (
    *("en", "vi", "am", "ar", "ru", "bn", "bo", "dv", "el", "gu", "he", "hi", "hy", "ja", "ka", "km", "kn", "ko"),
    *("lo", "ml", "my", "or", "pa", "si", "ta", "te", "th", "zh"),
)
SIZE, INNER, WORDS, WINDOW = 32, 48, 1600, 256


class Replica(NamedTuple):
    """`modules`: those after the Transformer. `seed`: for weights that pass gnod's self-test; half of all seeds fail
    it."""

    tokenizer: str
    seed: int
    config: dict[str, Any]
    modules: tuple[str, ...] = ()
    prompts: dict[str, str] | None = None
    spread: float = 0.15


def _config(kind: str, name: str, **more: Any) -> dict[str, Any]:
    common: dict[str, Any] = {
        "model_type": kind,
        "architectures": [name],
        "hidden_size": SIZE,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": INNER,
        "vocab_size": WORDS,
        "max_position_embeddings": WINDOW,
    }
    return common | more


_ONE_LABEL = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
_XLMR = {"max_position_embeddings": WINDOW + 2, "type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}
_LONG = {"max_position_embeddings": 1024}
_DECODER = {"num_key_value_heads": 2, "head_dim": 16}
_QWEN3 = _config("qwen3", "Qwen3ForCausalLM", **_DECODER, **_LONG, rope_theta=1000000.0, tie_word_embeddings=True)
EMBEDDERS: dict[str, Replica] = {
    "bert": Replica("words", 34, _config("bert", "BertModel"), ("Pooling:mean", "Normalize")),
    "bert-plain": Replica("words", 34, _config("bert", "BertModel")),
    "bert-dense": Replica(
        "words",
        5,
        _config("bert", "BertModel"),
        ("Pooling:cls", f"Dense:{SIZE}:40:Tanh:bias", "Normalize"),
        {"query": "find: ", "document": ""},
    ),
    "xlm-roberta": Replica(
        "pieces", 6, _config("xlm-roberta", "XLMRobertaModel", **_XLMR), ("Pooling:cls", "Normalize")
    ),
    "qwen3": Replica(
        "qwen",
        1,
        _QWEN3,
        ("Pooling:lasttoken", "Normalize"),
        {"query": "Instruct: Find it\nQuery:", "document": ""},
    ),
    "gemma": Replica(
        "gemma",
        2,
        _config(
            "gemma3_text",
            "Gemma3TextModel",
            **_DECODER,
            layer_types=["sliding_attention", "full_attention"],
            sliding_window=16,
            query_pre_attn_scalar=16,
            use_bidirectional_attention=True,
            rope_theta=1000000.0,
            rope_local_base_freq=10000.0,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        ),
        ("Pooling:mean", f"Dense:{SIZE}:64:Identity", f"Dense:64:{SIZE}:Identity", "Normalize"),
        {"query": "task: search result | query: ", "document": "title: none | text: "},
    ),
}
RERANKERS: dict[str, Replica] = {
    "bert": Replica("words", 1, _config("bert", "BertForSequenceClassification", **_ONE_LABEL)),
    "xlm-roberta": Replica(
        "pieces", 16, _config("xlm-roberta", "XLMRobertaForSequenceClassification", **_XLMR, **_ONE_LABEL)
    ),
}
# With larger weights, rounding keys and values to 16 bits would matter more than in a model of real width.
QWEN3_RERANKER = Replica("qwen", 25, _QWEN3, spread=0.1)


def texts() -> list[str]:
    """Return texts in 28 scripts, and some unusual ones."""
    samples = json.loads(SAMPLES.read_text(encoding="utf-8"))
    found = [samples[language]["statements"][0] for language in LANGUAGES]
    mixed = " ".join(samples[language]["statements"][1] for language in ("en", "el", "ja"))
    odd = ["def f(x):\n\treturn  x ** 2  # ½ ﬁ", "Größe, naïve café; e\u0301 \u200b👩‍🔬 42", "  two  spaces\n\nlines "]
    return [*found, mixed, *odd]


def pairs() -> list[tuple[str, str]]:
    samples = json.loads(SAMPLES.read_text(encoding="utf-8"))
    return [
        (samples[language]["questions"][number], samples[language]["statements"][number])
        for number, language in enumerate(("en", "de", "ru", "el", "ja", "hi", "ar", "ko", "th", "zh"))
    ]


def write(folder: Path, replica: Replica, *, seed: int | None = None) -> Path:
    """Write the repository into a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = (TOKENIZERS / f"{replica.tokenizer}.json").read_text(encoding="utf-8")
    _write(folder / "config.json", replica.config)
    (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    _write(folder / "tokenizer_config.json", _tokenizer_config(replica.tokenizer))
    model, modules = weights(replica, seed)
    (folder / "model.safetensors").write_bytes(tiny_bert.safetensors(model))
    if not replica.modules:
        return folder
    listed = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for number, module in enumerate(replica.modules, 1):
        kind, *settings = module.split(":")
        path = f"{number}_{kind}"
        listed.append(
            {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        )
        (folder / path).mkdir(exist_ok=True)
        if config := _module_config(kind, settings):
            _write(folder / path / "config.json", config)
        if path in modules:
            (folder / path / "model.safetensors").write_bytes(tiny_bert.safetensors(modules[path]))
    _write(folder / "modules.json", listed)
    _write(folder / "sentence_bert_config.json", {"transformer_task": "feature-extraction", "max_seq_length": WINDOW})
    prompts = {} if replica.prompts is None else {"prompts": replica.prompts, "default_prompt_name": None}
    _write(folder / "config_sentence_transformers.json", {"model_type": _kind(replica), **prompts})
    return folder


def weights(replica: Replica, seed: int | None = None) -> tuple[Tensors, dict[str, Tensors]]:
    """Return the model's tensors, and the tensors of its modules by folder."""
    random = np.random.RandomState(replica.seed if seed is None else seed)
    named = [prefix(replica.config) + part.source for part in gguf_models.parts(replica.config)]
    shapes = [part.shape for part in gguf_models.parts(replica.config)]
    for part in head(replica.config):
        named.append(part.source)
        shapes.append(part.shape)
    model = {name: _random(random, name, shape, replica) for name, shape in zip(named, shapes, strict=True)}
    modules: dict[str, Tensors] = {}
    for number, module in enumerate(replica.modules, 1):
        kind, *settings = module.split(":")
        if kind == "Dense":
            inputs, outputs = int(settings[0]), int(settings[1])
            found = {"linear.weight": _random(random, "dense", (outputs, inputs), replica)}
            if "bias" in settings:
                found["linear.bias"] = _random(random, "bias", (outputs,), replica)
            modules[f"{number}_{kind}"] = found
    return model, modules


def prefix(config: dict[str, Any]) -> str:
    """Return the prefix of the tensor names."""
    has_head = {"bert": "bert.", "xlm-roberta": "roberta.", "qwen3": "model."}
    return "" if config["architectures"][0].endswith("Model") else has_head[config["model_type"]]


def head(config: gguf_models.Config) -> list[Part]:
    """Return the tensors of the classification head, if there is one."""
    if not config["architectures"][0].endswith("ForSequenceClassification"):
        return []
    is_bert = config["model_type"] == "bert"
    dense, out = ("bert.pooler.dense", "classifier") if is_bert else ("classifier.dense", "classifier.out_proj")
    wide = config["hidden_size"]
    return [*affine("cls", dense, wide, wide), *affine("cls.output", out, 1, wide)]


def _random(random: np.random.RandomState, name: str, shape: tuple[int, ...], replica: Replica) -> Floats:
    values = random.standard_normal(shape) * replica.spread
    if "norm" in name.lower() and name.endswith("weight") and replica.config["model_type"] != "gemma3_text":
        values += 1
    # Like a trained model, use only values that float16 represents exactly.
    return values.astype(np.float16).astype(np.float32)


def _module_config(kind: str, settings: list[str]) -> dict[str, Any]:
    match kind:
        case "Pooling":
            modes = {"mean": "mean_tokens", "cls": "cls_token", "lasttoken": "lasttoken"}
            return {"word_embedding_dimension": SIZE} | {
                f"pooling_mode_{name}": mode == settings[0] for mode, name in modes.items()
            }
        case "Dense":
            activation = "linear.Identity" if settings[2] == "Identity" else f"activation.{settings[2]}"
            return {
                "in_features": int(settings[0]),
                "out_features": int(settings[1]),
                "bias": "bias" in settings,
                "module_output_name": "scores" if settings[1] == "1" else "sentence_embedding",
                "activation_function": f"torch.nn.modules.{activation}",
            }
    return {}


def _kind(replica: Replica) -> str:
    return "CrossEncoder" if replica in RERANKERS.values() else "SentenceTransformer"


def _tokenizer_config(name: str) -> dict[str, Any]:
    specials = {
        "words": {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
        "pieces": {"bos": "<s>", "eos": "</s>", "pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>"},
        "qwen": {"pad": "<|endoftext|>", "eos": "<|im_end|>"},
        "gemma": {"pad": "<pad>", "eos": "<eos>", "bos": "<bos>", "unk": "<unk>"},
    }[name]
    named: dict[str, Any] = {f"{role}_token": token for role, token in specials.items()}
    if name == "words":
        named["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    return {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": WINDOW, **named}


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
