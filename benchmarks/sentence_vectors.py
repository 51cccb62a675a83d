"""Embed sentences and questions of five collections for `benchmarks.nearest`. Takes minutes.

    python -m benchmarks.sentence_vectors MODEL.gguf VECTORS.npz

MODEL.gguf is all-MiniLM-L6-v2 (`gnoctl models path embed` with the preset `mini`), which needs no templates.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import recombined
from benchmarks.throwaway import require_shared
from gnod.models.run.inference import Inference
from gnod.models.run.messages import ModelSpec

_SENTENCES, _QUESTIONS = 20_000, 400
_AT_ONCE = 500


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("vectors", type=Path)
    options = parser.parse_args(words)
    require_shared()
    sentences = random.Random(1).sample(sorted(set(recombined.all_sentences())), _SENTENCES)
    questions = recombined.questions(_QUESTIONS)
    found = asyncio.run(_embed(options.model.resolve(), [*sentences, *questions]))
    np.savez(options.vectors, sentences=found[:_SENTENCES], questions=found[_SENTENCES:])
    return 0


async def _embed(model: Path, texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    spec = ModelSpec(path=str(model), window=256, gpu=False, threads=os.cpu_count() or 1)
    inference, vectors = Inference(idle_unload_s=60), []
    with inference.lease():
        for low in range(0, len(texts), _AT_ONCE):
            part = texts[low : low + _AT_ONCE]
            vectors.append(await inference.embed(spec, part, interactive=False))
    await inference.close()
    return np.concatenate(vectors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
