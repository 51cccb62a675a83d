"""A flag that one thread sets to end the work of another."""

from __future__ import annotations

import ctypes


class Stop:
    """llama.cpp reads it within a step, without Python: `flag` is empty until it is set."""

    def __init__(self) -> None:
        self.flag = ctypes.create_string_buffer(2)

    def __call__(self) -> bool:
        """Tell whether it is set."""
        return self.flag.raw[0] != 0

    def set(self) -> None:
        self.flag[0] = b"x"
