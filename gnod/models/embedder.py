"""One embedding model, ready to be asked: knows its file, its profile and the worker that runs it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelNotPulled
from gnod.models.files import ModelFiles
from gnod.models.inference import Embeddings, Inference
from gnod.models.messages import ModelSpec
from gnod.models.profiles import EmbeddingText, dress_document, dress_query, profile_of


class Embedder:
    """`threads`: of the processor, for one step of the model."""

    def __init__(self, uri: str, *, files: ModelFiles, inference: Inference, gpu: bool, threads: int) -> None:
        self.uri = uri
        self.profile = profile_of(uri)
        self._files = files
        self._inference = inference
        self._gpu = gpu
        self._threads = threads

    def spec(self) -> ModelSpec:
        """Return how the model is loaded. Raises ModelNotPulled, ModelCorrupt."""
        installed = self._files.find(self.uri)
        if installed is None:
            raise ModelNotPulled(
                f"the model {self.uri} is not on this machine yet: `gnoctl models pull embed` fetches it",
                {"uri": self.uri},
            )
        return ModelSpec(path=str(installed.path), window=self.profile.window, gpu=self._gpu, threads=self._threads)

    async def query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query, of length 1; somebody waits for it, so it goes ahead of documents.

        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        found = await self._inference.embed(self.spec(), [dress_query(self.profile, text)], interactive=True)
        vector: NDArray[np.float32] = found.vectors[0]
        return vector

    async def documents(self, chunks: Sequence[EmbeddingText]) -> Embeddings:
        """Return the vectors of chunks, in their order. Raises what `query` raises."""
        dressed = [dress_document(self.profile, chunk) for chunk in chunks]
        return await self._inference.embed(self.spec(), dressed, interactive=False)
