"""Measure the page of `gnoctl web` in Chromium: painting, keystrokes, scrolling. Prints figures.

    .venv/bin/python -m benchmarks.page [keystrokes] [opening] [scrolling] [live] [links]

Needs playwright and Debian's chromium. A keystroke ends with the frame that shows its results.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.throwaway import Throwaway, percentile, require_shared, throwaway, web_server, write_documents

QUERIES = [
    "protein expression in cells",
    "boundary layer",
    "time sharing system",
    "machine learning model",
    "read csv file",
]
DOCUMENTS = 20_000
BIG_BYTES = 5_000_000
WARM_MS = 10_000  # after indexing, the daemon loads its vocabulary for corrections

# Records when a frame with new results is painted (`#hits` changes once per answer), and when a key was pressed.
_WATCH = """() => {
  const list = document.querySelector("#hits");
  window.painted = [];
  new MutationObserver(() => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => window.painted.push(performance.now());
    channel.port2.postMessage(0);
  })).observe(list, { childList: true });
  const typed = () => (window.typed = performance.now());
  document.querySelector("#query").addEventListener("input", typed, { capture: true });
}"""

# Resolves with the milliseconds from the key to the painted results.
_PAINTED = """() => new Promise((resolve) => {
  const look = () => (window.painted.length ? resolve(window.painted[0] - window.typed) : setTimeout(look, 4));
  look();
})"""

# Clicks, and resolves with the milliseconds until the awaited element exists.
_SHOWN = """async ([clicked, awaited]) => {
  const began = performance.now();
  if (clicked) document.querySelector(clicked).click();
  while (!document.querySelector(awaited)) await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""

# Returns the bytes of each file of the page.
_LOADED = """() => performance.getEntries()
  .filter((each) => each.entryType === "navigation" || each.name.includes("/static/"))
  .map((each) => each.decodedBodySize)"""

# Scrolls an element for two seconds, and returns the milliseconds between frames.
_SCROLL = """([selector, step]) => new Promise((resolve) => {
  const element = document.querySelector(selector), gaps = [];
  let last = performance.now();
  const begin = last;
  const frame = (now) => {
    gaps.push(now - last);
    last = now;
    element.scrollTop += step;
    if (now - begin < 2000) requestAnimationFrame(frame);
    else resolve(gaps.slice(2));
  };
  requestAnimationFrame(frame);
})"""


class Site:
    def __init__(self, daemon: Throwaway, browser: Any) -> None:
        self.daemon = daemon
        self.browser = browser
        self.process, self.entrance = web_server(daemon)
        self.origin = self.entrance.partition("/?")[0]
        self.state = self._signed_in()

    def _signed_in(self) -> Any:
        context = self.browser.new_context()
        page = context.new_page()
        page.goto(self.entrance)
        page.wait_for_url(f"{self.origin}/")
        state = context.storage_state()
        context.close()
        return state

    @contextlib.contextmanager
    def page(self, address: str = "/") -> Iterator[Any]:
        """Open the page in a browser with the cookie and an empty cache."""
        context = self.browser.new_context(storage_state=self.state, viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.goto(self.origin + address)
        page.wait_for_selector("#modes button")
        yield page
        context.close()


def keystrokes(site: Site) -> None:
    """Type queries with 90 ms between keys, like people; measure from each key to the frame with its results."""
    took = []
    with site.page() as page:
        page.wait_for_selector("#hits [role=option]")
        page.type("#query", "a warm start", delay=90)
        page.wait_for_timeout(WARM_MS)
        page.evaluate(_WATCH)
        for query in QUERIES * 2:
            page.fill("#query", "")
            page.wait_for_timeout(600)
            for character in query:
                page.evaluate("window.painted.length = 0")
                page.keyboard.press("Space" if character == " " else character)
                took.append(page.evaluate(_PAINTED))
                page.wait_for_timeout(90)
    figure = f"p50 {median(took):.0f} ms, p95 {percentile(took, 0.95):.0f} of {len(took)}"
    _row(f"key to painted results, {DOCUMENTS:,} documents", figure, "p95 <= 60 ms")


def opening(site: Site) -> None:
    """Measure the first paint of a browser with an empty cache, and the bytes that it loads."""
    paints = []
    loaded: list[int] = []
    for _ in range(7):
        with site.page() as page:
            page.wait_for_selector("#hits [role=option]")
            paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            loaded = page.evaluate(_LOADED)
    _row("first paint, nothing cached", f"median {median(paints):.0f} ms, worst {max(paints):.0f}", "<= 300 ms")
    _row("bytes of the page", f"{sum(loaded) / 1000:.0f} kB in {len(loaded)} files", "<= 180 kB")


def scrolling(site: Site) -> None:
    with site.page("/search?q=the&mode=keyword") as page:
        page.wait_for_selector("#hits [role=option]")
        while page.locator("#hits [role=option]").count() < 1000:
            page.evaluate("document.querySelector('#search-pane').scrollTop = 1e9")
            page.wait_for_timeout(100)
        page.evaluate("document.querySelector('#search-pane').scrollTop = 0")
        _frames("scrolling a list of 1,000 hits", page.evaluate(_SCROLL, ["#search-pane", 60]))
    with site.page("/doc/big/big.md") as page:
        page.wait_for_selector(".doc h1")
        _frames("scrolling a document of 5 MB", page.evaluate(_SCROLL, [".reader-body", 60]))


def live(site: Site) -> None:
    """Measure from saving a file to its hit in the open list."""
    took = []
    folder = site.daemon.folder / "live"
    with site.page("/search?q=zyzzyva&mode=keyword") as page:
        page.wait_for_timeout(500)
        for number in range(7):
            started = time.perf_counter()
            (folder / f"{number}.md").write_text(f"# Weevil {number}\n\nA zyzzyva is a weevil.\n")
            page.wait_for_selector(f"#hits [role=option] >> nth={number}")
            took.append((time.perf_counter() - started) * 1000)
            page.wait_for_timeout(300)
    _row("saved file to its hit in the open list", f"median {median(took):.0f} ms, worst {max(took):.0f}", "<= 500 ms")


def links(site: Site) -> None:
    """Measure a note with 1,000 links and 1,000 backlinks: its text, the panel beside it, and the graph around it."""
    steps = (
        ("its text", ".doc a", ".doc li:nth-child(300)"),
        ("the panel beside it", ".links-toggle", "#links .of-backlinks li"),
        ("200 documents around it are drawn", ".graph-toggle", ".graph .node"),
        ("they have found their places", None, ".graph svg[data-stable]"),
    )
    took: dict[str, list[float]] = {name: [] for name, _, _ in steps}
    for _ in range(7):
        with site.page("/doc/hub/spoke%201.md") as page:
            page.wait_for_selector(".doc a")
            page.wait_for_timeout(500)
            for name, clicked, awaited in steps:
                took[name].append(page.evaluate(_SHOWN, [clicked, awaited]))
    for name, times in took.items():
        _row(f"1,000 links: {name}", f"median {median(times):.0f} ms, worst {max(times):.0f}", "<= 300 ms")


def _frames(what: str, gaps: list[float]) -> None:
    late = sum(1 for gap in gaps if gap > 25)
    rate = 1000 * len(gaps) / sum(gaps)
    figure = f"{rate:.0f} fps, p95 {percentile(gaps, 0.95):.1f} ms, {late} of {len(gaps)} frames late"
    _row(what, figure, "60 fps")


def _row(what: str, figure: str, target: str) -> None:
    print(f"{what:50}  {figure:55}  {target}", flush=True)


def _fill(daemon: Throwaway, folder: Path) -> None:
    write_documents(folder, DOCUMENTS)
    print(f"indexed {DOCUMENTS:,} documents in {daemon.add(folder, 'docs'):.0f} s", flush=True)
    big = daemon.folder / "big"
    big.mkdir()
    paragraph = "The wind turned in the night, and the boats at the outer jetty lay uneasily at their lines. " * 3
    (big / "big.md").write_text("# Big\n\n" + f"{paragraph}\n\n" * (BIG_BYTES // len(paragraph)))
    (daemon.folder / "live").mkdir()
    (daemon.folder / "live" / "other.md").write_text("# Other\n")
    hub = daemon.folder / "hub"
    hub.mkdir()
    (hub / "hub.md").write_text("# Hub\n\n" + "".join(f"- Spoke [[spoke {number}]]\n" for number in range(1000)))
    for number in range(1000):
        (hub / f"spoke {number}.md").write_text(f"# Spoke {number}\n\nOf [[hub]], before [[spoke {number + 1}]].\n")
    for name in ("big", "live", "hub"):
        daemon.add(daemon.folder / name, name)


def main() -> None:
    require_shared()
    parts: dict[str, Callable[[Site], None]] = {
        "opening": opening,
        "keystrokes": keystrokes,
        "live": live,
        "scrolling": scrolling,
        "links": links,
    }
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with throwaway() as daemon, tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        _fill(daemon, Path(folder))
        site = Site(daemon, browser)
        try:
            for name in sys.argv[1:] or list(parts):
                parts[name](site)
        finally:
            site.process.terminate()
            site.process.wait(30)
            browser.close()


if __name__ == "__main__":
    main()
