"""Put the man pages and completion scripts into the wheel, if `make man` or `make dist` wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {
    "man": "share/man/man1",
    "completions/bash": "share/bash-completion/completions",
    "completions/zsh": "share/zsh/site-functions",
    "completions/fish": "share/fish/vendor_completions.d",
}


class WrittenFiles(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        build = Path(self.root) / "build"
        build_data["shared_data"] = {str(build / made): to for made, to in PLACES.items() if (build / made).exists()}
