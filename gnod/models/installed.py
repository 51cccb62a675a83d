"""What embedders, rerankers and generators have in common: a file, and the worker that runs it."""

from __future__ import annotations

from gnod.errors import ModelNotPulled
from gnod.models.files import Installed, ModelFiles
from gnod.models.inference import Inference
from gnod.models.messages import ModelSpec


class InstalledModel:
    """`threads`: processor threads for one step. The file need not exist before `spec` is called."""

    pull_command = "gnoctl models pull"

    def __init__(self, uri: str, *, files: ModelFiles, inference: Inference, gpu: bool, threads: int) -> None:
        self.uri = uri
        self._files = files
        self._inference = inference
        self._gpu = gpu
        self._threads = threads

    def spec(self) -> ModelSpec:
        """Return how to load the model. Raises ModelNotPulled."""
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
