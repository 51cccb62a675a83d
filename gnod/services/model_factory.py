"""Makes embedders, rerankers and generators with the settings of the configuration."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import psutil

from gnod.models.files import ModelFiles
from gnod.models.inference import Inference
from gnod.services.configuration import Configuration

M = TypeVar("M")


class ModelFactory:
    def __init__(self, configuration: Configuration, files: ModelFiles, inference: Inference) -> None:
        self._configuration = configuration
        self._files = files
        self._inference = inference

    def make(self, kind: Callable[..., M], uri: str) -> M:
        """Return the model at that address, which need not be installed. `kind`: derived from InstalledModel."""
        settings = self._configuration.current.models
        return kind(
            uri,
            files=self._files,
            inference=self._inference,
            gpu=settings.gpu == "auto",
            threads=settings.threads or _physical_cores(),
        )


def _physical_cores() -> int:
    """Return the number of cores for this process; hyper-threads do not help a model."""
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else physical
    return max(1, min(physical, allowed))
