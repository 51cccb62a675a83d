"""Whether a model fits into the free memory, before it is loaded: a system without memory kills any process."""

from __future__ import annotations

from pathlib import Path

from gnod.errors import NotEnoughMemory
from gnod.models.free_memory import free_memory
from gnod.models.run.messages import ModelSpec

# A small model's buffers and the rest of the system need this much memory beside the file.
_MARGIN_BYTES = 200_000_000


def require(spec: ModelSpec) -> None:
    """Raise NotEnoughMemory unless the model's file fits into the free memory."""
    try:
        size = Path(spec.path).stat().st_size
    except OSError:
        return  # the loading says what is wrong
    if size + _MARGIN_BYTES > free_memory():
        raise NotEnoughMemory(message(spec), {"path": spec.path})


def message(spec: ModelSpec) -> str:
    return (
        f"there is not enough memory for the model {spec.path}: {free_memory() / 1e6:,.0f} MB are free. Close other "
        "programs, or choose a smaller preset with `gnoctl models use`; it is tried again by itself"
    )
