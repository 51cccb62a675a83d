"""One model by its address: where its file is, and how it is to be loaded."""

from __future__ import annotations

from gnod.errors import ModelNotPulled
from gnod.models.files import ModelFiles
from gnod.models.messages import ModelSpec


class InstalledModel:
    """`pull`: the command that fetches it. `window`: tokens at once; None: what its file says. `threads`: of the
    processor, for one step."""

    def __init__(
        self, uri: str, *, files: ModelFiles, pull: str, gpu: bool, threads: int, window: int | None = None
    ) -> None:
        self.uri = uri
        self._files = files
        self._pull = pull
        self._gpu = gpu
        self._threads = threads
        self._window = window

    def spec(self) -> ModelSpec:
        """Return how the model is loaded. Raises ModelNotPulled."""
        installed = self._files.find(self.uri)
        if installed is None:
            raise ModelNotPulled(
                f"the model {self.uri} is not on this machine yet: `{self._pull}` fetches it", {"uri": self.uri}
            )
        return ModelSpec(path=str(installed.path), window=self._window, gpu=self._gpu, threads=self._threads)
