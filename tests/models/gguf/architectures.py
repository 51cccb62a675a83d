"""The architectures that are converted. A new one is a class and an entry here."""

from __future__ import annotations

from collections.abc import Mapping

from tests.models.gguf.architecture import Architecture
from tests.models.gguf.bert import Bert, DistilBert
from tests.models.gguf.rotary import GemmaEmbedding, ModernBert, Qwen3

ARCHITECTURES: Mapping[str, type[Architecture]] = {
    "bert": Bert,
    "roberta": Bert,
    "xlm-roberta": Bert,
    "camembert": Bert,
    "distilbert": DistilBert,
    "modernbert": ModernBert,
    "qwen3": Qwen3,
    "gemma3_text": GemmaEmbedding,
}
"""By the `model_type` of Hugging Face's configuration."""
