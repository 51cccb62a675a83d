"""llama.cpp's C interface, set up once: quiet, with its backends, and what every kind of model is loaded and asked by.

The high-level class reads past its buffers with some poolings, and computes the texts of a batch one by one.
"""

from __future__ import annotations

import ctypes

import llama_cpp

from gnod.errors import ModelCorrupt
from gnod.models.messages import ModelSpec


def _ignore(_level: int, _text: bytes, _data: object) -> None:
    """llama.cpp prints pages while it loads."""


_IGNORE = llama_cpp.llama_log_callback(_ignore)  # kept: llama.cpp calls it as long as the process lives
llama_cpp.llama_log_set(_IGNORE, ctypes.c_void_p(0))
llama_cpp.llama_backend_init()


def load(spec: ModelSpec) -> llama_cpp.llama_model_p:
    """Return the model, to be freed with `llama_model_free`. Raises ModelCorrupt."""
    settings = llama_cpp.llama_model_default_params()
    offloads = spec.gpu and llama_cpp.llama_supports_gpu_offload()
    settings.n_gpu_layers = 999 if offloads else 0
    model: llama_cpp.llama_model_p = llama_cpp.llama_model_load_from_file(spec.path.encode(), settings)
    if not model:
        raise ModelCorrupt(f"llama.cpp cannot load {spec.path}: it is damaged, or newer than llama.cpp")
    return model


def is_causal(model: llama_cpp.llama_model_p) -> bool:
    """Tell whether each token sees only those before it: such a model keeps keys and values, a lot of memory a lane."""
    architecture = metadata(model, "general.architecture")
    return metadata(model, f"{architecture}.attention.causal") != "false"


def metadata(model: llama_cpp.llama_model_p, key: str) -> str:
    """Return a value of the model's file as text; "" where it has none. For short values."""
    value = ctypes.create_string_buffer(128)
    found = llama_cpp.llama_model_meta_val_str(model, key.encode(), value, len(value))
    return value.value.decode("utf-8", "replace") if found >= 0 else ""
