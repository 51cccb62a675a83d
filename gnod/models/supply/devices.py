"""Lists the graphics cards that llama.cpp can use, with their memory.

`python -m gnod.models.supply.devices` prints them. It runs as a separate process, because it loads the drivers of the
cards.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys

import msgspec

from gnod import extras
from gnod.models.run.memory import free_memory

_LIMIT_S = 15.0
# ggml-backend.h's ggml_backend_dev_type: a card with its own memory, and one that shares the computer's.
_CARD, _SHARED = 1, 2


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A graphics card. Its memory is in bytes."""

    name: str
    total_bytes: int
    free_bytes: int


async def gpus() -> list[Gpu]:
    """Return the cards; empty if llama.cpp is not installed, was built without support for them, or does not answer."""
    if not extras.is_installed("llama_cpp"):
        return []
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", __name__, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_LIMIT_S):
            output, _ = await process.communicate()
        return msgspec.json.decode(output, type=list[Gpu])
    except (TimeoutError, msgspec.DecodeError):
        return []
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())


def usable(kind: int, free: int, left: int, *, is_apple: bool) -> int:
    """Return how much of a card's free memory is usable. A card that shares the computer's memory has at most the
    `left` bytes of it, whatever it reports (Apple's reports a constant share).

    >>> usable(1, 8, 3, is_apple=False), usable(1, 8, 3, is_apple=True), usable(2, 8, 3, is_apple=False)
    (8, 3, 3)
    """
    return min(free, left) if is_apple or kind == _SHARED else free


def _found() -> list[Gpu]:
    from gnod.models.run.llama import library
    from gnod.models.run.llama.library import libggml

    if not library.has_graphics_card():
        return []
    for name, result, arguments in (
        ("count", ctypes.c_size_t, []),
        ("get", ctypes.c_void_p, [ctypes.c_size_t]),
        ("type", ctypes.c_int, [ctypes.c_void_p]),
        ("description", ctypes.c_char_p, [ctypes.c_void_p]),
        ("memory", None, [ctypes.c_void_p, *[ctypes.POINTER(ctypes.c_size_t)] * 2]),
    ):
        function = getattr(libggml, f"ggml_backend_dev_{name}")
        function.restype, function.argtypes = result, arguments
    found = []
    for number in range(libggml.ggml_backend_dev_count()):
        device = libggml.ggml_backend_dev_get(number)
        if (kind := libggml.ggml_backend_dev_type(device)) in (_CARD, _SHARED):
            free, total = ctypes.c_size_t(), ctypes.c_size_t()
            libggml.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
            name = (libggml.ggml_backend_dev_description(device) or b"").decode("utf-8", "replace")
            left = usable(kind, free.value, free_memory(), is_apple=sys.platform == "darwin")
            found.append(Gpu(name=name, total_bytes=total.value, free_bytes=left))
    return found


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(_found()))
