"""Write what transformers computes from the tiny models of `tests/models/replicas.py`, for the tests to compare.

Needs an environment of its own, because gnod does not depend on PyTorch:

    python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch transformers sentence-transformers gguf msgspec
    PYTHONPATH=. /tmp/torch/bin/python scripts/replica_outputs.py

With `--tokenizers` it also trains the small tokenizers again; the outputs then change.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import BPE, Unigram, WordPiece

from gnod.models.supply.convert import charsmap
from tests.models import replicas
from tests.models.replicas import EMBEDDERS, EXPECTED, QWEN3_RERANKER, RERANKERS, TOKENIZERS, WORDS, Replica

# Of Qwen2 and its successors.
_QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_RERANK = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
    "<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
)


def main(arguments: list[str]) -> None:
    if "--tokenizers" in arguments:
        TOKENIZERS.mkdir(exist_ok=True)
        for name, train in _TRAINERS.items():
            tokenizer = train()
            assert tokenizer.get_vocab_size() <= WORDS, (name, tokenizer.get_vocab_size())
            (TOKENIZERS / f"{name}.json").write_text(tokenizer.to_str(pretty=False), encoding="utf-8")
    vectors: dict[str, Any] = {}
    found: dict[str, Any] = {"ids": {}, "logits": {}}
    for name, replica in EMBEDDERS.items():
        with tempfile.TemporaryDirectory() as folder:
            replicas.write(Path(folder), replica)
            found["ids"][name], vectors[name] = _embed(folder)
    for name, replica in RERANKERS.items():
        with tempfile.TemporaryDirectory() as folder:
            replicas.write(Path(folder), replica)
            found["logits"][name] = _rank(folder, replica)
    with tempfile.TemporaryDirectory() as folder:
        replicas.write(Path(folder), QWEN3_RERANKER)
        found["logits"]["qwen3"] = _yes_or_no(folder)
    (EXPECTED / "replicas.json").write_text(json.dumps(found) + "\n", encoding="utf-8")
    np.savez_compressed(EXPECTED / "replicas.npz", **vectors)


def _embed(folder: str) -> tuple[list[list[int]], Any]:
    """Return the token ids and the vectors of the texts, without prompts."""
    library: Any = importlib.import_module("sentence_transformers")
    model = library.SentenceTransformer(folder, device="cpu", model_kwargs={"attn_implementation": "eager"})
    texts = replicas.texts()
    ids = [model.tokenizer(text)["input_ids"] for text in texts]
    # One at a time: padding would change nothing but rounding.
    vectors = model.encode(texts, batch_size=1, prompt="", normalize_embeddings=True)
    return ids, vectors.astype(np.float16)


def _rank(folder: str, replica: Replica) -> list[float]:
    if replica.modules:
        library: Any = importlib.import_module("sentence_transformers")
        torch: Any = importlib.import_module("torch")
        model = library.CrossEncoder(folder, device="cpu", model_kwargs={"attn_implementation": "eager"})
        scores = model.predict(replicas.pairs(), batch_size=1, activation_fn=torch.nn.Identity())
        return [float(score) for score in np.asarray(scores).reshape(-1)]
    transformers: Any = importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model, loading = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, attn_implementation="eager", output_loading_info=True
    )
    assert not loading["missing_keys"], loading
    return [float(_logits(model, tokenizer(*pair, return_tensors="pt"))[0, 0]) for pair in replicas.pairs()]


def _yes_or_no(folder: str) -> list[float]:
    """Return the differences of the logits of "yes" and "no"."""
    transformers: Any = importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("yes", "no"))
    found = []
    for query, document in replicas.pairs():
        prompt = _RERANK.replace("{query}", query).replace("{document}", document)
        # The prompt ends itself: the tokenizer of the embedding model would add its end.
        tokens = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
        logits = _logits(model, tokens)[0, -1]
        found.append(float(logits[yes] - logits[no]))
    return found


def _logits(model: Any, inputs: Any) -> Any:
    torch: Any = importlib.import_module("torch")
    with torch.no_grad():
        return model.eval()(**inputs).logits


def _sentences() -> Iterator[str]:
    samples = json.loads(replicas.SAMPLES.read_text(encoding="utf-8"))
    for language in replicas.LANGUAGES:
        yield from samples[language]["statements"][:6]


def _words() -> Tokenizer:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        _sentences(), trainers.WordPieceTrainer(vocab_size=WORDS, special_tokens=specials, limit_alphabet=700)
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def _pieces() -> Tokenizer:
    """As XLM-RoBERTa's."""
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(Unigram())
    rules = {"\n": " ", "\t": " ", "\u200b": "", "ﬁ": "fi", "½": "1⁄2", "e\u0301": "é", "\u3000": " "}
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(charsmap.build(rules)), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    tokenizer.train_from_iterator(
        _sentences(), trainers.UnigramTrainer(vocab_size=WORDS, special_tokens=specials, unk_token="<unk>")
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def _bytes() -> Tokenizer:
    """As ModernBERT's."""
    specials = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        _sentences(),
        trainers.BpeTrainer(
            vocab_size=WORDS - 2, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        ),
    )
    tokenizer.add_tokens([AddedToken("  ", normalized=True), AddedToken("|||WORD|||")])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return tokenizer


def _qwen() -> Tokenizer:
    """As Qwen3-Embedding's."""
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_QWEN_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    texts = [*_sentences(), *["yes", "no", " yes", " no"] * 500]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=WORDS - 5, initial_alphabet=alphabet))
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in ("<think>", "</think>")])
    end = tokenizer.token_to_id("<|endoftext|>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", pair="$A $B <|endoftext|>", special_tokens=[("<|endoftext|>", end)]
    )
    return tokenizer


def _gemma() -> Tokenizer:
    specials = ["<pad>", "<eos>", "<bos>", "<unk>"]
    tokenizer = Tokenizer(BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    raw = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=WORDS, special_tokens=[*specials, *raw], limit_alphabet=500, max_token_length=8
    )
    tokenizer.train_from_iterator(_sentences(), trainer)
    # The bytes are ordinary pieces, as in Gemma's file.
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = [token for token in state["added_tokens"] if token["content"] in specials]
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>", pair="<bos> $A <bos>:1 $B:1 <eos>:1", special_tokens=[("<bos>", 2), ("<eos>", 1)]
    )
    return tokenizer


_TRAINERS: dict[str, Callable[[], Tokenizer]] = {
    "words": _words,
    "pieces": _pieces,
    "bytes": _bytes,
    "qwen": _qwen,
    "gemma": _gemma,
}


if __name__ == "__main__":
    main(sys.argv[1:])
