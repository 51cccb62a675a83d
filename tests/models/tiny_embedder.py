"""An embedding model that is measured in a second: a random BERT that knows only the words of the self-test.

It passes the self-test but cannot read any script: texts in every language are unknown words to it.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from gnod.models.run.engines import KNOWN_PAIRS
from gnod.models.supply.encoders import repository
from tests.models import tiny_bert

_POSITIONS = 512
# With these random weights, each question of the self-test is nearest to its answer.
_SEED = 2


def write(folder: Path) -> Path:
    """Write the model into a folder, ready for use, and return its file."""
    known = {word for pair in KNOWN_PAIRS for text in pair for word in re.findall(r"\w+|[^\w\s]", text.lower())}
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(known)]
    weights = tiny_bert.tensors(_SEED, words=len(words), positions=_POSITIONS)
    config = tiny_bert.CONFIG | {"max_position_embeddings": _POSITIONS, "vocab_size": len(words)}
    with tempfile.TemporaryDirectory() as source:
        repository.prepare(tiny_bert.write(Path(source), weights, config, words), folder)
    return folder / "model.onnx"
