"""How a request is ended in the middle of a step of llama.cpp."""

from __future__ import annotations

import ctypes

import llama_cpp

# llama.cpp looks after each of a step's thousand operations whether it is to end. A function in Python would need the
# interpreter's lock each time, and wait for whoever holds it. C's `strlen` needs none: it tells an empty string, which
# is the flag as long as nobody has raised it, from one that is not.
_IS_RAISED = llama_cpp.ggml_abort_callback(ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value or 0)


class Stop:
    """A flag that one thread raises and that llama.cpp sees."""

    def __init__(self) -> None:
        self._flag = ctypes.create_string_buffer(2)

    def __call__(self) -> bool:
        """Tell whether it was raised."""
        return self._flag.raw[0] != 0

    def set(self) -> None:
        self._flag[0] = b"x"

    def watch(self, context: llama_cpp.llama_context_p) -> None:
        """End the context's steps when the flag is raised. The flag must live until another one is watched."""
        llama_cpp.llama_set_abort_callback(context, _IS_RAISED, ctypes.cast(self._flag, ctypes.c_void_p))
