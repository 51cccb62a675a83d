"""The graphics cards that llama.cpp can use, with their memory."""

from __future__ import annotations

import ctypes

from gnod.models.run.llama import library
from gnod.models.run.llama.bindings import libggml
from gnod.models.supply.speed.messages import Gpu

# ggml-backend.h's ggml_backend_dev_type: a card with its own memory, and one that shares the computer's.
_CARDS = (1, 2)

libggml.ggml_backend_dev_count.restype = ctypes.c_size_t
libggml.ggml_backend_dev_get.restype = ctypes.c_void_p
libggml.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
libggml.ggml_backend_dev_type.restype = ctypes.c_int
libggml.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
libggml.ggml_backend_dev_description.restype = ctypes.c_char_p
libggml.ggml_backend_dev_description.argtypes = [ctypes.c_void_p]
libggml.ggml_backend_dev_memory.restype = None
libggml.ggml_backend_dev_memory.argtypes = [
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
]


def gpus() -> list[Gpu]:
    """Return the cards; empty if this llama.cpp was built without support for them. Loads their drivers."""
    if not library.has_graphics_card():
        return []
    devices = [libggml.ggml_backend_dev_get(number) for number in range(libggml.ggml_backend_dev_count())]
    return [_gpu(device) for device in devices if libggml.ggml_backend_dev_type(device) in _CARDS]


def _gpu(device: int) -> Gpu:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    libggml.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
    name: bytes = libggml.ggml_backend_dev_description(device) or b""
    return Gpu(name=name.decode("utf-8", "replace"), total_bytes=total.value, free_bytes=free.value)
