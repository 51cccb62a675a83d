"""Write the pictures of the interfaces, as the documentation shows them: real ones, of the samples.

    .venv/bin/python scripts/screenshots.py --terminal

They run like the demo, in temporary directories, with the model that the demo downloads.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess

import demo

OUTPUT = demo.ROOT / "docs" / "screenshots"
SIZE = (116, 30)
QUERY = "how do we roll back a release"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--terminal", action="store_true", help="write terminal.svg: gnoctl ui")
    options = parser.parse_args()
    OUTPUT.mkdir(exist_ok=True)
    with demo._temporary_index() as (place, environment):
        demo._link_model(place)
        samples = str(demo.ROOT / "samples")
        for words in (("models", "use", demo.PRESET), ("models", "pull", "embed"), ("init", samples), ("embed",)):
            subprocess.run([str(demo.GNOCTL), *words], env=environment, check=True)
        os.environ.update(environment)
        os.environ.pop("NO_COLOR", None)
        if options.terminal:
            (OUTPUT / "terminal.svg").write_text(asyncio.run(terminal()), encoding="utf-8")


async def terminal() -> str:
    """Return the screen after typing a query, as SVG."""
    from gnoctl.ui.app import UserInterface
    from gnod.paths import resolve

    interface = UserInterface(resolve())
    async with interface.run_test(size=SIZE) as pilot:
        while not interface.watched.models:
            await pilot.pause(0.1)
        interface.input.value = QUERY
        while not (interface.session.result and interface.session.result.mode == "query"):
            await pilot.pause(0.1)
        while interface.preview.document is None:
            await pilot.pause(0.1)
        await pilot.pause(1)
        return interface.export_screenshot(title="gnoctl ui")


if __name__ == "__main__":
    main()
