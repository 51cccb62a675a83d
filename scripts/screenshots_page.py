"""Write the screenshots of the page of `gnoctl web` to docs/screenshots/, from samples/ and linked notes.

    .venv/bin/python scripts/screenshots_page.py

Needs playwright and Debian's chromium.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import linked_notes
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "screenshots"
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 760}


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    with _served() as entrance, sync_playwright() as playwright:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        pictures = _Pictures(browser, entrance)
        pictures.take("page-phone", "/search?q=boats", "#hits mark", viewport=PHONE, device_scale_factor=2)
        pictures.take("page", "/doc/club/docs/how-we-deploy.md?q=booking+site+boats#L11", ".doc .target")
        pictures.take("page-reading", "/doc/club/docs/crane-safety.pdf?q=crane+anemometer#page=1", ".page.ready .box")
        pictures.take("page-dark", "/ask?q=what+does+error+F28+mean", ".doc .target", color_scheme="dark")
        pictures.take("page-note", "/doc/club/boats/albatros.md?q=launch", ".base", click=".properties summary")
        pictures.take("page-note-dark", "/doc/club/boats/albatros.md", ".base", viewport=PHONE, color_scheme="dark")
        launch = "/doc/club/season/spring-launch.md?q=spring+launch"
        pictures.take("page-links", launch, "#links .of-backlinks li", click=".links-toggle")
        pictures.take("page-graph", f"{launch}&graph=2", ".graph svg[data-stable]", color_scheme="dark")
        browser.close()


class _Pictures:
    def __init__(self, browser: Any, entrance: str) -> None:
        self._browser = browser
        self._entrance = entrance

    def take(self, name: str, address: str, awaited: str, click: str | None = None, **options: Any) -> None:
        """Save a screenshot of the page at an address, as soon as a selector matches and loading has ended."""
        context = self._browser.new_context(viewport=options.pop("viewport", WIDE), **options)
        page = context.new_page()
        origin = self._entrance.partition("/?")[0]
        page.goto(self._entrance)
        page.wait_for_url(f"{origin}/")
        page.goto(origin + address)
        if click:
            page.click(click)
        page.wait_for_selector(awaited, state="attached")
        page.wait_for_timeout(700)
        page.screenshot(path=TARGET / f"{name}.png")
        context.close()
        print(TARGET / f"{name}.png")  # noqa: T201


@contextlib.contextmanager
def _served() -> Iterator[str]:
    """Index the samples, serve the page, and yield its first address."""
    with tempfile.TemporaryDirectory(prefix="gnod-", dir="/tmp") as place:
        folder = Path(place)
        environment = _environment(folder)
        shutil.copytree(ROOT / "samples", folder / "club")
        linked_notes.write(folder / "club")
        for number, path in enumerate(sorted((folder / "club").rglob("*"), reverse=True)):
            os.utime(path, times=(time.time() - number * 1.7 * 86400,) * 2)  # so that their ages differ
        command = [sys.executable, "-m", "gnoctl"]
        subprocess.run(
            [*command, "init", str(folder / "club"), "--preset", "none", "--quiet"], env=environment, check=True
        )
        server = subprocess.Popen(
            [*command, "web", "--no-open", "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
            server.wait(30)
            subprocess.run([*command, "daemon", "stop"], env=environment, check=False, capture_output=True)


def _environment(folder: Path) -> dict[str, str]:
    places = {"GNO_CONFIG_DIR": "config", "GNO_DATA_DIR": "data", "GNO_CACHE_DIR": "cache", "GNO_SOCKET": "s"}
    others = {name: value for name, value in os.environ.items() if not name.startswith("GNO")}
    return {**others, **{name: str(folder / part) for name, part in places.items()}}


if __name__ == "__main__":
    main()
