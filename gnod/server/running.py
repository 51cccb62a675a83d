"""Makes what asks a model, as the served config wants models to run: an embedder, a reranker, a generator."""

from __future__ import annotations

import os
from typing import Protocol, TypeVar

import psutil

from gnod.models.files import ModelFiles
from gnod.models.inference import Inference
from gnod.server.configuration import Configuration

M_co = TypeVar("M_co", covariant=True)


class Kind(Protocol[M_co]):
    """Embedder, Reranker and Generator are made alike."""

    def __call__(self, uri: str, *, files: ModelFiles, inference: Inference, gpu: bool, threads: int) -> M_co: ...


class Running:
    def __init__(self, configuration: Configuration, files: ModelFiles, inference: Inference) -> None:
        self._configuration = configuration
        self._files = files
        self._inference = inference

    def make(self, kind: Kind[M_co], uri: str) -> M_co:
        """Return the model at that address, ready to be asked. It need not be here."""
        settings = self._configuration.current.models
        return kind(
            uri,
            files=self._files,
            inference=self._inference,
            gpu=settings.gpu == "auto",
            threads=settings.threads or _physical_cores(),
        )


def _physical_cores() -> int:
    """Return how many cores this process may use; hyper-threads do not help a model."""
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else physical
    return max(1, min(physical, allowed))
