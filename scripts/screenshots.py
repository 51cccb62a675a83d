"""Write the pictures of the interfaces, as the documentation shows them: real ones, of the samples and of linked notes.

    .venv/bin/python scripts/screenshots.py --terminal --links

They run like the demo, in temporary directories, with the model that the demo downloads.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import demo
import linked_notes

OUTPUT = demo.ROOT / "docs" / "screenshots"
SIZE = (116, 30)
QUERY = "how do we roll back a release"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--terminal", action="store_true", help="write terminal.svg: gnoctl ui")
    parser.add_argument("--links", action="store_true", help="write terminal-links.svg: its links")
    options = parser.parse_args()
    OUTPUT.mkdir(exist_ok=True)
    samples = str(demo.ROOT / "samples")
    if options.terminal:
        model = (("models", "use", demo.PRESET), ("models", "pull", "embed"))
        with indexed(*model, ("init", samples), ("embed",)):
            (OUTPUT / "terminal.svg").write_text(asyncio.run(terminal()), encoding="utf-8")
    if options.links:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            linked_notes.write(Path(folder))
            with indexed(("init", folder, "--name", "club", "--preset", "none")):
                (OUTPUT / "terminal-links.svg").write_text(asyncio.run(links()), encoding="utf-8")


@contextlib.contextmanager
def indexed(*commands: tuple[str, ...]) -> Iterator[None]:
    """Run these commands of gnoctl on an index that lasts as long as the block."""
    with demo._temporary_index() as (place, environment):
        demo._link_model(place)
        for words in commands:
            subprocess.run([str(demo.GNOCTL), *words], env=environment, check=True)
        os.environ.update(environment)
        os.environ.pop("NO_COLOR", None)
        yield


async def links() -> str:
    """Return the screen with the links of a document, as SVG."""
    from gnoctl.ui.app import UserInterface
    from gnoctl.ui.links import LinkPane
    from gnod.paths import resolve

    interface = UserInterface(resolve(), query="path:spring")
    async with interface.run_test(size=SIZE) as pilot:
        while not interface.results.hits:
            await pilot.pause(0.1)
        await pilot.press("ctrl+l")
        while not (isinstance(interface.screen, LinkPane) and interface.screen.preview.document):
            await pilot.pause(0.1)
        await pilot.press(*["down"] * 4)
        await pilot.pause(1)
        return interface.export_screenshot(title="gnoctl ui")


async def terminal() -> str:
    """Return the screen after typing a query, as SVG."""
    from gnoctl.ui.app import UserInterface
    from gnod.paths import resolve

    interface = UserInterface(resolve())
    async with interface.run_test(size=SIZE) as pilot:
        while not interface.watched.models:
            await pilot.pause(0.1)
        interface.input.value = QUERY
        while not (interface.session.result and interface.session.result.mode == "hybrid"):
            await pilot.pause(0.1)
        while interface.preview.document is None:
            await pilot.pause(0.1)
        await pilot.pause(1)
        return interface.export_screenshot(title="gnoctl ui")


if __name__ == "__main__":
    main()
