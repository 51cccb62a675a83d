"""llama.cpp's C interface, set up once: quiet, with its backends, and what every kind of model is loaded and asked by.

The high-level class reads past its buffers with some poolings, and computes the texts of a batch one by one.
"""

from __future__ import annotations

import ctypes

import llama_cpp
from llama_cpp._ggml import libggml

from gnod.errors import ModelCorrupt
from gnod.models.messages import ModelSpec


def _ignore(_level: int, _text: bytes, _data: object) -> None:
    """llama.cpp prints pages while it loads."""


_IGNORE = llama_cpp.llama_log_callback(_ignore)  # kept: llama.cpp calls it as long as the process lives
llama_cpp.llama_log_set(_IGNORE, ctypes.c_void_p(0))
llama_cpp.llama_backend_init()


def has_graphics_card() -> bool:
    """Tell whether this llama.cpp has been built for graphics cards. Loads their drivers."""
    return bool(llama_cpp.llama_supports_gpu_offload())


def load(spec: ModelSpec) -> llama_cpp.llama_model_p:
    """Return the model, to be freed with `llama_model_free`. Raises ModelCorrupt."""
    settings = llama_cpp.llama_model_default_params()
    offloads = spec.gpu and has_graphics_card()
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


class _Reading(ctypes.Structure):
    """gguf.h's gguf_init_params: with neither, no weights are read."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p))


libggml.gguf_init_from_file.restype = ctypes.c_void_p
libggml.gguf_init_from_file.argtypes = [ctypes.c_char_p, _Reading]
libggml.gguf_find_tensor.restype = ctypes.c_int64
libggml.gguf_find_tensor.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
libggml.gguf_free.restype = None
libggml.gguf_free.argtypes = [ctypes.c_void_p]


def has_tensor(spec: ModelSpec, *names: str) -> bool:
    """Tell whether the model's file has weights of one of these names: llama.cpp does not say which it found."""
    file = libggml.gguf_init_from_file(spec.path.encode(), _Reading(no_alloc=True, context=None))
    if not file:
        raise ModelCorrupt(f"llama.cpp cannot read {spec.path}: it is damaged, or newer than llama.cpp")
    try:
        return any(libggml.gguf_find_tensor(file, name.encode()) >= 0 for name in names)
    finally:
        libggml.gguf_free(file)
