"""llama.cpp's C functions: the module `llama_cpp` of the package of the same name, alone.

The package would import its Python classes with it, which no worker needs: 80 ms of each start, jinja2 and all.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator

from gnod import extras

if not extras.is_installed("llama_cpp"):
    raise extras.missing("GGUF models, which also write answers,", "llama")


@contextlib.contextmanager
def _package_not_run(name: str) -> Iterator[None]:
    """Let submodules find their package without running it. A later import of the package itself runs it."""
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
