"""What embedders, rerankers and generators have in common: an address, and what runs the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelNotPulled
from gnod.models.files import Installed, ModelFiles
from gnod.models.run.messages import ModelSpec, ResultChunk, StreamedWork
from gnod.models.uris import endpoint_of


class Runner(Protocol):
    """The inference worker of this machine, or a server that an endpoint names."""

    async def embed(self, model: ModelSpec, texts: Sequence[str], *, interactive: bool) -> NDArray[np.float32]:
        """Return the texts' vectors, rows of length 1. `interactive`: a request waits for them. Raises GnoError."""

    async def run(self, work: StreamedWork, on_chunk: Callable[[ResultChunk], None] = ...) -> object:
        """Do `work`; `on_chunk` receives each chunk of the result. Cancelling the task stops the work. Raises GnoError,
        and what `on_chunk` raises."""


class InstalledModel:
    """`inference`: the worker of this machine, or the server that the address names. `threads`: processor threads for
    one step. The file need not exist before `spec` is called."""

    pull_command = "gnoctl models pull"

    def __init__(self, uri: str, *, files: ModelFiles, inference: Runner, gpu: bool, threads: int) -> None:
        self.uri = uri
        self._files = files
        self._inference = inference
        self._gpu = gpu
        self._threads = threads

    def spec(self) -> ModelSpec:
        """Return how to load the model. Raises ModelNotPulled."""
        if endpoint_of(self.uri):
            return ModelSpec(path=self.uri)
        installed = self._files.find(self.uri)
        if installed is None:
            raise ModelNotPulled(
                f"the model {self.uri} is not on this machine yet: run `{self.pull_command}`", {"uri": self.uri}
            )
        window = self._window(installed)
        return ModelSpec(path=str(installed.path), window=window, gpu=self._gpu, threads=self._threads)

    def _window(self, installed: Installed) -> int | None:
        """Return how many tokens the model takes at once; None: what its file says."""
        return installed.profile.window if installed.profile else None
