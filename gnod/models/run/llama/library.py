"""llama.cpp's C interface: sets it up once, with its backends and without its output. All kinds of model need this
module.

The high-level class reads past its buffers with some poolings, and computes the texts of a batch one by one. So this
imports only the submodule `llama_cpp` of the package of the same name. The package itself would also import its Python
classes and jinja2, which no worker needs: 80 ms at each start.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import mmap
import re
import sys
from collections import deque
from collections.abc import Iterator

import numpy as np

from gnod import extras
from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.run.engines import Stop
from gnod.models.run.messages import ModelSpec

if not extras.is_installed("llama_cpp"):
    raise extras.missing("GGUF models, which also write answers,", "llama")


@contextlib.contextmanager
def _package_not_run(name: str) -> Iterator[None]:
    """Let submodules find their package without running it. A later import of the package itself still runs it."""
    spec = importlib.util.find_spec(name)
    if name in sys.modules or spec is None:
        yield
        return
    sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        yield
    finally:
        del sys.modules[name]


with _package_not_run("llama_cpp"):
    from llama_cpp import llama_cpp
    from llama_cpp._ggml import libggml

__all__ = ["libggml", "llama_cpp"]

# The number of layers on a graphics card: all layers of a model, or about half of them.
_LAYERS_ON_CARD = (999, 16)
ABORTED = 2  # llama.cpp's status of a step that the abort callback ended

# The last lines that llama.cpp would have printed. Only they say why a function returned NULL.
_said: deque[bytes] = deque(maxlen=50)
_NOTE = llama_cpp.llama_log_callback(lambda _level, text, _data: _said.append(text))


def catch_log() -> None:
    """Stop llama.cpp from printing. Call it again after an import of its package, which re-enables printing."""
    llama_cpp.llama_log_set(_NOTE, ctypes.c_void_p(0))


catch_log()
llama_cpp.llama_backend_init()

# A step has a thousand operations. After each, llama.cpp calls this function to learn whether to abort. A Python
# function would take the interpreter's lock each time. C's `strlen` does not: it returns 0 for the flag as long as that
# is empty.
_IS_SET = llama_cpp.ggml_abort_callback(ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value or 0)


def watch(stop: Stop, context: llama_cpp.llama_context_p) -> None:
    """Let the flag stop the steps of the context. The flag must live until the context watches another one."""
    llama_cpp.llama_set_abort_callback(context, _IS_SET, ctypes.cast(stop.flag, ctypes.c_void_p))


def release_logits(
    model: llama_cpp.llama_model_p, context: llama_cpp.llama_context_p, batch: llama_cpp.llama_batch
) -> None:
    """Return the memory of an encoder's logits to Linux. llama.cpp reserves and clears 4 bytes for each word of the
    vocabulary and each token of the longest step (half a gigabyte for bge-m3), but never uses these zero pages."""
    if sys.platform != "linux":
        return
    stop = Stop()
    stop.set()
    watch(stop, context)
    llama_cpp.llama_encode(context, batch)  # reserves the memory, and stops before it computes
    llama_cpp.llama_set_abort_callback(context, llama_cpp.ggml_abort_callback(), None)
    words = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    logits = llama_cpp.llama_get_logits(context)
    start = ctypes.addressof(logits.contents) if logits else 0
    first, end = -(-start // mmap.PAGESIZE), (start + 4 * words * batch.n_tokens) // mmap.PAGESIZE
    if start and not np.ctypeslib.as_array(logits, (words * batch.n_tokens,)).any():
        pages = ctypes.c_void_p(first * mmap.PAGESIZE), ctypes.c_size_t((end - first) * mmap.PAGESIZE)
        ctypes.CDLL(None).madvise(*pages, mmap.MADV_DONTNEED)


def has_graphics_card() -> bool:
    """Return whether this llama.cpp was built for graphics cards. Loads their drivers."""
    return bool(llama_cpp.llama_supports_gpu_offload())


def load(spec: ModelSpec) -> llama_cpp.llama_model_p:
    """Return the model. Free it with `llama_model_free`. Raises ModelCorrupt, ModelRejected, MemoryError."""
    settings = llama_cpp.llama_model_default_params()
    # On a processor, llama.cpp keeps most weights in another order. A mapped file would occupy memory in addition.
    settings.load_mode = llama_cpp.LLAMA_LOAD_MODE_AUTO if spec.gpu else llama_cpp.LLAMA_LOAD_MODE_NONE
    _said.clear()
    for settings.n_gpu_layers in _LAYERS_ON_CARD if spec.gpu and has_graphics_card() else (0,):
        model: llama_cpp.llama_model_p = llama_cpp.llama_model_load_from_file(spec.path.encode(), settings)
        if model:
            break
    else:
        _check_memory()
        if unknown := re.search(rb"unknown model architecture: '([^']*)'", b"".join(_said)):
            name = unknown[1].decode("utf-8", "replace")
            raise ModelRejected(f"{spec.path} has the architecture {name}, which llama.cpp does not know")
        raise ModelCorrupt(f"llama.cpp cannot load {spec.path}: it is damaged, or newer than llama.cpp")
    if llama_cpp.llama_vocab_type(llama_cpp.llama_model_get_vocab(model)) == llama_cpp.LLAMA_VOCAB_TYPE_NONE:
        llama_cpp.llama_model_free(model)  # it would abort on a request for its tokens
        raise ModelRejected(f"{spec.path} has no vocabulary: choose another file of the model")
    return model


def new_context(
    model: llama_cpp.llama_model_p, purpose: str, *, threads: int, **settings: int
) -> llama_cpp.llama_context_p:
    """Return a context with these fields of `llama_context_params`. Free it with `llama_free`. Raises ModelRejected,
    MemoryError."""
    params = llama_cpp.llama_context_default_params()
    params.n_threads = params.n_threads_batch = threads
    params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.no_perf = True
    for name, value in settings.items():
        setattr(params, name, value)
    _said.clear()
    context: llama_cpp.llama_context_p = llama_cpp.llama_init_from_model(model, params)
    if not context:
        _check_memory()
        raise ModelRejected(f"llama.cpp cannot run the model {purpose}")
    return context


def _check_memory() -> None:
    """Raise MemoryError if the last function failed for lack of memory."""
    said = b"".join(_said)
    if any(sign in said for sign in (b"allocate", b"bad_alloc", b"out of memory", b"memory allocation")):
        raise MemoryError


def is_causal(model: llama_cpp.llama_model_p) -> bool:
    """Return whether each token sees only the tokens before it. Such a model keeps keys and values: much memory for
    each lane."""
    architecture = metadata(model, "general.architecture")
    return metadata(model, f"{architecture}.attention.causal") != "false"


def pools_last(model: llama_cpp.llama_model_p) -> bool:
    """Return whether the vector of a text is the vector of its last token, which has seen all others."""
    architecture = metadata(model, "general.architecture")
    pooling = metadata(model, f"{architecture}.pooling_type")
    return is_causal(model) and pooling == str(llama_cpp.LLAMA_POOLING_TYPE_LAST)


def metadata(model: llama_cpp.llama_model_p, key: str) -> str:
    """Return a value of the model's file as text; "" if the file does not have it."""
    length = llama_cpp.llama_model_meta_val_str(model, key.encode(), None, 0)
    if length < 0:
        return ""
    value = ctypes.create_string_buffer(length + 1)
    llama_cpp.llama_model_meta_val_str(model, key.encode(), value, len(value))
    return value.value.decode("utf-8", "replace")
