"""Random rerankers of two layers: their GGUF files, and their scores computed from the texts in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import gguf
import numpy as np
from gguf import TokenType
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE

from tests.models import gguf_models, tiny_bert
from tests.models.gguf_models import Value, affine
from tests.models.tiny_bert import Floats, Tensors

POSITIONS = 160
# With these random weights, the reranker passes the self-test; with half of all seeds, it does not.
SEED = 6
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_MARKS = ".,;?!'<>/|[]_-"

Words = Literal["bert", "xlmr"]

_SPECIALS: dict[Words, list[str]] = {
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "xlmr": ["<s>", "<pad>", "</s>", "<unk>"],
}
# The first and last token, and the tokens between two texts.
MARKUP: dict[Words, tuple[int, int, list[int]]] = {"bert": (2, 3, [3]), "xlmr": (0, 2, [2, 2])}


class CrossEncoder:
    """A BERT whose words are letters, with the classification head of RoBERTa: dense, tanh, out_proj."""

    def __init__(self, seed: int, words: Words = "bert") -> None:
        self.words = words
        specials = _SPECIALS[words]
        if words == "bert":
            # In llama.cpp's form, the pieces that begin a word are marked.
            self._pieces = [*specials, *("▁" + sign for sign in _LETTERS + _MARKS), *_LETTERS]
        else:
            self._pieces = [*specials, "▁", *_LETTERS, *_MARKS]
        self._ids = {piece: number for number, piece in enumerate(self._pieces)}
        self.model = tiny_bert.tensors(seed, words=len(self._pieces), positions=POSITIONS)
        rng = np.random.default_rng(seed + 1000)
        wide = tiny_bert.HIDDEN
        self.model["classifier.dense.weight"] = rng.normal(0, 0.3, (wide, wide)).astype(np.float32)
        self.model["classifier.dense.bias"] = rng.normal(0, 0.3, wide).astype(np.float32)
        self.model["classifier.out_proj.weight"] = rng.normal(0, 0.4, (1, wide)).astype(np.float32)
        self.model["classifier.out_proj.bias"] = rng.normal(0, 0.3, 1).astype(np.float32)

    def write(self, path: Path, *, head: bool = True) -> Path:
        specials = len(_SPECIALS[self.words])
        first, last, _ = MARKUP[self.words]
        types = [TokenType.CONTROL] * specials + [TokenType.NORMAL] * (len(self._pieces) - specials)
        types[1 if self.words == "bert" else 3] = TokenType.UNKNOWN
        fields: dict[str, Value] = {
            "tokenizer.ggml.model": "bert" if self.words == "bert" else "t5",
            "tokenizer.ggml.pre": "default",
            "tokenizer.ggml.tokens": self._pieces,
            "tokenizer.ggml.token_type": [int(kind) for kind in types],
            "tokenizer.ggml.scores": [-1.0] * len(self._pieces),
            "tokenizer.ggml.bos_token_id": first,
            "tokenizer.ggml.eos_token_id": last,
            "tokenizer.ggml.seperator_token_id": last,
            "tokenizer.ggml.unknown_token_id": types.index(TokenType.UNKNOWN),
            "tokenizer.ggml.padding_token_id": 0 if self.words == "bert" else 1,
            "tokenizer.ggml.add_bos_token": True,
            "tokenizer.ggml.add_eos_token": True,
            "tokenizer.ggml.add_space_prefix": True,
            "tokenizer.ggml.remove_extra_whitespaces": True,
            # As in files from llama.cpp's converter, nothing says that the model ranks.
            "{arch}.pooling_type": int(gguf.PoolingType.CLS),
        }
        config = {**tiny_bert.CONFIG, "vocab_size": len(self._pieces), "max_position_embeddings": POSITIONS}
        tensors = gguf_models.tensors(config, self.model)
        if head:
            ends = [*affine("cls", "classifier.dense", 0), *affine("cls.output", "classifier.out_proj", 0)]
            tensors |= {part.name: self.model[part.source] for part in ends}
        gguf_models.write(path, "bert", gguf_models.fields(config) | fields, tensors)
        return path

    def ids(self, query: str, document: str, *, window: int = POSITIONS) -> list[int]:
        """Return the tokens that the model should read, cut to the window."""
        first, last, between = MARKUP[self.words]
        room = window - 2 - len(between)
        opening = [first, *self._tokens(query)[: room // 2], *between]
        return [*opening, *self._tokens(document)[: window - len(opening) - 1], last]

    def score(self, query: str, document: str, *, window: int = POSITIONS) -> float:
        return self.score_of(self.ids(query, document, window=window))

    def score_of(self, ids: list[int]) -> float:
        state = tiny_bert.states(self.model, ids)[0]
        hidden = np.tanh(self.model["classifier.dense.weight"] @ state + self.model["classifier.dense.bias"])
        logit = self.model["classifier.out_proj.weight"] @ hidden + self.model["classifier.out_proj.bias"]
        return float(1 / (1 + np.exp(-logit[0])))

    def _tokens(self, text: str) -> list[int]:
        if self.words == "xlmr":
            # Real files have a table of similar characters. This tokenizer knows only spaces.
            words = ["▁" + word for word in text.split(" ") if word]
            return [self._ids.get(sign, 3) for word in words for sign in word]
        found = []
        begins = True
        for sign in text.lower():
            if sign.isspace():
                begins = True
            elif sign in _LETTERS:
                found.append(self._ids[("▁" if begins else "") + sign])
                begins = False
            else:
                found.append(self._ids.get("▁" + sign, 1))
                begins = True
        return found


# The pattern of Qwen2 and its successors.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_MERGES = [
    ("y", "e"),
    ("ye", "s"),
    ("n", "o"),
    ("t", "h"),
    ("th", "e"),
    ("Ġ", "the"),
    ("i", "n"),
    ("e", "r"),
    ("?", "Ċ"),
]
_CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_ADDED = ["<think>", "</think>"]


class Qwen3Ranker:
    """A Qwen3 of two layers: a language model, or a model with a head for the classes yes and no."""

    HIDDEN, LAYERS, HEADS, KEY_HEADS, HEAD, FEED_FORWARD, POSITIONS = 64, 2, 4, 2, 16, 96, 1200
    EPSILON, ROPE_BASE = 1e-6, 10_000.0
    TEMPLATE = (
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct"
        ' provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
        "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
        "<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )

    def __init__(self, seed: int, template: str | None = None) -> None:
        self.template = template
        signs = sorted(pre_tokenizers.ByteLevel.alphabet())
        self.words = [*signs, *("".join(merge) for merge in _MERGES), *_CONTROL, *_ADDED]
        self.tokenizer = Tokenizer(BPE({word: number for number, word in enumerate(self.words)}, list(_MERGES)))
        self.tokenizer.normalizer = normalizers.NFC()
        self.tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(SPLIT), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        self.tokenizer.decoder = decoders.ByteLevel()
        self.tokenizer.add_special_tokens([AddedToken(word, normalized=False) for word in [*_CONTROL, *_ADDED]])
        self.model = self._tensors(np.random.default_rng(seed))

    def _tensors(self, rng: np.random.Generator) -> Tensors:
        def weights(*shape: int, size: float = 0.1) -> Floats:
            return rng.normal(0, size, shape).astype(np.float32)

        found = {"token_embd.weight": weights(len(self.words), self.HIDDEN, size=0.2)}
        found["output_norm.weight"] = 1 + weights(self.HIDDEN)
        for layer in range(self.LAYERS):
            for part, rows, columns in (
                ("attn_q", self.HEADS * self.HEAD, self.HIDDEN),
                ("attn_k", self.KEY_HEADS * self.HEAD, self.HIDDEN),
                ("attn_v", self.KEY_HEADS * self.HEAD, self.HIDDEN),
                ("attn_output", self.HIDDEN, self.HEADS * self.HEAD),
                ("ffn_gate", self.FEED_FORWARD, self.HIDDEN),
                ("ffn_up", self.FEED_FORWARD, self.HIDDEN),
                ("ffn_down", self.HIDDEN, self.FEED_FORWARD),
            ):
                found[f"blk.{layer}.{part}.weight"] = weights(rows, columns)
            for part, size in (("attn_norm", self.HIDDEN), ("ffn_norm", self.HIDDEN)):
                found[f"blk.{layer}.{part}.weight"] = 1 + weights(size)
            for part in ("attn_q_norm", "attn_k_norm"):
                found[f"blk.{layer}.{part}.weight"] = 1 + weights(self.HEAD)
        return found

    def write(self, path: Path, *, labels: Sequence[str] | None = None) -> Path:
        """Write the model; with `labels`, in the form of llama.cpp's converter for Qwen3-Reranker."""
        config = {
            "model_type": "qwen3",
            "hidden_size": self.HIDDEN,
            "num_hidden_layers": self.LAYERS,
            "num_attention_heads": self.HEADS,
            "num_key_value_heads": self.KEY_HEADS,
            "head_dim": self.HEAD,
            "intermediate_size": self.FEED_FORWARD,
            "max_position_embeddings": self.POSITIONS,
            "rope_theta": self.ROPE_BASE,
        }
        kinds = [TokenType.NORMAL] * (len(self.words) - len(_CONTROL) - len(_ADDED))
        kinds += [TokenType.CONTROL] * len(_CONTROL) + [TokenType.USER_DEFINED] * len(_ADDED)
        fields: dict[str, Value] = {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "qwen2",
            "tokenizer.ggml.tokens": self.words,
            "tokenizer.ggml.token_type": [int(kind) for kind in kinds],
            "tokenizer.ggml.merges": [" ".join(merge) for merge in _MERGES],
            "tokenizer.ggml.eos_token_id": self.words.index("<|im_end|>"),
            "tokenizer.ggml.padding_token_id": self.words.index("<|endoftext|>"),
            "tokenizer.ggml.add_bos_token": False,
        }
        tensors = dict(self.model)
        if self.template is not None:
            fields |= {"tokenizer.chat_templates": ["rerank"], "tokenizer.chat_template.rerank": self.template}
        if labels is not None:
            fields |= {
                "{arch}.pooling_type": int(gguf.PoolingType.RANK),
                "{arch}.classifier.output_labels": list(labels),
            }
            rows = [self.words.index(label) if label in self.words else 0 for label in labels]
            tensors["cls.output.weight"] = self.model["token_embd.weight"][rows]
        gguf_models.write(path, "qwen3", gguf_models.fields(config) | fields, tensors)
        return path

    def ids(self, query: str, document: str) -> list[int]:
        """Return the tokens of the whole prompt, from Hugging Face's library for one string."""
        prompt = (self.template or self.TEMPLATE).replace("{query}", query).replace("{document}", document)
        ids: list[int] = self.tokenizer.encode(prompt).ids
        return ids

    def score(self, query: str, document: str) -> float:
        return self.score_of(self.ids(query, document))

    def score_of(self, ids: list[int]) -> float:
        """Return the probability of "yes" against "no" as the next token."""
        logits = self.model["token_embd.weight"] @ self._states(ids)[-1]
        return float(1 / (1 + np.exp(logits[self.words.index("no")] - logits[self.words.index("yes")])))

    def _states(self, ids: list[int]) -> Floats:
        model, length = self.model, len(ids)

        def norm(values: Floats, name: str) -> Floats:
            scaled: Floats = values / np.sqrt((values**2).mean(-1, keepdims=True) + self.EPSILON)
            return scaled * model[f"{name}.weight"]

        def heads(values: Floats) -> Floats:
            """Return the values in the shape head × token × dimension."""
            return values.reshape(length, -1, self.HEAD).transpose(1, 0, 2)

        def turn(values: Floats) -> Floats:
            half = self.HEAD // 2
            angles = np.arange(length)[:, None] * self.ROPE_BASE ** (-np.arange(half) / half)
            cosine, sine = np.cos(angles), np.sin(angles)
            left, right = values[..., :half], values[..., half:]
            return np.concatenate([left * cosine - right * sine, left * sine + right * cosine], -1)

        state = model["token_embd.weight"][ids]
        hidden_ones = np.triu(np.full((length, length), -np.inf), 1)
        for number in range(self.LAYERS):
            layer = f"blk.{number}"
            seen = norm(state, f"{layer}.attn_norm")
            query = turn(norm(heads(seen @ model[f"{layer}.attn_q.weight"].T), f"{layer}.attn_q_norm"))
            key = turn(norm(heads(seen @ model[f"{layer}.attn_k.weight"].T), f"{layer}.attn_k_norm"))
            value = heads(seen @ model[f"{layer}.attn_v.weight"].T)
            sharing = self.HEADS // self.KEY_HEADS
            key, value = np.repeat(key, sharing, 0), np.repeat(value, sharing, 0)
            scores = query @ key.transpose(0, 2, 1) / math.sqrt(self.HEAD) + hidden_ones
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            attended = shares / shares.sum(-1, keepdims=True) @ value
            mixed = attended.transpose(1, 0, 2).reshape(length, -1)
            state = state + mixed @ model[f"{layer}.attn_output.weight"].T
            seen = norm(state, f"{layer}.ffn_norm")
            gate = seen @ model[f"{layer}.ffn_gate.weight"].T
            inner = gate / (1 + np.exp(-gate)) * (seen @ model[f"{layer}.ffn_up.weight"].T)
            state = state + inner @ model[f"{layer}.ffn_down.weight"].T
        return norm(state, "output_norm")
